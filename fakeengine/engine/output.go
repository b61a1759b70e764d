package engine

import "goodput/loadgen/clock"

// finishStep hands out the tokens of the step that ends at now, in order of
// scheduling. Sequences that are done leave and free their blocks here, in time
// for the next step (R23).
func (e *Engine) finishStep(now clock.Time) {
	e.counters.steps++
	e.counters.busyPS += e.stepPS
	// Sinks may abort any sequence, which empties its row.
	for i := range e.rows {
		s := e.rows[i]
		if s == nil || s.sched.computed < s.tokens() { // R22
			continue
		}
		s.Output++
		s.LastToken = now
		e.counters.generated++
		if s.Output == 1 {
			s.FirstToken = now
			e.counters.prompt += int64(s.Prompt)
		}
		s.Sink.Tokens(s, now, 1)
		if e.rows[i] != s {
			continue
		}
		// The row is over whatever happens now, even if the sink submits s again.
		e.rows[i] = nil
		switch {
		case s.Output == s.StopAt:
			e.counters.finished++
			e.leave(s, now, Stop)
		case s.Output >= s.MaxTokens:
			e.counters.finished++
			e.leave(s, now, Length)
		}
	}
	e.stepping = false
}
