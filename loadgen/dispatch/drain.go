package dispatch

import (
	"math"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// drain ends the offering of load, and waits for what is in flight.
func (d *Dispatcher) drain(now clock.Time) {
	if d.stage != offering {
		return
	}
	d.stage = draining
	if d.finishIfEmpty() {
		return
	}
	d.cfg.Loop.At(now.Add(d.cfg.Drain), clock.RankDeadline, deadline{d, draining})
}

// deadline ends a stage, if the run is still in it.
type deadline struct {
	d     *Dispatcher
	ended stage
}

// Entity is the last of all: what the other deadlines of the same instant end has
// ended in time.
func (e deadline) Entity() uint64 { return math.MaxUint64 }

func (e deadline) Fire(now clock.Time) {
	switch d := e.d; {
	case d.stage != e.ended:
	case d.stage == draining:
		d.cut(now)
	case d.stage == cutting:
		d.abandon()
	}
}

// cut ends the waiting: all that is in flight is censored. Attempts that can be
// cancelled get a little time to deliver their End, with what they had seen;
// without Cancel there is nothing to wait for.
func (d *Dispatcher) cut(now clock.Time) {
	d.stage, d.cutoff = cutting, now
	d.endWaiting(record.SessionCensored)
	d.stopSessions()
	d.giveUp()
	if d.canceler == nil {
		d.abandon()
		return
	}
	d.cfg.Loop.At(now.Add(grace), clock.RankDeadline, deadline{d, cutting})
	// No flight is used again from here on, so that a pointer means the same
	// request even if cancelling one ends others.
	for _, f := range d.flying.all() {
		if f.inAir() {
			d.cancel(f, nil)
		}
	}
	d.finishIfEmpty()
}

// cancel gives up the live attempts at f, but for one; a request that waits for its
// next attempt ends at once.
func (d *Dispatcher) cancel(f *flight, but *attempt) {
	if f.live == 0 {
		d.patience.resign(f)
		return
	}
	// An attempt may end within Cancel, and the request with it.
	gen, tries := f.gen, f.tries
	for i := 0; i < tries && f.gen == gen; i++ {
		if a := f.attempt(i); a != but && a.row == nil {
			d.canceler.Cancel(&a.req)
		}
	}
}

// abandon writes the rows of requests that nobody ends. What the target saw of
// them stays unknown: it may still be writing to their assemblers.
func (d *Dispatcher) abandon() {
	for _, f := range d.flying.all() {
		d.desert(f)
	}
	d.finishIfEmpty()
}

// desert writes the rows of f's attempts that got no End, the one that decides last.
func (d *Dispatcher) desert(f *flight) {
	if f.live == 0 {
		d.patience.resign(f)
		return
	}
	f.abandoned = true
	d.counters.Abandoned++
	left := f.live
	for i := range f.tries {
		a := f.attempt(i)
		if a.row != nil {
			continue
		}
		d.begin(&d.spare, a)
		row := d.spare.Abandon("unfinished when the drain ended, and no end was reported")
		if f.thread == nil && row.Attempt == 0 {
			d.place(row, f)
		}
		if left--; left > 0 || f.winner != nil && f.winner.row != nil {
			row.Final = false
			d.cfg.Record(row)
			continue
		}
		d.surrender(f, row)
	}
	if f.winner != nil && f.winner.row != nil {
		d.surrender(f, f.winner.row)
	}
}

// surrender is decide for a request whose flight is not used again.
func (d *Dispatcher) surrender(f *flight, row *record.Request) {
	f.gen++
	t := f.thread
	if t == nil {
		d.land(f, row)
		return
	}
	c := closing{outcome: row.Outcome, from: clock.Never, at: clock.Never}
	if row.Attempt == 0 {
		d.place(row, f)
	}
	d.land(f, row)
	t.s.landed(t, c)
}

func (d *Dispatcher) finishIfEmpty() bool {
	if d.stage == offering || d.flying.n > 0 || d.places.n() > 0 || d.sessions.counts.Live > 0 || len(d.sessions.waiting) > 0 {
		return false
	}
	if d.stage != finished {
		d.stage = finished
		d.cfg.Finished()
	}
	return true
}

// Interrupt may be called from any goroutine. The first call stops the arrivals and
// waits for answers as after the last arrival, the second stops waiting, the third
// does not even wait for what was cancelled. Calls after the end do nothing.
func (d *Dispatcher) Interrupt() { d.cfg.Loop.Post(interrupt{d}) }

type interrupt struct{ d *Dispatcher }

func (e interrupt) Entity() uint64 { return 0 }

func (e interrupt) Fire(now clock.Time) {
	d := e.d
	if d.stage == finished {
		return
	}
	switch d.interrupts++; {
	case d.interrupts == 1:
		d.endWaiting(record.SessionCensored)
		d.giveUp() // what has no place is not sent any more
		d.drain(now)
	case d.stage == draining:
		d.cut(now)
	case d.stage == cutting && d.interrupts > 2:
		d.abandon()
	}
}
