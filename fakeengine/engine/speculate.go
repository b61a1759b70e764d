package engine

import (
	"errors"
	"fmt"

	"goodput/fakeengine/spec"
)

// Speculation is an engine's speculative decoding. The time that drafting takes
// is the step-time model's.
// The releases modelled here schedule only drafts that were proposed. Padding of a first
// decode to the length of the others, and room for drafts in the token budget, came to
// vLLM after 0.19 and are left out.
type Speculation struct {
	// Model says how many tokens are drafted for a sequence in each step and how many
	// of them are accepted; nil: no speculation.
	Model *spec.Model
	// Lookahead is the number of KV slots behind those of a step that are kept for
	// the drafter (spec.Method.Lookahead).
	Lookahead int
	// AdmissionLookahead: they are kept from admission on, not just from the second
	// step.
	AdmissionLookahead bool
	// DropLastHit: the last one of the cached blocks that a prompt begins with is
	// computed again (spec.Method.DropsLastHit).
	DropLastHit bool
}

// Drafts is the most tokens that are drafted for a step of a sequence; 0: no
// speculation.
func (s *Speculation) Drafts() int {
	if s.Model == nil {
		return 0
	}
	return s.Model.Drafts()
}

func (s *Speculation) validate(async bool) error {
	switch {
	case s.Lookahead < 0:
		return fmt.Errorf("Speculation.Lookahead is %d: need a number of tokens, or 0 for none", s.Lookahead)
	case s.Model == nil && s.Lookahead > 0:
		return fmt.Errorf("Speculation.Lookahead is %d, and there is no Model: leave it out", s.Lookahead)
	case s.Model == nil:
		return nil
	case async && !s.Model.Always():
		return errors.New("AsyncScheduling with a drafter that may have no draft: whether it has one is not known when the next step is scheduled; turn AsyncScheduling off")
	}
	return nil
}

// Speculated is the account of speculative decoding, as vLLM's spec_decode
// counters have it (R30).
type Speculated struct {
	// Drafts counts verifications, and DraftTokens the tokens drafted for them.
	Drafts, DraftTokens int64
	// Accepted tokens; those beyond the end of an answer count too.
	Accepted int64
	// AcceptedAt splits Accepted by position in the draft.
	AcceptedAt [spec.MaxDrafts]int64
}

// Speculated reads the account. It is apart from Stats, which routers read for
// each request.
func (e *Engine) Speculated() Speculated { return e.speculated }

// speculates: steps may hold drafts and give several tokens of a sequence, so
// that nothing about the next step is known before a step ends.
func (e *Engine) speculates() bool { return e.cfg.Speculation.Model != nil }

// slots is the number of tokens for which a sequence needs blocks in a step that
// computes its tokens up to the given number (R28).
func (e *Engine) slots(tokens int) int {
	if !e.speculates() {
		return tokens
	}
	return min(tokens+e.cfg.Speculation.Lookahead, e.cfg.MaxModelLen)
}

// match is the number of leading blocks of s that admission takes from the cache.
func (e *Engine) match(s *Seq) int {
	hit := e.kv.Match(&s.sched.table, s.tokens())
	if e.cfg.Speculation.DropLastHit && hit > 0 {
		hit--
	}
	return hit
}

// overhang is how many tokens more than it has a sequence may need blocks for:
// those of steps under way are assumed to be accepted.
func (e *Engine) overhang() int {
	return e.cfg.Speculation.Lookahead + e.depth*e.cfg.Speculation.Drafts()
}

// expect has drafts follow the token that a step just scheduled will give. The
// asynchronous scheduler puts placeholders for them; the synchronous one waits for
// the drafter (R25, R27).
func (e *Engine) expect(s *Seq) {
	s.sched.drafts = 0
	if e.depth > 1 {
		s.sched.drafts = e.cfg.Speculation.Model.Drafts()
	}
}

// verify settles the guesses of a row, whose step is over, and returns the number
// of tokens that it gives: the accepted ones and the one behind them (R29), as far
// as the answer goes (R23).
func (e *Engine) verify(r *row) int {
	s, n := r.s, 1
	if r.drafts > 0 {
		drafts := int(r.drafts)
		accepted := e.cfg.Speculation.Model.Accepted(s.sched.luck, s.Output, drafts)
		n += accepted
		s.sched.guessed -= drafts
		if s.sched.in == &e.running {
			s.sched.computed -= drafts - accepted
		}
		s.Verified++
		s.Drafted += drafts
		s.Accepted += accepted
		c := &e.speculated
		c.Drafts++
		c.DraftTokens += int64(drafts)
		c.Accepted += int64(accepted)
		for i := range accepted {
			c.AcceptedAt[i]++
		}
	}
	if s.StopAt > s.Output {
		n = min(n, s.StopAt-s.Output)
	}
	return min(n, s.MaxTokens-s.Output)
}

// draft has the drafter look at s, whose tokens of a step are known now.
func (e *Engine) draft(s *Seq) {
	switch {
	case s.sched.in != &e.running:
		// It was preempted amid the step. What the step has accepted was computed.
		s.sched.peak = max(s.sched.peak, s.tokens()-1)
	case e.depth == 1:
		s.sched.drafts = e.cfg.Speculation.Model.Proposed(s.sched.luck, s.Output)
	}
}
