package record

// SpanRole says what part of the way of a request a span covers.
type SpanRole uint8

// The roles.
const (
	// SpanOther is any other step, such as picking a replica.
	SpanOther SpanRole = iota
	// SpanEngine is a request at a serving engine, by its own account.
	SpanEngine
	// SpanRouter is a request at something on the way to the engine.
	SpanRouter
	// SpanHop is what a router waited for the next on the way: one attempt.
	SpanHop
	numRoles int = iota
)

var roleNames = [numRoles]string{"other", "engine", "router", "hop"}

// String returns the stored name.
func (r SpanRole) String() string { return roleNames[r] }

// Span is one span that a server exported: one row of spans-*.parquet. Durations are
// nanoseconds, Null where they are unknown, counts Null32.
type Span struct {
	TraceID          [16]byte
	SpanID, ParentID [8]byte // a ParentID of zeros: none
	// Attempt is that of the request which the span belongs to; Null32: the trace has
	// several, and nothing tells which.
	Attempt             int32
	Role                SpanRole
	Name, Kind, Service string
	// Start is Unix nanoseconds of the exporter's clock, which is not the run's.
	Start, Duration int64
	Failed          bool   // its status is an error
	RequestID       string // as the engine knows it
	// What an engine says of the request. TTFT and E2E may be of another clock than
	// the others, as in vLLM.
	Queue, Prefill, Decode, TTFT, E2E       int64
	PromptTokens, OutputTokens, CachedToken int32
	// Attributes are all of them, a JSON object; empty: none.
	Attributes string
}

// UnknownSpan is a Span of which nothing is known.
func UnknownSpan() Span {
	return Span{
		Attempt: Null32, Queue: Null, Prefill: Null, Decode: Null, TTFT: Null, E2E: Null,
		PromptTokens: Null32, OutputTokens: Null32, CachedToken: Null32,
	}
}

// end is the instant at which the span ended, by its own clock.
func (s *Span) end() int64 { return s.Start + s.Duration }

// overlaps reports whether the two went on at one time.
func (s *Span) overlaps(o *Span) bool { return s.Start < o.end() && o.Start < s.end() }

// Stepped reports that the wall clock that TTFT and E2E were measured with was set
// back meanwhile: the monotonic parts are more than the whole, by over a millisecond.
func (s *Span) Stepped() bool {
	const slack = 1e6
	parts := s.Queue
	for _, p := range []int64{s.Prefill, s.Decode} {
		if parts == Null || p == Null {
			return false
		}
		parts += p
	}
	return s.E2E != Null && s.E2E < parts-slack
}
