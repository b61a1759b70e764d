package pool

import (
	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// parts is how far an answer with a shape is.
type parts struct {
	shaped bool
	told   int // tokens of which the sender knows
}

// take takes up to n tokens off that are of one part.
func (a *attempt) take(n int) (target.Content, int) {
	c, end := target.Part(a.req.Shape, a.parts.told, a.req.Out)
	n = min(n, end-a.parts.told)
	a.parts.told += n
	return c, n
}

// shaped tells of n tokens of one step, by an event for each part.
func (a *attempt) shaped(now clock.Time, n int) {
	for more := false; n > 0; more = true {
		c, m := a.take(n)
		a.sink.Event(target.Event{At: now, Kind: target.Token, Content: c, N: m, Coalesced: more})
		n -= m
	}
}

// shapedRun is shaped for steps of one token each.
func (a *attempt) shapedRun(at []clock.Time) {
	for len(at) > 0 {
		c, m := a.take(len(at))
		a.runs.Run(at[:m], c, 1)
		at = at[m:]
	}
}

// reason is the finish_reason of an answer that was completed.
func (a *attempt) reason(why engine.Finish) string {
	switch {
	case a.req.Shape.Calls > 0:
		return "tool_calls"
	case why == engine.Stop:
		return "stop"
	}
	return "length"
}
