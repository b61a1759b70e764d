package engine

import "goodput/loadgen/clock"

// finishStep hands out the tokens of the step that ends at now, in order of
// scheduling, and starts the one behind it. Sequences that are done leave and
// free their blocks here, in time for the next scheduling (R23), even if a step
// under way still has a row for them.
func (e *Engine) finishStep(now clock.Time) {
	st := &e.pipe[e.first]
	e.counters.steps++
	e.counters.busyPS += st.ps
	duration := e.elapsed(now)
	decode := min(duration, st.decodeNS)
	// Sinks may abort any sequence, which empties its rows.
	for i := range st.rows {
		r := &st.rows[i]
		s := r.s
		if s == nil {
			continue
		}
		if r.prefill == 0 && s.sched.in == &e.running {
			s.DecodeNS += decode
			r.prefill = charged
		} else {
			e.charge(r, duration)
		}
		if !r.emits { // R22
			continue
		}
		n := 1
		if e.speculates() {
			n = e.verify(r)
		}
		s.Output += n
		s.sched.pending--
		s.LastToken = now
		e.counters.generated += int64(n)
		if s.Output == n {
			s.FirstToken = now
			e.counters.prompt += int64(s.Prompt)
		}
		if e.speculates() {
			e.draft(s)
		}
		if e.depth > 1 && s.sched.in == &e.running {
			// The token that is known now may have been all that a computed block
			// lacked for its name.
			e.kv.Fill(&s.sched.table, s.sched.computed-s.sched.pending-s.sched.guessed)
		}
		s.Sink.Tokens(s, now, n)
		if r.s != s {
			continue
		}
		// The row is over whatever happens now, even if the sink submits s again.
		r.s = nil
		switch {
		case s.Output == s.StopAt:
			e.counters.finished++
			e.leave(s, now, Stop)
		case s.Output >= s.MaxTokens:
			e.counters.finished++
			e.leave(s, now, Length)
		}
	}
	st.reset()
	e.first ^= 1
	if e.flying--; e.flying > 0 {
		e.endPS += e.pipe[e.first].ps
	}
}
