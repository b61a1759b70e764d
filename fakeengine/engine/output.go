package engine

import "goodput/loadgen/clock"

// finishStep hands out the tokens of the step that ends at now, in order of
// scheduling, and starts the one behind it. Sequences that are done leave and
// free their blocks here, in time for the next scheduling (R23), even if a step
// under way still has a row for them.
func (e *Engine) finishStep(now clock.Time) {
	st := &e.pipe[e.first]
	prompt, generated := e.counters.prompt, e.counters.generated
	duration, decode := e.count(st, now)
	e.finishing = true
	// Sinks may abort any sequence, which empties its rows.
	for i := 0; i < len(st.rows); i++ {
		r := &st.rows[i]
		s := r.s
		if s == nil {
			continue
		}
		e.cursor = r.order
		running := e.runs(s)
		if r.prefill == 0 && running {
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
		e.lengthen(s, now, n)
		if e.speculates() {
			e.draft(s)
		}
		if e.depth > 1 && running && !s.sched.grouped {
			// The token that is known now may have been all that a computed block
			// lacked for its name.
			e.kv.Fill(&s.sched.table, s.sched.computed-s.sched.pending-s.sched.guessed)
		}
		e.give(s, now, n, running)
		r = &st.rows[i] // the sink may have added rows behind
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
	e.finishing = false
	e.report(e.counters.prompt-prompt, e.counters.generated-generated)
	st.reset()
	e.retire()
}

// count enters the step st, which ends now, into the books. It returns how long
// it took, and what of that decodes are charged, in nanoseconds.
func (e *Engine) count(st *step, now clock.Time) (duration, decode int64) {
	e.counters.steps++
	e.counters.busyPS += st.ps
	e.counters.generated += int64(st.grouped)
	duration = e.elapsed(now)
	decode = min(duration, st.decodeNS)
	if e.log.full() {
		e.trim()
	}
	e.finished++
	e.log.add(now, decode)
	return duration, decode
}

// report tells of a step with output, if somebody wants to know.
func (e *Engine) report(prompt, generated int64) {
	if e.cfg.Steps != nil && generated > 0 {
		e.cfg.Steps.Step(prompt, generated)
	}
}

// retire takes the first step out of the pipe, and starts the one behind it.
func (e *Engine) retire() {
	e.first ^= 1
	if e.flying--; e.flying > 0 {
		e.endPS += e.pipe[e.first].ps
	}
}

// runs reports whether s is among the running sequences.
func (e *Engine) runs(s *Seq) bool { return s.sched.in == &e.running || s.sched.grouped }

// give hands over the n tokens that s has got in the step that ended now, or notes
// that the one is to be told.
func (e *Engine) give(s *Seq, now clock.Time, n int, running bool) {
	c := &s.sched
	switch {
	case s.Runs == nil || s.Output == n || n > 1:
		e.tell(s)
		c.from, c.upto = e.finished+1, e.finished
		s.Sink.Tokens(s, now, n)
		return
	case c.upto != e.finished-1:
		e.tell(s)
		c.from = e.finished
	}
	c.upto = e.finished
	if !running {
		e.tell(s) // the next one may be long in coming
	}
}

// tell hands over the tokens of steps that are noted.
func (e *Engine) tell(s *Seq) {
	if c := &s.sched; c.from <= c.upto {
		s.Runs.Run(s, e.log.view(c.from, c.upto))
		c.from = c.upto + 1
	}
}

// trim makes room in the log, whose old steps are needed only for tokens that are
// still to be told.
func (e *Engine) trim() {
	oldest := e.finished
	for s := e.running.head; s != nil; s = s.sched.next {
		c := &s.sched
		if c.upto < e.finished-1 && s.Runs != nil {
			e.tell(s)
		}
		if c.from <= c.upto {
			oldest = min(oldest, c.from)
		}
	}
	for i := range e.group.phases {
		for s := e.group.phases[i].head; s != nil; s = s.sched.next {
			oldest = min(oldest, s.sched.from, s.sched.since-1)
		}
	}
	e.log.forget(oldest)
}

// lengthen adds n tokens to the answer of s.
func (e *Engine) lengthen(s *Seq, now clock.Time, n int) {
	s.Output += n
	s.sched.pending--
	s.LastToken = now
	e.counters.generated += int64(n)
	if s.Output == n {
		s.FirstToken = now
		e.counters.prompt += int64(s.Prompt)
	}
}
