package target

import "goodput/loadgen/clock"

// Null answers each request at once, in full and without a connection: what is then
// late, or takes the processor's time, is the generator's own. It belongs to the loop's
// goroutine, and allocates nothing.
type Null struct {
	stamp  clock.Stamper
	usage  Usage
	result Result
}

var _ Target = (*Null)(nil)

// NewNull returns the target that stamps its answers with the given clock.
func NewNull(stamp clock.Stamper) *Null {
	return &Null{stamp: stamp, result: Result{Cause: CauseEOF, Status: 200}}
}

// String names it.
func (n *Null) String() string { return "null" }

// Start answers within the call, with all tokens in one chunk.
func (n *Null) Start(r *Request, s Sink) {
	at := n.stamp.Stamp()
	n.usage = Usage{Prompt: r.In, Completion: r.Out, Cached: Unknown, Reasoning: Unknown}
	s.Event(Event{At: at, Kind: Dispatched})
	s.Event(Event{At: at, Kind: Writing})
	s.Event(Event{At: at, Kind: Wrote})
	s.Event(Event{At: at, Kind: Header, Status: 200})
	s.Event(Event{At: at, Kind: FirstByte})
	s.Event(Event{At: at, Kind: Token, Content: Text, N: r.Out})
	s.Event(Event{At: at, Kind: Finished, Reason: "length"})
	s.Event(Event{At: at, Kind: UsageSeen, Usage: &n.usage})
	s.Event(Event{At: at, Kind: Done})
	s.Event(Event{At: at, Kind: End, Result: &n.result})
}
