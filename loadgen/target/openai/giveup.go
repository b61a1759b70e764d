package openai

import (
	"time"

	"goodput/loadgen/target"
)

// Expire implements clock.Expirer: the attempt is given up, unless the first
// token has come that the deadline was for.
func (a *attempt) Expire(id uint64) {
	why := giveUp{cause: target.Cause(id), after: a.c.cfg.RequestTimeout}
	if why.cause == target.CauseTTFTTimeout {
		if a.answering.Load() {
			return
		}
		why.after = a.c.cfg.TTFTTimeout
	}
	a.cancel(why)
}

// giveUp is the reason with which an attempt's context is cancelled.
type giveUp struct {
	cause target.Cause
	after time.Duration
}

// Error is the text of the attempt's result.
func (g giveUp) Error() string {
	switch g.cause {
	case target.CauseTTFTTimeout:
		return "no first token within " + g.after.String() + " of the intended time"
	case target.CauseTotalTimeout:
		return "not finished within " + g.after.String() + " of the intended time"
	}
	return "cancelled"
}
