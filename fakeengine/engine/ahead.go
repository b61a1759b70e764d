package engine

import (
	"math"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// The ends of steps at which nobody is told anything need not be events of the
// loop. The engine arranges for the next one that somebody hears of, and makes up
// for those before it then, or when somebody looks at the engine. They run in the
// same way and at the same instants, only later.

// farthest bounds how many steps are planned at a time, so that their time stays
// far from the largest number.
const farthest = 4096

// leastStep is the duration of a step, in picoseconds, from which on no two steps
// end at the same nanosecond.
const leastStep = 1000

// catchUp ends the steps that would have ended by now, if each end were an event.
// Whatever reads or changes the engine from outside calls it first.
func (e *Engine) catchUp() {
	if e.order == nil || e.stepping {
		return
	}
	// The end of a shorter step is an event, and may have been added only now.
	for e.flying > 0 && e.pipe[e.first].ps >= leastStep {
		end := clock.Time(ns(e.endPS))
		if !e.order.Passed(end, clock.RankStep, uint64(e.cfg.ID)) {
			return
		}
		e.turn(end)
	}
}

// turn is the boundary between two steps: it ends the executing one, if any, and
// schedules what may follow.
func (e *Engine) turn(now clock.Time) {
	if e.cruises() {
		e.cruise(now)
		return
	}
	e.stepping = true
	if e.flying > 0 {
		e.finishStep(now)
	} else {
		e.endPS = int64(now) * 1000
	}
	e.fill(now)
	e.stepping = false
}

// cruises reports whether a boundary only moves the group on by a token.
func (e *Engine) cruises() bool {
	g := &e.group
	return g.n > 0 && e.running.n == 0 && e.flying == e.depth && len(e.pipe[0].rows)+len(e.pipe[1].rows) == 0 &&
		e.inbox.n == 0 && (e.waiting.n == 0 || e.stuck) && e.usual() &&
		g.ends[0].last > e.scheduled+1 && g.n <= e.budget && g.due(e.scheduled+1).n <= e.kv.Free()
}

// cruise is turn for such a boundary: what finishStep and fill do then.
func (e *Engine) cruise(now clock.Time) {
	st := &e.pipe[e.first]
	e.count(st, now)
	e.report(0, int64(st.grouped))
	e.retire()
	st = &e.pipe[e.next()]
	st.no = e.scheduled + 1
	e.group.include(e, st)
	e.grow(e.group.due(st.no).head, math.MaxUint64)
	e.preempted = false
	st.ps = e.time(&st.decodes)
	st.decodeNS = ns(st.ps)
	e.launch(st)
}

// arm makes sure that the loop comes by no later than the next boundary at which
// something is to be told. An event that has become too early finds nothing to do
// and arms the next one.
func (e *Engine) arm() {
	if e.ranks != nil {
		return // whose boundaries come anyway
	}
	var at clock.Time
	switch {
	case e.flying > 0:
		at = clock.Time(ns(e.horizon()))
	case e.woken:
		at = e.loop.Now()
	default:
		return
	}
	if !e.armed.Known() || e.armed > at {
		e.armed = at
		e.loop.At(at, clock.RankStep, &e.boundary)
	}
}

// wake has the engine schedule at this instant, if it sleeps.
func (e *Engine) wake() {
	if e.stepping {
		return // it schedules anyway
	}
	if e.ranks != nil {
		e.ranks.wake()
		return
	}
	e.woken = e.flying == 0
	e.arm()
}

// usual reports whether no sequence is where only transfers and adapters bring it.
func (e *Engine) usual() bool { return e.blocked.n+e.aside.n+e.fetched.n == 0 }

// decoding reports whether all running sequences just decode.
func (e *Engine) decoding() bool {
	for s := e.running.head; s != nil; s = s.sched.next {
		if s.lacks() > 1 || s.sched.computed < s.sched.goal {
			return false
		}
	}
	return true
}

// horizon is the end of a step, in picoseconds, before which nothing is told at
// any boundary, and which the engine can compute before it runs the boundaries. It
// is the next boundary, or the first of the scheduled steps with something to
// tell, or, while all running sequences decode and nothing else can happen, the
// end of the first of them.
func (e *Engine) horizon() int64 {
	st := &e.pipe[e.first]
	if e.order == nil || e.quiet == 0 || st.loud || e.inbox.n > 0 || !e.usual() || e.waiting.n > 0 && !(e.stuck && e.decoding()) || st.ps < leastStep {
		return e.endPS
	}
	end := e.endPS
	if e.flying > 1 {
		st = &e.pipe[e.first^1]
		end += st.ps
		if st.loud || st.ps < leastStep {
			return end
		}
	}
	return end + e.glide()
}

// glide is the time of the steps behind the scheduled ones up to the first end of
// a sequence: with a step time that is linear in the context, k steps of r rows
// take k*first + slope*r*k*(k-1)/2. It is 0 if those steps cannot be told.
func (e *Engine) glide() int64 {
	if e.linear == nil {
		return 0
	}
	g := &e.group
	rows := g.n + e.running.n
	k := int64(farthest)
	if len(g.ends) > 0 {
		k = min(k, g.ends[0].last-e.scheduled)
	}
	e.scratch = steptime.Batch{Tokens: rows, Seqs: rows, Emit: rows, DecodeCtx: g.ctx}
	for s := e.running.head; s != nil; s = s.sched.next {
		if s.Runs == nil || s.lacks() != 1 || s.sched.computed < s.sched.goal {
			return 0
		}
		k = min(k, int64(s.rest()))
		e.scratch.DecodeCtx += int64(s.sched.computed) + 1
	}
	if rows == 0 || rows > e.budget {
		return 0
	}
	// In n block sizes of steps a sequence takes at most n+1 blocks.
	k = min(k, int64((e.kv.Free()/rows-1)*e.cfg.BlockSize))
	if k <= 0 {
		return 0
	}
	first, slope := e.model.Step(&e.scratch), e.linear.PerContext()*int64(rows)
	if first < leastStep || slope < 0 || slope > math.MaxInt64/4/farthest/farthest {
		return 0
	}
	return k*first + slope*(k*(k-1)/2)
}
