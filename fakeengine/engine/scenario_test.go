package engine

import (
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/profiles"
)

// h100 is the step-time model of Llama-3.1-8B on one H100, and its front end.
func h100(t testing.TB, maxTokens int) (*steptime.Analytic, profiles.GPU) {
	t.Helper()
	gpu, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	model, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	a, err := steptime.New(gpu, model, 1, maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	return a, gpu
}

// quiet is a sink that keeps nothing.
type quiet struct{ tokens, ends int }

func (q *quiet) Tokens(_ *Seq, _ clock.Time, n int) { q.tokens += n }
func (q *quiet) Finished(*Seq, clock.Time, Finish)  { q.ends++ }

// burst sends n requests at time 0 and runs them to the end.
func burst(t testing.TB, cfg Config, n, prompt, out int) ([]*Seq, *Engine, clock.Time) {
	t.Helper()
	a, _ := h100(t, cfg.MaxNumBatchedTokens)
	loop := clock.NewVirtual()
	e, err := New(cfg, a, loop)
	if err != nil {
		t.Fatal(err)
	}
	sink := &quiet{}
	var seqs []*Seq
	for i := range n {
		s := &Seq{ID: uint64(i), Prompt: prompt, MaxTokens: out, Sink: sink}
		if err := e.Submit(s); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, s)
	}
	loop.Run()
	if sink.tokens != n*out || sink.ends != n {
		t.Fatalf("%d tokens and %d ends, want %d and %d", sink.tokens, sink.ends, n*out, n)
	}
	return seqs, e, loop.Now()
}

func serving(blocks, budget int) Config {
	return Config{
		MaxNumSeqs: 1024, MaxNumBatchedTokens: budget, MaxModelLen: 131072, BlockSize: 16, NumGPUBlocks: blocks,
		PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
	}
}

// Twelve prompts fit into the cache, their answers do not. Preemptions delay
// answers, never a first token that is out.
func TestPreemptionLeavesFirstTokensAlone(t *testing.T) {
	ample, _, end := burst(t, serving(28156, 2048), 12, 200, 600)
	tight, e, endTight := burst(t, serving(330, 2048), 12, 200, 600)
	if got := e.Stats().Preemptions; got == 0 {
		t.Error("nothing was preempted in 330 blocks")
	}
	for i := range ample {
		if ample[i].FirstToken != tight[i].FirstToken {
			t.Errorf("sequence %d: first token at %v with ample blocks, %v with few", i, ample[i].FirstToken, tight[i].FirstToken)
		}
	}
	if endTight <= end {
		t.Errorf("few blocks end at %v, ample ones at %v: preemptions must cost something", endTight, end)
	}
	t.Logf("ample: end %v; tight: end %v, %d preemptions, %d tokens recomputed, last first token %v",
		end, endTight, e.Stats().Preemptions, e.Stats().Recomputed, tight[11].FirstToken)
}

// vLLM 0.7.3 served one request of 280 prompt and 310 answer tokens at a time,
// on an H100 with a model of this shape, at 7.74 ms per token after 20.1 ms
// (medians, FreedomIntelligence/AccelMark). The profile was fitted to a later and
// faster version, so it may be quicker, within 15% per token.
func TestH100Magnitudes(t *testing.T) {
	cfg := serving(28156, 8192)
	_, gpu := h100(t, 8192)
	cfg.FrontEnd = gpu.FrontEndDelay()
	tpot := func(s *Seq) float64 { return float64(s.LastToken-s.FirstToken) / 1e6 / float64(s.Output-1) }
	ttft := func(s *Seq) float64 { return float64(s.FirstToken-s.Arrival) / 1e6 }
	one, _, _ := burst(t, cfg, 1, 280, 310)
	if got := tpot(one[0]); got < 0.85*7.74 || got > 7.74 {
		t.Errorf("TPOT of one sequence is %.2f ms", got)
	}
	if got := ttft(one[0]); got < 0.7*20.1 || got > 20.1 {
		t.Errorf("TTFT of one sequence is %.2f ms", got)
	}
	many, _, _ := burst(t, cfg, 64, 280, 310)
	t.Logf("batch 1: TTFT %.2f ms, TPOT %.3f ms; batch 64: TTFT %.1f to %.1f ms, TPOT %.3f ms",
		ttft(one[0]), tpot(one[0]), ttft(many[0]), ttft(many[63]), tpot(many[63]))
}
