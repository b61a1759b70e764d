package engine

import (
	"goodput/fakeengine/kv"
	"goodput/loadgen/clock"
)

// Finish says why a sequence ended.
type Finish uint8

// The reasons.
const (
	Length  Finish = iota // the asked-for number of tokens
	Stop                  // an end-of-sequence token
	Aborted               // given up by the client
)

// Seq is one sequence in an engine. The caller fills the first group and hands
// it to Submit; the engine owns it until Sink.Finished. A Seq may be reused
// after Reset.
type Seq struct {
	// ID is unique among the engine's live sequences and is the tie order of
	// sequences that reach the engine at the same instant.
	ID uint64
	// Prompt is the number of prompt tokens, at least 1.
	Prompt int
	// MaxTokens is the number of output tokens after which the answer stops, at
	// least 1.
	MaxTokens int
	// StopAt is the output token that is the end of sequence; 0: none.
	StopAt int
	// Hashes names each full block of the prompt (chained, in blocks of the
	// engine's block size); nil: nothing can be shared.
	Hashes []uint64
	// Shared is the number of leading prompt tokens that another request could
	// have in common. Blocks beyond it stay out of the prefix index; only the
	// sequence itself finds them again, when it resumes after a preemption. The
	// blocks of the answer are treated in the same way.
	Shared int
	// Sink hears of tokens and the end, on the loop's goroutine.
	Sink Sink

	// The engine's account, readable from within Sink calls and after Finished.
	// Instants are clock.Never until they occur. Arrival is the call of Submit,
	// Queued the step boundary at which the scheduler first saw the sequence,
	// Scheduled the start of its first step, FirstToken and LastToken the ends of
	// the steps that made those tokens (vLLM v1 request events, rules R32, R33).
	Arrival, Queued, Scheduled, FirstToken, LastToken clock.Time
	// Output is the number of output tokens produced so far.
	Output int
	// Cached is the number of prompt tokens taken from the prefix cache when the
	// sequence was first scheduled.
	Cached int
	// Preemptions counts evictions from the running batch, Recomputed the tokens
	// that were computed again because of them, and PreemptedNS the nanoseconds
	// from preemption until scheduled again.
	Preemptions, Recomputed int
	PreemptedNS             int64

	sched schedState
}

// schedState is what the scheduler keeps in a sequence.
type schedState struct {
	next, prev *Seq  // neighbours in the list in
	in         *list // nil: not in the engine
	lands      clock.Time
	row        [2]int // index in the rows of the engine's steps, by place in the pipe
	// computed counts the tokens whose KV is or will be there when the scheduled
	// steps end; peak is the highest value it had before a preemption. pending
	// counts the output tokens that those steps will give.
	computed, peak, pending int
	preemptedAt             clock.Time // Never: not preempted now
	table                   kv.Table
}

// Reset clears the Seq for another use. It must not be in an engine.
func (s *Seq) Reset() { *s = Seq{} }

// tokens is the number of tokens known: prompt and output.
func (s *Seq) tokens() int { return s.Prompt + s.Output }

// Sink hears what an engine does for one sequence. Calls come on the loop's
// goroutine, in order of time. A Sink may call Submit and Abort.
type Sink interface {
	// Tokens: n more output tokens left the engine at now, in one step.
	Tokens(s *Seq, now clock.Time, n int)
	// Finished: s is over; its blocks are free. No call follows.
	Finished(s *Seq, now clock.Time, why Finish)
}
