package disagg

import (
	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// Owner hears how far a handoff is.
type Owner interface {
	// Prefilled: the prefill replica has nothing more to do for the request but to
	// keep its blocks until they are fetched. It is called once for each Start,
	// also if the request is aborted before.
	Prefilled(h *Handoff, now clock.Time)
}

// Handoff is the way of one sequence through a prefill and a decode replica. The
// zero value is ready for Start, and may be used again when the decode sequence
// has finished.
type Handoff struct {
	owner    Owner
	net      *network
	from, to *engine.Engine
	prompt   engine.Seq  // what the prefill replica has
	answer   *engine.Seq // the caller's
	stage    stage

	source, dest int
	tokens       int // to be transferred
	ready        clock.Time
	in           *list
	prev, next   *Handoff
}

type stage uint8

const (
	computing stage = iota // in the prefill replica
	waiting                // for its turn in the decode replica, or its KV
	done                   // all that is left is in the decode replica
)

// prefillSink is a handoff as the sink of its prefill sequence.
type prefillSink Handoff

var (
	_ engine.Sink    = (*prefillSink)(nil)
	_ engine.Fetcher = (*Handoff)(nil)
)

// Start has prefill replica from compute the prompt of s, and hands s to decode
// replica to then. s is what Engine.Submit would take, and its sink hears what it
// would hear of one engine; but s.Arrival and what follows are of the decode
// replica, and Never until it has the sequence. The error is that of an engine that
// could never run s; nothing has happened then.
func (p *Prefill) Start(h *Handoff, s *engine.Seq, from, to int, o Owner) error {
	*h = Handoff{
		owner: o, net: p.net, from: p.replica(from), to: p.replica(to), source: from, dest: to, answer: s,
		prompt: engine.Seq{
			ID: s.ID, Prompt: s.Prompt, MaxTokens: 1, Priority: s.Priority, Adapter: s.Adapter,
			Hashes: s.Hashes, Shared: s.Shared, Hold: true,
		},
	}
	h.prompt.Sink = (*prefillSink)(h)
	s.Remote = h
	if err := h.to.Check(s); err != nil {
		return err
	}
	s.Arrival, s.Queued, s.Scheduled, s.FirstToken, s.LastToken = clock.Never, clock.Never, clock.Never, clock.Never, clock.Never
	s.Output, s.Cached, s.Preemptions, s.Recomputed, s.Spent = 0, 0, 0, 0, engine.Spent{}
	return h.from.Submit(&h.prompt)
}

// Tokens is that of the prefill replica, which nobody needs.
func (h *prefillSink) Tokens(*engine.Seq, clock.Time, int) {}

// Finished has the decode replica take over.
func (p *prefillSink) Finished(_ *engine.Seq, now clock.Time, why engine.Finish) {
	h := (*Handoff)(p)
	h.owner.Prefilled(h, now)
	if why == engine.Aborted {
		h.stage = done
		h.answer.Sink.Finished(h.answer, now, engine.Aborted)
		return
	}
	h.stage = waiting
	if err := h.to.Submit(h.answer); err != nil {
		panic(err) // it was checked at the start
	}
}

// Fetch implements engine.Fetcher: it begins the transfer.
func (h *Handoff) Fetch(_ *engine.Seq, now clock.Time, tokens int) {
	h.tokens = tokens
	h.net.post(h, now)
}

// arrived ends the transfer: the blocks at its source are free, and the decode
// replica goes on.
func (h *Handoff) arrived() {
	h.stage = done
	h.from.Release(&h.prompt)
	h.to.Fetched(h.answer)
}

// Abort takes the sequence out of whatever replica has it, frees its blocks on
// both, and ends a transfer amid its bytes. The sink hears of it as it would from
// Engine.Abort. It does nothing if the sequence is over.
func (h *Handoff) Abort() {
	switch h.stage {
	case computing:
		h.from.Abort(&h.prompt)
		return
	case waiting:
		h.stage = done
		h.net.withdraw(h)
		h.from.Release(&h.prompt)
	}
	h.to.Abort(h.answer)
}

// Prefilling reports whether the prefill replica still holds blocks of the
// request: without that replica it cannot go on.
func (h *Handoff) Prefilling() bool { return h.stage != done }

// Prompt is the account of the prefill replica: see the engine's part of
// engine.Seq.
func (h *Handoff) Prompt() *engine.Seq { return &h.prompt }

// Spent is where the time went in both replicas, from the start until the end. The
// parts sum to that exactly: the second replica gets the sequence at the instant at
// which the first has answered.
func (h *Handoff) Spent() engine.Spent {
	a, b := &h.prompt.Spent, &h.answer.Spent
	return engine.Spent{
		FrontEndNS: a.FrontEndNS + b.FrontEndNS, QueueNS: a.QueueNS + b.QueueNS,
		PrefillNS: a.PrefillNS + b.PrefillNS, DecodeNS: a.DecodeNS + b.DecodeNS,
		InterferenceNS: a.InterferenceNS + b.InterferenceNS, PreemptedNS: a.PreemptedNS + b.PreemptedNS,
		TransferNS: a.TransferNS + b.TransferNS,
	}
}
