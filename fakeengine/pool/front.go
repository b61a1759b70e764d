package pool

import (
	"math"
	"time"

	"goodput/fakeengine/router"
	"goodput/fakeengine/shaper"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// front is one of the shapers in front of the routers.
type front struct {
	pool   *Pool
	at     int // its place in the row
	shaper shaper.Shaper
	waker  shaper.Waker   // nil: it does nothing by itself
	redo   shaper.Retrier // nil: it sends nothing on again
	when   clock.Time     // of the next event; Never: none is arranged
}

var _ clock.Event = (*front)(nil)

// openFronts takes up the shapers.
func (p *Pool) openFronts(all []shaper.Shaper) {
	p.held = map[*shaper.Request]*attempt{}
	for i, s := range all {
		f := &front{pool: p, at: i, shaper: s, when: clock.Never}
		f.waker, _ = s.(shaper.Waker)
		f.redo, _ = s.(shaper.Retrier)
		p.redoes = p.redoes || f.redo != nil
		if m, ok := s.(shaper.Meter); ok {
			p.meters = append(p.meters, m)
		}
		p.fronts = append(p.fronts, f)
	}
}

// tenant is whom r is from: by its cache salt, else its class; 0: nobody in particular.
func tenant(r *target.Request) uint64 {
	if r.CacheSalt != "" {
		who := target.Request{CacheSalt: r.CacheSalt}
		return who.Scope()
	}
	return uint64(r.Class)
}

// shape is what shapers may know of r.
func shape(r *target.Request) shaper.Request {
	return shaper.Request{
		Tenant: tenant(r), Session: r.Session, Priority: r.Priority, InTokens: r.In, MaxOut: r.Out, Due: r.Intended.Add(r.Later),
	}
}

// enter takes a through the shapers that it has not passed, and to a replica.
func (p *Pool) enter(a *attempt) {
	now := p.loop.Now()
	for a.passed < len(p.fronts) {
		f := p.fronts[a.passed]
		switch d := f.shaper.Offer(&a.shape, now); d.Kind {
		case shaper.Pass:
			a.passed++
		case shaper.Hold:
			a.waits = true
			p.held[&a.shape] = a
			a.watch()
			f.settle(now)
			return
		case shaper.Refuse:
			a.bounce(&d)
			f.settle(now)
			return
		case shaper.Absorb:
			a.absorb()
			return
		}
	}
	p.place(a)
}

// settle has those go on, or be refused, whose turn it is.
func (f *front) settle(now clock.Time) {
	for {
		r, d, ok := f.shaper.Next(now)
		if !ok {
			break
		}
		a := f.pool.held[r]
		delete(f.pool.held, r)
		a.waits = false
		switch d.Kind {
		case shaper.Refuse:
			a.bounce(&d)
		case shaper.Absorb:
			a.absorb()
		default:
			a.passed++
			f.pool.enter(a)
		}
	}
	if f.waker != nil {
		if at := f.waker.Wake(); at.Known() {
			f.arrange(max(at, now))
		}
	}
}

// arrange has settle called then, if not before.
func (f *front) arrange(at clock.Time) {
	if f.when.Known() && f.when <= at {
		return
	}
	f.when = at
	f.pool.loop.At(at, clock.RankTransit, f)
}

// Fire implements clock.Event.
func (f *front) Fire(now clock.Time) {
	if f.when.Known() && f.when <= now {
		f.when = clock.Never
	}
	f.settle(now)
}

// Entity implements clock.Event: after the ends of attempts at the same instant.
func (f *front) Entity() uint64 { return math.MaxUint64 - uint64(f.at) }

// release gives back the places in the shapers that a has passed, from the first one on
// that is given. Others take them by events of their own, not amid what goes on with a.
func (a *attempt) release(from int) {
	now := a.pool.loop.Now()
	for _, f := range a.pool.fronts[from:a.passed] {
		f.shaper.Done(&a.shape, now)
		f.arrange(now)
	}
	a.passed = from
}

// again has the innermost shaper that wants to send on a once more, which was refused
// behind it; false: there is none, and a is to end so.
func (a *attempt) again(status int, retryAfter time.Duration) bool {
	p := a.pool
	if !p.redoes {
		return false
	}
	now := p.loop.Now()
	for k := a.passed - 1; k >= 0; k-- {
		f := p.fronts[k]
		if f.redo == nil || !f.redo.Failed(&a.shape, status, retryAfter, now) {
			continue
		}
		a.quit(status)
		a.release(k + 1)
		a.passed, a.replica, a.waits = k, router.None, true
		p.held[&a.shape] = a
		a.watch()
		f.arrange(now)
		return true
	}
	return false
}

// meter tells of n tokens of the answer.
func (a *attempt) meter(n int) {
	for _, m := range a.pool.meters {
		m.Tokens(&a.shape, n)
	}
}

// bounce ends an attempt that a shaper refuses.
func (a *attempt) bounce(d *shaper.Decision) {
	a.sends++
	if a.again(d.Status, d.RetryAfter) {
		return
	}
	a.pool.n.shed++
	a.replica = router.None
	a.refuse(d.Status, d.Why)
	a.result.RetryAfter = int64(d.RetryAfter)
}

// pull ends an attempt that waits at a shaper and was given up.
func (a *attempt) pull() {
	f := a.pool.fronts[a.passed]
	f.shaper.Cancel(&a.shape)
	f.arrange(a.pool.loop.Now())
	delete(a.pool.held, &a.shape)
	a.waits = false
	a.leave(0)
	a.pool.n.canceled++
	a.result = target.Result{Cause: a.cause, Err: a.why, BytesIn: target.Unknown, BytesOut: target.Unknown}
	a.later()
}

// absorb ends an attempt that a shaper answers itself, by an event of its own.
func (a *attempt) absorb() {
	a.leave(0)
	a.pool.n.completed++
	a.pool.n.absorbed++
	a.absorbed = true
	a.usage = target.Usage{Prompt: a.req.In, Completion: a.req.Out, Cached: target.Unknown, Reasoning: target.Unknown}
	a.result = target.Result{Cause: target.CauseEOF, Status: statusOK, BytesIn: target.Unknown, BytesOut: target.Unknown}
	a.later()
}

// replay sends the answer that a shaper had, all at once.
func (a *attempt) replay(now clock.Time) {
	a.head(now, statusOK)
	if n := a.req.Out; n > 0 {
		if a.parts.shaped {
			a.shaped(now, n)
		} else {
			a.sink.Event(target.Event{At: now, Kind: target.Token, Content: target.Text, N: n})
		}
	}
	reason := "length"
	if a.req.Shape.Calls > 0 {
		reason = "tool_calls"
	}
	a.sink.Event(target.Event{At: now, Kind: target.Finished, Reason: reason})
	a.sink.Event(target.Event{At: now, Kind: target.UsageSeen, Usage: &a.usage})
	a.sink.Event(target.Event{At: now, Kind: target.Done})
}
