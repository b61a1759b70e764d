package engine

import (
	"fmt"

	"goodput/fakeengine/kv"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// startStep schedules a step at now and arranges for its end. With nothing to
// do the engine goes to sleep until the next landing.
func (e *Engine) startStep(now clock.Time) {
	for s := e.inbox.head; s != nil; s = e.inbox.head {
		e.inbox.remove(s)
		s.Queued = now
		e.waiting.pushBack(s)
	}
	e.rows, e.batch = e.rows[:0], steptime.Batch{}
	budget, preempted := e.scheduleRunning(now)
	if !preempted {
		e.scheduleWaiting(now, budget)
	}
	if len(e.rows) == 0 {
		return
	}
	e.stepPS = e.model.Step(&e.batch)
	if e.stepPS <= 0 {
		panic(fmt.Sprintf("engine %d: the step-time model gave %d ps for %+v: a step must take time", e.cfg.ID, e.stepPS, e.batch))
	}
	e.endPS += e.stepPS
	e.stepping, e.awake = true, true
	e.loop.At(clock.Time((e.endPS+999)/1000), clock.RankStep, &e.boundary)
}

// scheduleRunning serves running sequences in order of admission while the
// budget lasts (R4). A sequence that finds no block pushes out the newest ones,
// and at last itself (R6). It returns the budget that is left.
//
// Outputs are known before the next step is scheduled, so every running
// sequence lacks at least one token; and Submit keeps sequences within the
// context length. So two limits of the asynchronous scheduler never bind here.
func (e *Engine) scheduleRunning(now clock.Time) (budget int, preempted bool) {
	budget = e.cfg.MaxNumBatchedTokens
	for s := e.running.head; s != nil && budget > 0; s = s.sched.next {
		n := min(e.chunk(s.tokens()-s.sched.computed), budget)
		for !e.kv.Grow(&s.sched.table, s.sched.computed+n) {
			victim := e.running.tail
			e.preempt(victim, now)
			preempted = true
			if victim == s {
				return budget, true
			}
		}
		budget -= n
		e.advance(s, n)
	}
	return budget, preempted
}

// scheduleWaiting admits waiting sequences in order (R8). The first that does
// not fit ends the step's admissions (R9).
func (e *Engine) scheduleWaiting(now clock.Time, budget int) {
	for budget > 0 && e.waiting.n > 0 && e.running.n < e.cfg.MaxNumSeqs {
		s := e.waiting.head
		tokens := s.tokens()
		hit := e.kv.Match(&s.sched.table, tokens)
		computed := hit * e.cfg.BlockSize
		n := e.chunk(tokens - computed)
		if !e.cfg.ChunkedPrefill && n > budget {
			return
		}
		n = min(n, budget)
		a := kv.Admission{Hit: hit, Tokens: computed + n}
		if e.cfg.ReserveFullISL {
			a.Reserve = tokens
		}
		if e.running.n > 0 {
			a.Spare = e.watermark
		}
		if !e.kv.Admit(&s.sched.table, a) {
			return
		}
		e.kv.Query(tokens, hit)
		e.waiting.remove(s)
		e.running.pushBack(s)
		if !s.Scheduled.Known() {
			s.Scheduled, s.Cached = now, computed
		}
		s.resume(now)
		s.sched.computed = computed
		budget -= n
		e.advance(s, n)
	}
}

// chunk bounds the tokens of one sequence in one step.
func (e *Engine) chunk(n int) int {
	if t := e.cfg.LongPrefillThreshold; t > 0 {
		return min(n, t)
	}
	return n
}

// advance puts n tokens of s into the step. The count moves when they are
// scheduled, not when they are done (R15), and the blocks that they complete are
// named at once, so that a sequence admitted in the same step finds them (R20).
func (e *Engine) advance(s *Seq, n int) {
	from := s.sched.computed
	to := from + n
	s.sched.computed = to
	e.kv.Fill(&s.sched.table, to)
	e.batch.Add(from, n)
	if from < s.sched.peak {
		again := min(to, s.sched.peak) - from
		s.Recomputed += again
		e.counters.recomputed += int64(again)
	}
	if to == s.tokens() {
		e.batch.Emit++
	}
	s.sched.row = len(e.rows)
	e.rows = append(e.rows, s)
}

// preempt sends s back to the head of the waiting list. It keeps its output and
// loses its blocks, whose content may still be there when it comes back (R7).
func (e *Engine) preempt(s *Seq, now clock.Time) {
	e.running.remove(s)
	e.waiting.pushFront(s)
	e.kv.Release(&s.sched.table)
	s.sched.peak = max(s.sched.peak, s.sched.computed)
	s.sched.computed = 0
	s.sched.preemptedAt = now
	s.Preemptions++
	e.counters.preemptions++
}

// resume closes the account of a preemption, if one is open.
func (s *Seq) resume(now clock.Time) {
	if s.sched.preemptedAt.Known() {
		s.PreemptedNS += int64(now.Sub(s.sched.preemptedAt))
		s.sched.preemptedAt = clock.Never
	}
}
