package engine

import (
	"goodput/fakeengine/kv"
	"goodput/fakeengine/spec"
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
	// Priority is for the policy of that name: smaller is served first.
	Priority int
	// Adapter is the number of the LoRA adapter; 0: the base model. Numbers are the
	// caller's, and dense: a table of the highest one is kept.
	Adapter uint16
	// Hashes names each full block of the prompt, and of the answer behind it as far
	// as that is known beforehand (chained, in blocks of the engine's block size),
	// and what else its content depends on, such as the adapter; nil: nothing can be
	// shared.
	Hashes []uint64
	// Shared is the number of leading tokens, of the prompt and then of the answer,
	// that another request could have in common. Blocks beyond it stay out of the
	// prefix index; only the sequence itself finds them again, when it resumes after a
	// preemption. Blocks of the answer get into it as they fill, as in vLLM, and cost
	// the engine more than those that nobody looks for: they are named one by one.
	Shared int
	// Remote brings the KV of the prompt from another engine; nil: it is computed
	// here. After a preemption it is computed here in any case.
	Remote Fetcher
	// Hold keeps the blocks when the answer is complete, until Engine.Release, so
	// that another engine can fetch their content. An abort frees them at once.
	Hold bool
	// Sink hears of tokens and the end, on the loop's goroutine.
	Sink Sink
	// Runs, if not nil, is told of the tokens after the first one in runs, and Sink
	// is not told of those. An engine has much less work with such sequences.
	Runs RunSink

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
	// Loaded is how many of those were in host memory only.
	Loaded int
	// Preemptions counts evictions from the running batch, and Recomputed the
	// tokens that were computed again because of them.
	Preemptions, Recomputed int
	// Verified counts the steps that verified drafts of the sequence, Drafted those
	// drafts, and Accepted how many of them were accepted, those beyond the end of
	// the answer included.
	Verified, Drafted, Accepted int
	// Spent is where the time went.
	Spent

	sched schedState
}

// Spent divides the time from Arrival to the end, in nanoseconds; the parts sum
// to it exactly. Preempted is kept up to date, PrefillNS and DecodeNS until the
// last step, TransferNS until the last transfer, the others are known when the sequence is over.
type Spent struct {
	// FrontEndNS is before the scheduler could see the sequence, and QueueNS from
	// then until it was first scheduled: vLLM's queue time and the wait for the
	// step boundary before it.
	FrontEndNS, QueueNS int64
	// PrefillNS is the steps that computed its prompt (or, after a preemption,
	// prompt and answer so far), and DecodeNS those that extended its answer, each
	// as long as it would have been without the prefill of other sequences.
	PrefillNS, DecodeNS int64
	// InterferenceNS is the rest of the time in the running batch: what the prefill
	// of others added to those steps, and steps in which the sequence got nothing,
	// because others had the budget or because they were scheduled before it came.
	InterferenceNS int64
	// PreemptedNS is from preemptions until scheduled again.
	PreemptedNS int64
	// TransferNS is the time in which KV blocks or an adapter were on their way to
	// the GPU and the sequence could do nothing but wait for them. It is part of
	// neither the queue nor the preempted time.
	TransferNS int64
}

// schedState is what the scheduler keeps in a sequence.
type schedState struct {
	// These are all that is read of one in the group that needs a block, so they lie
	// together. order counts admissions, and is the order of running sequences.
	// grouped: in the group since the step of that number, see there.
	next, prev *Seq // neighbours in the list in
	order      uint64
	since      int64
	computed   int // see below
	table      kv.Table
	grouped    bool

	in    *list // nil: not in the engine
	place int   // in the heap of the waiting queue, or of the group
	turn  int64 // its order in the waiting queue
	lands clock.Time
	row   [2]int // index in the rows of the engine's steps, by place in the pipe
	// computed counts the tokens whose KV is or will be there when the scheduled
	// steps end; peak is the highest value it had before a preemption. pending
	// counts the output tokens that those steps will give for sure, and guessed the
	// drafts in them. drafts follow all of those and wait to be scheduled.
	peak, pending, guessed, drafts int
	// goal is the number of tokens that were known at admission: a prefill until
	// they are computed, then decodes.
	goal int
	// Tokens of the steps from to upto are to be told in a run.
	from, upto int64

	asked       bool       // Remote was
	follows     bool       // it waits for what another sequence has loaded
	brought     int        // tokens whose KV was or is being loaded
	preemptedAt clock.Time // Never: not preempted now
	luck        spec.Request
	// blockedAt is when it began to wait for a transfer; Never: it does not.
	// blockedNS is how long it did before it was first scheduled.
	blockedAt clock.Time
	blockedNS int64
	short     bool // has waited for blocks
}

// Reset clears the Seq for another use. It must not be in an engine.
func (s *Seq) Reset() { *s = Seq{} }

// tokens is the number of tokens known: prompt and output.
func (s *Seq) tokens() int { return s.Prompt + s.Output }

// Sink hears what an engine does for one sequence. Calls come on the loop's
// goroutine, in order of time. A Sink may call Submit and Abort.
type Sink interface {
	// Tokens: n more output tokens left the engine at now, in one step: 1, or more
	// if drafts were accepted.
	Tokens(s *Seq, now clock.Time, n int)
	// Finished: s is over; its blocks are free. No call follows.
	Finished(s *Seq, now clock.Time, why Finish)
}

// StepSink hears of the steps of an engine, in order, and of many of them only when
// something else happens. It must not call the engine.
type StepSink interface {
	// Step: a step gave the first token of sequences with so many prompt tokens, those
	// found in the cache included, and so many output tokens in all, at least one. A
	// step that gave none, because it computed parts of prompts only, is not told of:
	// it has no output, and vLLM's front end does not see it.
	Step(prompt, generated int64)
}

// RunSink hears of the tokens of a sequence long after they left the engine, but
// before its Finished.
type RunSink interface {
	// Run: one more output token left the engine at each of the instants. at is
	// valid until Run returns, which must not call the engine.
	Run(s *Seq, at []clock.Time)
}
