package dispatch

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// cause is why an alarm goes off.
type cause uint8

const (
	retryDue cause = iota // the wait before the next attempt is over
	hedgeDue              // the first attempt is slow
	hangUp                // the client leaves
	answered              // the first token of a has come
)

// alarm is the event of something that may befall a request. If its flight is of
// another generation by then, the request is over.
type alarm struct {
	p   *patience
	f   *flight
	a   *attempt // of answered
	seq uint64
	gen uint32
	why cause
}

var _ clock.Event = (*alarm)(nil)

func (p *patience) arrange(at clock.Time, r clock.Rank, f *flight, why cause) {
	p.d.cfg.Loop.At(at, r, &alarm{p: p, f: f, seq: f.first.req.Seq, gen: f.gen, why: why})
}

// Entity is the request's number.
func (e *alarm) Entity() uint64 { return e.seq }

// Fire runs on the loop's goroutine.
func (e *alarm) Fire(now clock.Time) {
	f, d := e.f, e.p.d
	if f.gen != e.gen || f.abandoned {
		return
	}
	switch e.why {
	case retryDue:
		if f.live == 0 && !f.hungUp && d.stage < cutting {
			d.attempts.Retries++
			d.try(now, f, f.another(now, false))
		}
	case hedgeDue:
		e.p.hedge(now, f)
	case hangUp:
		f.hungUp = true
		d.cancel(f, nil)
		d.finishIfEmpty()
	case answered:
		if f.winner == nil && e.a.row == nil {
			f.winner = e.a
			if f.live > 1 {
				d.cancel(f, e.a)
			}
		}
	}
}

// hedge sends a second attempt beside the first one, which is slow.
func (p *patience) hedge(now clock.Time, f *flight) {
	d := p.d
	if f.winner != nil || f.tries != 1 || f.live != 1 || f.hungUp || d.stage >= cutting {
		return
	}
	if !p.budget.spend() {
		d.attempts.Denied++
		return
	}
	d.attempts.Hedges++
	d.try(now, f, f.another(now, true))
}

// watcher is the sink of an attempt whose tokens matter to its client. It takes them
// one by one, so that none is held back.
type watcher struct {
	sink *sink
	p    *patience
	a    *attempt
	gen  uint32
	// The target's, as far as events come from another goroutine.
	first bool // the first token is waited for
	left  int  // outputs until the client leaves; 0: it stays
}

var _ target.Sink = (*watcher)(nil)

// Event passes e on, and tells the loop what the client makes of it.
func (w *watcher) Event(e target.Event) {
	w.sink.Event(e)
	if e.Kind != target.Token || e.Content == target.Role {
		return
	}
	if w.first {
		w.first = false
		w.post(answered)
	}
	if w.left > 0 {
		if w.left = max(0, w.left-max(1, e.N)); w.left == 0 {
			w.post(hangUp)
		}
	}
}

// post takes the attempt's request from its number, which nobody changes while the
// attempt is live.
func (w *watcher) post(why cause) {
	w.p.d.cfg.Loop.Post(&alarm{p: w.p, f: w.a.f, a: w.a, seq: w.a.req.Seq, gen: w.gen, why: why})
}
