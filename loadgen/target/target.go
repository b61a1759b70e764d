package target

import (
	"encoding/hex"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
)

// Span is a run of prompt content, as planned by package datasets.
type Span = datasets.Span

// Quote is an answer as a server gave it.
type Quote = datasets.Quote

// Shape says what the tokens of an answer are.
type Shape = datasets.Shape

// Request is one attempt at one request. The target may keep the pointer until
// the attempt's End event; the sender does not change it meanwhile.
type Request struct {
	// Seq numbers the requests of a run from 0, in order of intended time.
	Seq uint64
	// Intended is the instant at which the schedule wants the request sent.
	Intended clock.Time
	// Attempt numbers the attempts at the request, from 0. Later is how long after
	// Intended this one was due, for what a target allows each attempt; the whole
	// request is allowed its time from Intended.
	Attempt int
	Later   time.Duration
	// Prompt, In, Out and OutKey are the planned content (datasets.Item).
	Prompt  []Span
	In, Out int
	OutKey  uint64
	// Quoted: later prompts begin with this one and the answer as the target made it,
	// whose content is then Span{OutKey, Out}. A target that has text tells it in
	// Result.Answer. Otherwise they quote the planned text, which no model has written.
	Quoted bool
	// Quotes are the answers among the prompt that were given, in their order, for a
	// target that sends text; nil: the prompt is as planned.
	Quotes []Quote
	// Shape is what the answer is planned to be, for fake servers to follow.
	Shape Shape
	// Prefix, Session, Turn and Class say whom the request belongs to; 0 is none.
	Prefix  uint64
	Session uint64
	Turn    uint16
	Class   uint16
	// Priority is for servers that schedule by it: a smaller one is served first.
	// Others may refuse any but 0, which says nothing.
	Priority int
	// Adapter is the LoRA adapter to answer with; the zero value: the base model.
	Adapter Adapter
	// CacheSalt names the tenant with whom alone cached prefixes may be shared; "":
	// all that have none.
	CacheSalt string
	// IgnoreEOS asks for exactly Out tokens.
	IgnoreEOS bool
	// NamePrefix is what Name begins with.
	NamePrefix string
	// TraceID and SpanID identify the attempt on the wire (W3C Trace Context).
	TraceID [16]byte
	SpanID  [8]byte
}

// Name tells the attempt apart from all others of the run, as X-Request-Id does on the
// wire: NamePrefix and the trace id, which is the attempt's own.
func (r *Request) Name() string { return r.NamePrefix + hex.EncodeToString(r.TraceID[:]) }

// Adapter is a LoRA adapter: its name on the wire, and its place among those of the
// run, from 1.
type Adapter struct {
	Name   string
	Number uint16
}

// PrefixHashes appends the chained hash of each full block of the prompt:
// hash i covers blocks 0 to i. Two requests share hash i exactly if their first
// (i+1)*block tokens, their adapters and their cache salts are equal.
func (r *Request) PrefixHashes(dst []uint64, block int) []uint64 {
	return datasets.ChainWithin(dst, r.Scope(), r.Prompt, block)
}

// ContextHashes is PrefixHashes of the prompt and the answer behind it. room is
// for the spans of both, and returned to be used again.
func (r *Request) ContextHashes(dst []uint64, room []Span, block int) (hashes []uint64, _ []Span) {
	room = append(append(room[:0], r.Prompt...), Span{Key: r.OutKey, Tokens: r.Out})
	return datasets.ChainWithin(dst, r.Scope(), room, block), room
}

// Scope names those that the request can share prefixes with (datasets.Scope).
func (r *Request) Scope() uint64 { return datasets.Scope(r.Adapter.Name, r.CacheSalt) }

// Target answers requests.
type Target interface {
	// Start begins the attempt and returns at once; it must not block, fail or
	// panic for anything that the other side does. s gets this attempt's events
	// in order of time, ending with exactly one End. Start is called on the loop's
	// goroutine. End is delivered on the loop's goroutine; events before it come
	// from one goroutine at a time, which may be another one.
	Start(r *Request, s Sink)
}

// Canceler is a Target that can give up an attempt. The attempt's sink still
// gets its End, with CauseCanceled unless it had ended before. Cancel is called
// on the loop's goroutine.
type Canceler interface {
	Cancel(r *Request)
}

// Sink takes the events of one attempt.
type Sink interface {
	Event(e Event)
}

// RunSink is a Sink that takes many Token events in one call, from a target that
// makes them faster than they can be handed over one by one. The target may hold
// tokens back until anything else happens to the attempt, so their order among
// the other events stays.
type RunSink interface {
	Sink
	// Run stands for one Token event at each of the instants, in order, none of
	// them coalesced, all with this content and number of tokens. at is the
	// target's again when Run returns.
	Run(at []clock.Time, c Content, n int)
}
