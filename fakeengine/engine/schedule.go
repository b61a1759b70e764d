package engine

import (
	"fmt"
	"math"

	"goodput/fakeengine/kv"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// fill schedules steps at now until the pipe is full. With nothing to do the engine goes to sleep until the
// next landing.
//
// The synchronous scheduler holds one step. The asynchronous one holds two: it
// schedules step n+2 when n ends, while n+1 executes, and from idle two at once
// (R25). A scheduling that yields nothing is tried again when the executing step
// ends.
func (e *Engine) fill(now clock.Time) {
	for s := e.inbox.head; s != nil; s = e.inbox.head {
		e.inbox.remove(s)
		s.Queued = now
		e.waiting.add(s)
		e.stuck = false
	}
	for e.flying < e.depth {
		// A scheduling that only preempted leaves room for another one.
		if !e.schedule(now) && (!e.preempted || e.flying > 0) {
			break
		}
	}
}

// schedule adds a step to the pipe, unless there is nothing to compute.
func (e *Engine) schedule(now clock.Time) bool {
	st := &e.pipe[e.next()]
	st.reset()
	st.no = e.scheduled + 1
	budget := e.scheduleRunning(st, now)
	if e.lora != nil {
		e.lora.begin(st)
	}
	if len(st.prefills) > 0 {
		e.stuck = false // their blocks may be what the first one waits for
	}
	if !e.preempted && !(e.stuck && e.usual()) {
		e.scheduleWaiting(st, now, budget)
	}
	if len(st.rows) == 0 && st.grouped == 0 {
		return false
	}
	st.ps = e.time(st.total())
	if e.lora != nil {
		e.adapt(st)
	} else {
		e.share(st)
	}
	if end := e.launch(st); e.host != nil {
		e.host.store(now, end)
	}
	return true
}

// time is the picoseconds that the model gives a step.
func (e *Engine) time(b *steptime.Batch) int64 {
	ps := e.model.Step(b)
	if ps <= 0 {
		panic(fmt.Sprintf("engine %d: the step-time model gave %d ps for %+v: a step must take time", e.cfg.ID, ps, *b))
	}
	return ps
}

// launch puts a scheduled step into the pipe. It returns the end of the step, if
// the executing one ends as it is, in picoseconds.
func (e *Engine) launch(st *step) (end int64) {
	end = e.endPS + st.ps
	if e.flying == 0 {
		e.endPS = end
	}
	e.flying++
	e.scheduled++
	e.scheduledAt = e.finished
	e.group.ctx += int64(e.group.n)
	return end
}

// adapt adds what adapters cost to a step. All in it wait for their loads.
func (e *Engine) adapt(st *step) {
	var load int64
	load, st.adapterPS = e.lora.settle(st)
	st.ps += st.adapterPS
	e.share(st)
	st.ps += load
}

// next is the place in the pipe behind the steps in it.
func (e *Engine) next() int { return (e.first + e.flying) & 1 }

// scheduleRunning serves running sequences in order of admission while the
// budget lasts (R4). A sequence that finds no block pushes out others, and at
// last itself (R6). It returns the budget that is left. Submit keeps
// sequences within the context length, so that limit never binds but for drafts.
func (e *Engine) scheduleRunning(st *step, now clock.Time) (budget int) {
	e.preempted = false
	grouping := e.regroup(st)
	budget = e.budget - st.grouped
	due := e.group.due(st.no).head
	var next *Seq
	for s := e.running.head; s != nil && budget > 0; s = next {
		next = s.sched.next
		n := min(e.wants(s), budget)
		if n == 0 {
			continue
		}
		due = e.grow(due, s.sched.order)
		if grouping && n == 1 && e.plain(s) {
			e.join(st, s)
			budget--
			continue
		}
		for !e.kv.Grow(&s.sched.table, e.slots(s.sched.computed+n)) {
			victim := e.victim()
			budget += e.withdraw(st, victim)
			e.preempt(victim, now)
			if victim == s {
				return budget
			}
		}
		next = s.sched.next // which may have been preempted
		budget -= n
		e.advance(st, s, n)
	}
	e.grow(due, math.MaxUint64)
	return budget
}

// regroup prepares the group for the step st, and puts it in there. It reports
// whether others may join.
func (e *Engine) regroup(st *step) bool {
	if !e.groups || e.quiet == 0 {
		return false
	}
	e.release(st.no)
	ample := e.ample(st.no)
	if !ample && e.group.n > 0 {
		e.dissolve()
	}
	e.group.include(e, st)
	return ample && e.scheduled >= e.group.rest
}

// scheduleWaiting admits waiting sequences in order (R8). The first that does
// not fit ends the step's admissions (R9).
func (e *Engine) scheduleWaiting(st *step, now clock.Time, budget int) {
	if e.cfg.Batching == Static && e.seqs() > 0 {
		e.stuck = true
		return
	}
	if e.lora != nil && !e.lora.full() {
		e.takeBack()
	}
	budget = e.resumeFetched(st, now, budget)
	e.stuck = false
	for budget > 0 && e.waiting.n > 0 {
		if e.seqs() >= e.cfg.MaxNumSeqs {
			e.stuck = true
			return
		}
		s := e.waiting.first()
		hit, v := e.lookUp(s, now)
		if v == comes {
			continue
		}
		if v == noRoom {
			return
		}
		n := e.chunk(s.tokens() - hit*e.cfg.BlockSize)
		if !e.cfg.ChunkedPrefill && n > budget {
			e.stuck = true
			return
		}
		n = min(n, budget)
		if !e.place(s, hit, n) {
			return
		}
		e.enter(s, now, hit)
		budget -= n
		e.advance(st, s, n)
	}
}

// lookUp finds how many blocks of the first waiting sequence are there. The verdict
// is comes if it must wait for something and was set aside for it, so that those
// behind it come first, and noRoom if nobody can be admitted before it.
func (e *Engine) lookUp(s *Seq, now clock.Time) (hit int, v verdict) {
	if e.lora != nil && !e.lora.admits(s.Adapter) {
		e.setAside(s)
		return 0, comes
	}
	if s.Remote != nil && !s.sched.asked {
		if !e.reserve(s, now) {
			return 0, noRoom
		}
		return 0, comes
	}
	hit = e.match(s)
	if e.cfg.ablate.coldResume && s.Preemptions > 0 {
		hit = 0
	}
	if e.host != nil {
		if v = e.host.fetch(s, now, hit); v == noRoom {
			e.short(s)
		}
	}
	return hit, v
}

// place takes blocks for the n tokens of s behind its hit blocks, if those fit that
// must (R12, R13).
func (e *Engine) place(s *Seq, hit, n int) bool {
	a := kv.Admission{Hit: hit, Tokens: hit*e.cfg.BlockSize + n}
	if e.cfg.Speculation.AdmissionLookahead {
		a.Tokens = e.slots(a.Tokens)
	}
	if e.cfg.ReserveFullISL {
		a.Reserve = s.tokens()
	}
	if e.seqs() > 0 {
		a.Spare = e.watermark
	}
	if e.kv.Admit(&s.sched.table, a) {
		return true
	}
	e.short(s)
	// Decodes take blocks, so that the need for all of its blocks never comes
	// to fit; that for the rest of a chunk could, when hits are lost.
	e.stuck = a.Reserve > 0 || hit == 0
	return false
}

// enter moves s, whose blocks are there, from the waiting to the running (R14).
func (e *Engine) enter(s *Seq, now clock.Time, hit int) {
	tokens, computed := s.tokens(), hit*e.cfg.BlockSize
	e.kv.Query(tokens, hit)
	if e.host != nil {
		e.kv.HostQuery(tokens-computed, 0)
	}
	e.waiting.remove(s)
	e.admit(s)
	if !s.Scheduled.Known() {
		s.Scheduled, s.Cached = now, computed
	}
	s.resume(now)
	if e.lora != nil {
		e.lora.join(s.Adapter)
	}
	s.sched.computed, s.sched.goal = computed, tokens
}

// admit puts s behind the running sequences.
func (e *Engine) admit(s *Seq) {
	e.running.pushBack(s)
	e.admitted++
	s.sched.order = e.admitted
}

// short counts a sequence that waits for KV blocks, once.
func (e *Engine) short(s *Seq) {
	if !s.sched.short {
		s.sched.short = true
		e.counters.kvWaits++
	}
}

// wants is the number of tokens that a running sequence would have computed in one
// step, whatever the budget.
func (e *Engine) wants(s *Seq) int {
	n := e.chunk(s.lacks())
	if e.speculates() {
		n = min(n, e.cfg.MaxModelLen-1-s.sched.computed)
	}
	return n
}

// chunk bounds the tokens of one sequence in one step.
func (e *Engine) chunk(n int) int {
	if t := e.cfg.LongPrefillThreshold; t > 0 {
		return min(n, t)
	}
	return n
}

// lacks is the number of tokens of a running sequence to compute: those that
// are known, those that steps under way will give, and drafts. It is 0 if those
// that are sure to come are the last ones, so that no step is wasted on an answer
// that ends by its length (R26).
func (s *Seq) lacks() int {
	if s.Output+s.sched.pending >= s.MaxTokens {
		return 0
	}
	return s.tokens() + s.sched.pending + s.sched.guessed + s.sched.drafts - s.sched.computed
}

// advance puts n tokens of s into the step. The count moves when they are
// scheduled, not when they are done (R15), and the blocks that they complete are
// named at once, so that a sequence admitted in the same step finds them (R20);
// but a token without a value yet completes no block (R19).
func (e *Engine) advance(st *step, s *Seq, n int) {
	from := s.sched.computed
	to := from + n
	s.sched.computed = to
	e.kv.Fill(&s.sched.table, min(to, s.tokens()))
	if from < s.sched.peak {
		again := min(to, s.sched.peak) - from
		s.Recomputed += again
		e.counters.recomputed += int64(again)
	}
	sure := s.tokens() + s.sched.pending + s.sched.guessed
	emits := to >= sure
	drafts := 0
	if emits {
		s.sched.pending++
		if e.speculates() {
			drafts = to - sure
			s.sched.guessed += drafts
			e.expect(s)
		}
	}
	st.add(s, n, drafts, emits)
}

// withdraw takes s out of the step that is being scheduled, if it is in there,
// and returns its tokens, which go back to the budget (R6). Only the priority
// policy preempts a sequence that was served before in the same step. The names
// that its blocks got stay, as they do in vLLM.
func (e *Engine) withdraw(st *step, s *Seq) int {
	r := st.find(s)
	if r == nil {
		return 0
	}
	n := r.n
	if r.emits {
		s.sched.pending--
		s.sched.guessed -= int(r.drafts)
	}
	to := s.sched.computed
	s.sched.computed -= n
	if again := min(to, s.sched.peak) - s.sched.computed; again > 0 {
		s.Recomputed -= again
		e.counters.recomputed -= int64(again)
	}
	rows := st.rows
	st.reset()
	for _, r := range rows { // reads ahead of what add writes
		if r.s != s {
			st.add(r.s, r.n, int(r.drafts), r.emits)
		}
	}
	return n
}

// preempt sends s back to the head of the waiting queue. It keeps its output,
// also that of a step under way, and loses its blocks, whose content may still
// be there when it comes back (R7). That step is over before it can come back:
// nothing is admitted where something was preempted (R8).
func (e *Engine) preempt(s *Seq, now clock.Time) {
	e.running.remove(s)
	e.stuck = false
	if e.cfg.ablate.appendPreempted {
		e.waiting.add(s)
	} else {
		e.waiting.giveBack(s)
	}
	e.tell(s)
	e.kv.Release(&s.sched.table)
	// Of guesses under way it is not known yet whether they were computed for good.
	s.sched.peak = max(s.sched.peak, min(s.sched.computed, s.tokens()))
	s.sched.computed, s.sched.drafts = 0, 0
	s.sched.preemptedAt = now
	s.Preemptions++
	e.preempted = true
	e.counters.preemptions++
}

// resume closes the account of a preemption, if one is open.
func (s *Seq) resume(now clock.Time) {
	if s.sched.preemptedAt.Known() {
		s.PreemptedNS += int64(now.Sub(s.sched.preemptedAt))
		s.sched.preemptedAt = clock.Never
	}
}
