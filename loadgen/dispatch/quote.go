package dispatch

import (
	"goodput/datasets"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// heard takes the answer of a step that has succeeded, for later prompts to quote; nil:
// the target has no text, or lost it, and they quote what was planned.
func (d *Dispatcher) heard(f *flight, row *record.Request) *target.Quote {
	a := f.winner
	if n := row.OutputTokens; n >= 0 && n != row.PlannedOutputTokens {
		d.counters.OtherLength++
	}
	if a.lost {
		d.counters.Unquoted++
	}
	q := a.said
	a.said = nil
	return q
}

// keepQuotes lets go of the answers that the context does not hold any more.
func (t *thread) keepQuotes() {
	if len(t.quotes) == 0 {
		return
	}
	keep := datasets.KeepQuotes(t.quotes, t.context)
	clear(t.quotes[len(keep):])
	t.quotes = keep
}
