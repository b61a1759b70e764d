package target

import "goodput/loadgen/clock"

// Kind says what an Event observed.
type Kind uint8

// The kinds, in the order in which a well-behaved attempt shows them.
const (
	Dispatched Kind = iota // the attempt's own goroutine or event runs
	Conn                   // a connection was acquired; Reused says whether it was idle before
	Writing                // the first byte of the request is about to be written
	Wrote                  // the last byte of the request was written
	Header                 // the response header arrived; Status is set
	FirstByte              // first byte of the response
	Token                  // a delta arrived; Content says of what kind, N how many tokens
	Finished               // a finish_reason arrived; Reason holds it
	UsageSeen              // token counts arrived; Usage is set
	Done                   // the terminal marker arrived
	End                    // the attempt is over; Result is set
)

// Content says what a Token event's delta carried.
type Content uint8

// The kinds of content. A role-only or empty delta is recorded and never taken
// for a first token.
const (
	Role Content = iota
	Text
	Reasoning
	Tool
)

// Event is one observation. At is stamped right after the read that completed
// it, before anything is decoded.
type Event struct {
	At   clock.Time
	Kind Kind
	// Content is set for Token.
	Content Content
	// Coalesced: the same read completed the event before, so At is that one's
	// stamp, not an observation of its own.
	Coalesced bool
	// Reused is set for Conn.
	Reused bool
	// Status is the HTTP status of Header.
	Status int
	// N is the number of tokens of a Token event; 0 is unknown.
	N int
	// Reason is the finish_reason of Finished.
	Reason string
	// Usage is set for UsageSeen. The receiver copies what it keeps.
	Usage *Usage
	// Result is set for End. The receiver copies what it keeps.
	Result *Result
}

// Unknown marks a token count that the other side did not report.
const Unknown = -1

// Usage is the server's count of tokens; a field it left out is Unknown.
type Usage struct {
	Prompt, Completion, Cached, Reasoning int
}

// Cause says how an attempt ended, as seen by the transport. Whether it was a
// success is judged by the observer from all the evidence.
type Cause uint8

// The causes.
const (
	CauseEOF          Cause = iota // the response ended in good order
	CauseConnect                   // no connection: refused, DNS, TLS, or dial timeout
	CauseReset                     // the connection broke, before or amid the response
	CauseTruncated                 // the body ended before its declared end
	CauseTTFTTimeout               // no first token in time
	CauseTotalTimeout              // not finished in time
	CauseStreamError               // an error object came inside the stream, or it could not be read as a stream
	CauseCanceled                  // given up by the sender
)

// Result closes an attempt.
type Result struct {
	Cause Cause
	// Status is the HTTP status, 0 if no header arrived.
	Status int
	// Err is a short text for people; it never holds a key or a prompt.
	Err string
	// RetryAfter is the server's wish in nanoseconds; 0 is none given.
	RetryAfter int64
	// BytesIn and BytesOut count the bodies, in bytes; a negative one is unknown.
	BytesIn, BytesOut int64
	// Replica is the replica that answered, if it said so; "" is unknown.
	Replica string
	// Attempts is how often what is behind the target was asked for this one; 0: it does
	// not tell.
	Attempts int
	// Answer is what a request that is Quoted was told, the receiver's to keep; nil where
	// a target has no text, and in an answer that was not completed. AnswerLost: it could
	// not be gathered.
	Answer     *Quote
	AnswerLost bool
	// DecodeFallbacks counts chunks that needed a full JSON decode.
	DecodeFallbacks int
	// Net is how the connection came about, nil where there is none.
	Net *Net
	// Server is the server's own account of the request, nil if there is none.
	Server *Server
}

// Net is what the transport did for an attempt.
type Net struct {
	// URL is the number of the base URL, from 0; Unknown where there is only one.
	URL int
	// DNS, Dial and TLS are the parts of making a connection, in nanoseconds, as far as
	// it was made for this attempt; a negative one did not happen, or is unknown.
	DNS, Dial, TLS int64
}

// Source says where a Server account comes from.
type Source uint8

// The sources.
const (
	SourceNone Source = iota
	SourceInProcess
	SourceHeader
	SourceOTLP
)

// Server is what the serving side measured of one request. Durations are in
// nanoseconds; a negative one is unknown.
type Server struct {
	Source                      Source
	Queue, Prefill, Decode      int64
	TTFT, E2E                   int64
	Preempted                   int64
	CachedTokens                int
	Preemptions, RecomputedToks int
	// Spent divides the time by cause.
	Spent Spent
	// Speculation is what became of drafted tokens.
	Speculation Speculation
}

// Speculation is the account of speculative decoding of one request.
type Speculation struct {
	// Known: the server speculates, and the rest is set.
	Known bool
	// Drafts were verified, one a step, with so many Tokens in all, of which so many
	// were Accepted; those behind the end of the answer count too.
	Drafts, Tokens, Accepted int
}

// Spent is where the server's time went, in nanoseconds from the arrival of the
// request until it was over. With Server.Preempted the parts sum to that exactly,
// and so to Server.E2E if the answer was completed.
type Spent struct {
	// Known is false where the server does not say.
	Known bool
	// FrontEnd is before the scheduler could see the request, Queue from then until
	// its first step.
	FrontEnd, Queue int64
	// Prefill and Decode are the steps for its own prompt and answer, each as long
	// as it would have been without the prompts of others. Interference is what
	// others added to them, and steps in which it was left out.
	Prefill, Decode, Interference int64
	// Transfer is the wait for KV blocks or an adapter on their way to the GPU.
	Transfer int64
}
