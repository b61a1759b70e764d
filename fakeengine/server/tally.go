package server

import (
	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// tally is what one replica measured of its requests and steps. It belongs to the
// loop's goroutine.
type tally struct {
	families *[histograms]family // shared, never changed
	hist     [histograms]histogram
	finished [finishes]uint64
	prompt   promptTokens
}

var _ engine.StepSink = (*tally)(nil)

// promptTokens says where the prompt tokens of requests that gave a first token came
// from, counted as vLLM 0.16 to 0.19 do (PromptTokenStats in
// vllm/v1/metrics/stats.py). If all of a prompt but one token was cached, it takes
// that one for cached as well, and computed again because a pass needs a token:
// computed + local + external - recomputed is the number of tokens.
type promptTokens struct{ computed, local, external, cached, recomputed int64 }

func (p *promptTokens) add(s *engine.Seq) {
	cached, external := fromElsewhere(s)
	again := int64(0)
	if cached+1 == int64(s.Prompt) {
		again = 1
	}
	p.computed += int64(s.Prompt) - cached
	p.local += cached + again - external
	p.external += external
	p.cached += cached
	p.recomputed += again
}

// fromElsewhere is how many tokens of a prompt were not computed here, and how many
// came from outside the engine's own cache. From another engine comes all that is
// not in that cache; the last token is computed anyway.
func fromElsewhere(s *engine.Seq) (cached, external int64) {
	if s.Remote != nil {
		return int64(s.Prompt - 1), int64(s.Prompt - s.Cached)
	}
	return int64(s.Cached), int64(s.Loaded)
}

func (t *tally) observe(which int, v int64) {
	f := &t.families[which]
	t.hist[which].observe(f.bounds, v, f.per)
}

func (t *tally) between(which int, from, to clock.Time) { t.observe(which, int64(to.Sub(from))) }

// Step implements engine.StepSink.
func (t *tally) Step(prompt, generated int64) { t.observe(histIteration, prompt+generated) }

// output counts an output of s at now; last is when the one before was.
func (t *tally) output(s *engine.Seq, now, last clock.Time, n int) {
	if s.Output > n {
		t.between(histITL, last, now)
		return
	}
	t.between(histTTFT, s.Arrival, now)
	t.prompt.add(s)
}

// end counts a sequence that is over, if the replica has had it. vLLM does so for
// each choice of a request, and not for aborted ones.
func (t *tally) end(s *engine.Seq, why engine.Finish) {
	if !s.Arrival.Known() {
		return
	}
	t.finished[why]++
	if why == engine.Aborted {
		return
	}
	t.between(histE2E, s.Arrival, s.LastToken)
	t.between(histQueue, s.Queued, s.Scheduled)
	t.between(histInference, s.Scheduled, s.LastToken)
	t.between(histPrefill, s.Scheduled, s.FirstToken)
	t.between(histDecode, s.FirstToken, s.LastToken)
	gaps := clock.Time(max(1, s.Output-1)) // a single token has a mean of 0 in vLLM
	t.between(histTPOT, 0, (s.LastToken-s.FirstToken)/gaps)
	t.observe(histPrompt, int64(s.Prompt))
	t.observe(histGeneration, int64(s.Output))
	t.observe(histMaxTokens, int64(s.MaxTokens))
	cached, _ := fromElsewhere(s)
	t.observe(histComputed, int64(s.Prompt)-cached)
}

// answered counts a request all of whose choices have come to their end, and the
// tokens of the longest one: vLLM's ParentRequest does so when the last one does,
// and never if some were aborted.
func (t *tally) answered(choices, longest int) {
	t.observe(histMaxGeneration, int64(longest))
	t.observe(histChoices, int64(choices))
}
