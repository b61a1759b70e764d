package dispatch

import (
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// patience carries out a Client, on the loop's goroutine. Requests whose first attempt
// decides them pass through it with no more than a look at their row.
type patience struct {
	d      *Dispatcher
	cfg    Client
	budget budget
	usual  quantile // of the first attempts' times to their first tokens
	waits  rng.Family
	leaves rng.Family
}

func newPatience(d *Dispatcher) (*patience, error) {
	p := &patience{d: d, cfg: d.cfg.Client, waits: rng.Of(d.cfg.Client.Seed, "retry wait"), leaves: rng.Of(d.cfg.Client.Seed, "cancel")}
	if err := p.cfg.check(d.cfg.Target); err != nil {
		return nil, err
	}
	if p.cfg.Backoff == 0 {
		p.cfg.Backoff = DefaultBackoff
	}
	p.budget = newBudget(p.cfg.Budget)
	p.usual.q = p.cfg.HedgeQuantile
	return p, nil
}

// admit arranges what may befall a new request.
func (p *patience) admit(now clock.Time, f *flight) {
	p.budget.earn()
	if after, ok := p.hedgeAfter(); ok {
		p.arrange(now.Add(after), clock.RankArrival, f, hedgeDue)
	}
	if p.cfg.CancelAfter > 0 && p.leaving(f) {
		p.arrange(f.first.req.Intended.Add(p.cfg.CancelAfter), clock.RankDeadline, f, hangUp)
	}
}

// hedgeAfter is the time to the first token from which an attempt is slow.
func (p *patience) hedgeAfter() (time.Duration, bool) {
	if p.cfg.HedgeQuantile == 0 {
		return p.cfg.HedgeAfter, p.cfg.HedgeAfter > 0
	}
	return p.usual.value()
}

// leaving reports whether f is a request whose client leaves; none of the warm-up is.
func (p *patience) leaving(f *flight) bool {
	if p.cfg.CancelRate == 0 || f.warm {
		return false
	}
	s := p.leaves.Stream(f.first.req.Seq)
	return s.Float64() < p.cfg.CancelRate
}

// watch is the sink that the target gets for a.
func (p *patience) watch(a *attempt, s *sink) target.Sink {
	w := &watcher{sink: s, p: p, a: a, gen: a.f.gen, first: p.cfg.hedges()}
	if p.cfg.CancelTokens > 0 && p.leaving(a.f) {
		w.left = p.cfg.CancelTokens
	}
	if !w.first && w.left == 0 {
		return s // and so one that takes runs of tokens
	}
	return w
}

// settle takes in the row of an attempt that has ended. It returns true if the request
// is decided and nothing of it is live.
func (p *patience) settle(a *attempt) bool {
	d, f := p.d, a.f
	p.learn(a)
	if f.winner == nil && (a.row.Outcome == record.OK || a.row.FirstToken.Known()) {
		f.winner = a
		if gen := f.gen; f.live > 0 {
			// The others may end within it, and the request with them.
			if d.cancel(f, a); f.gen != gen {
				return false
			}
		}
	}
	if f.winner == nil && f.live == 0 && !p.again(a) {
		f.winner = a
	}
	if f.winner != a {
		a.row.Final = false
		d.cfg.Record(a.row)
	}
	over := f.winner != nil && f.live == 0
	if over && f.winner.hedge {
		d.attempts.HedgesWon++
	}
	return over
}

// learn takes the time of a first attempt to its first token. One that lost against
// its hedge took longer than it had when it was given up: that is enough to know on
// which side of the quantile it is.
func (p *patience) learn(a *attempt) {
	if p.cfg.HedgeQuantile == 0 || a.req.Attempt > 0 {
		return
	}
	row := a.row
	switch {
	case row.FirstToken.Known():
		p.usual.add(row.FirstToken.Sub(a.began))
	case row.Outcome == record.Canceled && !a.f.hungUp:
		p.usual.add(row.Closed.Sub(a.began))
	}
}

// again plans another attempt after the last live one has failed, and reports whether
// there will be one.
func (p *patience) again(a *attempt) bool {
	d, f := p.d, a.f
	if f.retried >= p.cfg.Retries || f.hungUp || d.stage >= cutting || !worthwhile(a.row.Outcome) {
		return false
	}
	due := d.cfg.Loop.Now().Add(p.wait(f, a.row))
	if limit := p.cfg.RequestTimeout; limit > 0 && due >= a.req.Intended.Add(limit) {
		return false
	}
	if !p.budget.spend() {
		d.attempts.Denied++
		return false
	}
	f.retried++
	p.arrange(due, clock.RankArrival, f, retryDue)
	return true
}

// worthwhile reports whether a request may fare better when it is tried again.
func worthwhile(o record.Outcome) bool {
	switch o {
	case record.Connect, record.Reset, record.TimeoutTTFT, record.HTTP429, record.HTTP5xx, record.StreamError, record.Truncated:
		return true
	}
	return false
}

// wait is that before the next retry: uniform from 0 to a bound that doubles each time
// ("full jitter"), and no less than what the server asked for.
func (p *patience) wait(f *flight, row *record.Request) time.Duration {
	bound := MaxBackoff
	if n := f.retried; n < 30 && p.cfg.Backoff<<n < bound {
		bound = p.cfg.Backoff << n
	}
	s := p.waits.Stream(uint64(row.Seq)<<attemptBits | uint64(f.tries))
	wait := time.Duration(s.Float64() * float64(bound))
	if p.cfg.HonorRetryAfter && row.RetryAfter != record.Null {
		wait = max(wait, min(time.Duration(row.RetryAfter), time.Hour))
	}
	return wait
}

// resign ends a request that waits for its next attempt, as one that was never sent.
func (p *patience) resign(f *flight) {
	d := p.d
	a := f.another(d.cfg.Loop.Now(), false)
	a.began = clock.Never
	d.begin(&d.spare, a)
	outcome, why := record.Censored, "the drain ended before the next attempt"
	if f.hungUp {
		outcome, why = record.Canceled, "the client left before the next attempt"
	}
	d.surrender(f, d.spare.Unsent(outcome, why))
}
