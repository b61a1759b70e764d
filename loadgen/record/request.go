package record

import "goodput/loadgen/clock"

// Null marks an int64 that was not observed; it is stored as null.
const Null = int64(clock.Never)

// Null32 marks an int32 that was not observed; it is stored as null.
const Null32 = int32(-1 << 31)

// Tri is a truth value that may be unknown.
type Tri int8

// The truth values. The zero value is unknown, stored as null.
const (
	Unknown Tri = iota
	No
	Yes
)

// Phase says which part of the run a request was scheduled in.
type Phase uint8

// The phases.
const (
	Measure Phase = iota // counts in the window
	Warmup
	Drain
	Probe // none of the load, and beside its window
)

// ProbeClass is the class of probes, and ProbeSeq the number of the first one: those of
// the load are below.
const (
	ProbeClass        = "probe"
	ProbeSeq   uint64 = 1 << 62
)

var phaseNames = [...]string{"measure", "warmup", "drain", "probe"}

// String returns the stored name.
func (p Phase) String() string { return phaseNames[p] }

// Outcome classifies how a request ended. Only OK is a success.
type Outcome uint8

// CutShort is in the error of an answer whose connection was closed before the end that
// HTTP announces; a truncated one without it ended in good order.
const CutShort = "the body ended before its announced end"

// The outcome classes.
const (
	OK Outcome = iota
	HTTP4xx
	HTTP429
	HTTP5xx
	Connect
	Reset
	TimeoutTTFT
	TimeoutTotal
	StreamError
	Truncated
	WrongLength
	Canceled
	DroppedCap
	Censored
	NumOutcomes int = iota
)

var outcomeNames = [NumOutcomes]string{
	"ok", "http_4xx", "http_429", "http_5xx", "connect", "reset", "timeout_ttft", "timeout_total",
	"stream_error", "truncated", "wrong_length", "canceled", "dropped_cap", "censored",
}

// String returns the stored name.
func (o Outcome) String() string { return outcomeNames[o] }

// ParseOutcome is the inverse of String; ok is false for an unknown name.
func ParseOutcome(s string) (o Outcome, ok bool) {
	for i, n := range outcomeNames {
		if n == s {
			return Outcome(i), true
		}
	}
	return 0, false
}

