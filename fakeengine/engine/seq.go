package engine

import "goodput/loadgen/clock"

// Finish says why a sequence ended.
type Finish uint8

// The reasons.
const (
	Length  Finish = iota // the asked-for number of tokens, or the model's length
	Stop                  // an end-of-sequence token
	Aborted               // given up by the client
)

// Seq is one sequence in an engine. The caller fills the first group and hands
// it to Submit; the engine owns it until Sink.Finished. A Seq may be reused
// after Reset.
type Seq struct {
	// ID is unique among the engine's live sequences and is the tie order.
	ID uint64
	// Prompt is the number of prompt tokens, at least 1.
	Prompt int
	// MaxTokens is the number of output tokens after which the answer stops.
	MaxTokens int
	// StopAt is the output token that is the end of sequence; 0: none.
	StopAt int
	// Hashes names each full block of the prompt (chained); nil: nothing can be
	// shared. Shared is the number of leading prompt tokens that another request
	// could have in common; blocks beyond it need no place in the prefix index.
	Hashes []uint64
	Shared int
	// OutKey seeds the hashes of the blocks that hold generated tokens.
	OutKey uint64
	// Sink hears of tokens and the end, on the loop's goroutine.
	Sink Sink

	// The engine's account, as specs R32 and R33 define it: readable from within
	// Sink calls and after Finished. Instants are clock.Never until they occur.
	Arrival, Queued, Scheduled, FirstToken, LastToken clock.Time
	// Output tokens produced so far.
	Output int
	// Cached is the number of prompt tokens taken from the prefix cache when the
	// sequence was first scheduled.
	Cached int
	// Preemptions, tokens computed again because of them, and the time spent
	// preempted (from preemption until scheduled again), in nanoseconds.
	Preemptions, Recomputed int
	PreemptedNS             int64

	sched schedState
}

// Sink hears what an engine does for one sequence. Calls come on the loop's
// goroutine, in order of time.
type Sink interface {
	// Tokens: n more output tokens left the engine at now, in one step.
	Tokens(s *Seq, now clock.Time, n int)
	// Finished: s is over; its blocks are free. No call follows.
	Finished(s *Seq, now clock.Time, why Finish)
}