// Request is one attempt at one request: one row of requests-*.parquet.
// Instants are clock.Never, int64 durations Null and counts Null32 where they
// were not observed; an empty string or slice is null too.
type Request struct {
	// RunID to Replica say which request this is.
	RunID, Arm    string
	Trial, Shard  int32
	Seq           int64  // number in the schedule, from 0
	RequestID     string // X-Request-Id on the wire
	Attempt       int32  // 0 is the first
	Final         bool   // the attempt that decides the request
	Hedge         bool
	TraceID       [16]byte // all zero: no trace context was sent
	SpanID        [8]byte
	SessionID     string
	Turn          int32
	Thread        string
	ParentThread  string
	Trigger       string
	Class, Tenant string
	PrefixKey     string
	Adapter       string
	Replica       string

	// The instants, in order (package documentation of their meaning: FORMAT.md).
	// Writing is the first byte of the request, Wrote its last.
	Intended, Dispatched, Permitted, Conn, Writing, Wrote clock.Time
	FirstByte, FirstEvent, FirstRole                      clock.Time
	FirstReasoning, FirstContent, FirstTool               clock.Time
	FirstToken, LastToken, UsageAt, Done, Closed          clock.Time

	// AttemptDue is when a retry or a hedge was to be sent; Never for a first attempt,
	// which was due at Intended.
	AttemptDue clock.Time

	// Planned counts come from the workload, the others from the server's usage.
	PlannedPromptTokens, PromptTokens int32
	PlannedOutputTokens, OutputTokens int32
	ReasoningTokens                   int32
	PlannedCachedTokens, CachedTokens int32
	PoolCachedTokens                  int32   // what one cache of the pool's size would hold
	Chunks                            int32   // chunks that carry tokens
	CoalescedTokens                   int32   // of them, those that came with the read of the one before
	TokenGapsUS                       []int32 // between consecutive chunks, in microseconds; len = Chunks-1
	ChunkTokens                       []int32 // tokens of each chunk; empty: unknown

	// Outcome and what it rests on.
	Outcome      Outcome
	HTTPStatus   int32
	Error        string
	FinishReason string
	RetryAfter   int64
	BytesIn      int64
	BytesOut     int64
	ConnReused   Tri
	URL          int32 // number of the base URL, from 0; Null32: there is only one
	// DNS, Dial and TLS are what making the attempt's own connection took: its name,
	// its connection (to the address that was reached), its handshake.
	DNS, Dial, TLS int64
	SLOMet         Tri
	Phase          Phase

	// The server's own account, and client minus server, in nanoseconds.
	ServerQueue   int64
	ServerPrefill int64
	ServerDecode  int64
	ServerTTFT    int64
	ServerE2E     int64

	// Where the server's time went; with ServerPreempted they sum to ServerE2E.
	ServerSpentFrontEnd, ServerSpentQueue        int64
	ServerSpentPrefill, ServerSpentDecode        int64
	ServerSpentInterference, ServerSpentTransfer int64

	ServerPreempted    int64
	ServerCachedTokens int32
	ServerPreemptions  int32
	ServerRecomputed   int32 // tokens computed again after preemption
	// Drafts of speculative decoding that were verified, the tokens in them, and
	// how many of these were accepted.
	ServerDrafts, ServerDraftTokens, ServerAcceptedTokens int32

	ServerAttempts int32
	ServerSource   string // inprocess, header, otlp; empty: none
	DTTFT, DE2E    int64
	DTail, DTPOT   int64

	// Spans says what became of the search for an account among the run's spans. It is
	// not stored: reading finds it out.
	Spans SpanMatch `json:"-"`
	// Onion is what routers on the way say, by their spans. It is not stored either.
	Onion Onion `json:"-"`
}

// Reset empties r for reuse: every observation unknown, slices kept at length 0.
func (r *Request) Reset() {
	gaps, chunk := r.TokenGapsUS[:0], r.ChunkTokens[:0]
	*r = blank
	r.TokenGapsUS, r.ChunkTokens = gaps, chunk
}

var blank = Request{
	AttemptDue: clock.Never,
	Intended:   clock.Never, Dispatched: clock.Never, Permitted: clock.Never, Conn: clock.Never,
	Writing: clock.Never, Wrote: clock.Never,
	FirstByte: clock.Never, FirstEvent: clock.Never, FirstRole: clock.Never,
	FirstReasoning: clock.Never, FirstContent: clock.Never, FirstTool: clock.Never,
	FirstToken: clock.Never, LastToken: clock.Never, UsageAt: clock.Never, Done: clock.Never, Closed: clock.Never,
	PlannedPromptTokens: Null32, PromptTokens: Null32, PlannedOutputTokens: Null32, OutputTokens: Null32,
	ReasoningTokens: Null32, Chunks: Null32, CoalescedTokens: Null32, CachedTokens: Null32, PlannedCachedTokens: Null32, PoolCachedTokens: Null32,
	URL: Null32, DNS: Null, Dial: Null, TLS: Null,
	HTTPStatus: Null32, RetryAfter: Null, BytesIn: Null, BytesOut: Null,
	ServerQueue: Null, ServerPrefill: Null, ServerDecode: Null, ServerTTFT: Null, ServerE2E: Null,
	ServerSpentFrontEnd: Null, ServerSpentQueue: Null, ServerSpentPrefill: Null, ServerSpentDecode: Null,
	ServerSpentInterference: Null, ServerSpentTransfer: Null,
	ServerPreempted: Null, ServerCachedTokens: Null32, ServerPreemptions: Null32, ServerRecomputed: Null32,
	ServerDrafts: Null32, ServerDraftTokens: Null32, ServerAcceptedTokens: Null32,
	ServerAttempts: Null32, DTTFT: Null, DE2E: Null, DTail: Null, DTPOT: Null, Onion: unknownOnion,
}
