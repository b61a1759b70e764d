package cli

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/plan"
	"goodput/profiles"
)

// Whatever step is explained, the parts add up to it, no step beats its floor, and
// what does not exist is null.
func TestExplanationAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan.Default()
		p.GPU = rapid.SampledFrom(profiles.GPUs()).Draw(rt, "gpu")
		p.EngineModel = rapid.SampledFrom(profiles.Models()).Draw(rt, "model")
		p.TP = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(rt, "tp")
		p.EngineQuantization = rapid.SampledFrom([]string{"", "fp8", "awq"}).Draw(rt, "quantization")
		p.EngineKVCacheDType = rapid.SampledFrom([]string{"auto", "fp8"}).Draw(rt, "KV")
		p.EngineMaxNumBatchedTokens = rapid.IntRange(2, 4096).Draw(rt, "budget")
		if rapid.Bool().Draw(rt, "speculative") {
			p.EngineSpecMethod = rapid.SampledFrom([]string{"ngram", "eagle"}).Draw(rt, "method")
			p.EngineSpecTokens = rapid.IntRange(1, 5).Draw(rt, "drafts")
		}
		h, err := newHardware(&p)
		if err != nil {
			rt.Skip("does not fit") // such as 405B on one GPU
		}
		d, err := newDrafting(&p, &h)
		if err != nil {
			rt.Fatal(err)
		}
		s := shape{
			batch:   rapid.IntRange(0, p.EngineMaxNumBatchedTokens-1).Draw(rt, "batch"),
			context: rapid.IntRange(1, h.model.MaxLen).Draw(rt, "context"),
			prefill: rapid.IntRange(0, min(10_000, h.model.MaxLen)).Draw(rt, "prefill"),
		}
		if err := s.check(&h.model, d.drafts(), p.EngineMaxNumBatchedTokens); err != nil {
			rt.Skip("no step")
		}
		x := newExplanation(&h, d)
		x.add(&h, d, s, p.EngineMaxNumBatchedTokens)
		e := x.Steps[0]
		b := e.Bill
		sum := b.Matmul + b.KV + b.Attention + b.Elementwise + b.AllReduce + b.Head + b.Launch + b.Sequences + b.Host + b.Drafter
		if math.Abs(sum-e.StepMS) > 1e-6*e.StepMS {
			rt.Errorf("parts of %.6f ms for a step of %.6f ms", sum, e.StepMS)
		}
		if e.FloorMS > e.StepMS || e.FloorMS <= 0 {
			rt.Errorf("a floor of %v ms for a step of %v ms", e.FloorMS, e.StepMS)
		}
		if (e.TPOTMS == nil) != (s.batch == 0) || (e.TTFTMS == nil) != (s.prefill == 0) {
			rt.Errorf("TPOT %v, TTFT %v for %+v", e.TPOTMS, e.TTFTMS, s)
		}
		room := max(p.EngineMaxNumBatchedTokens-s.batch*(1+p.EngineSpecTokens), 1) // none is asked for without a prompt
		if want := (s.prefill + room - 1) / room; e.Chunks != want {
			rt.Errorf("a prompt of %d takes %d steps of at most %d, want %d", s.prefill, e.Chunks, room, want)
		}
		if (b.Drafter > 0) != (p.EngineSpecMethod == "eagle") {
			rt.Errorf("%q takes %v ms for its drafts", p.EngineSpecMethod, b.Drafter)
		}
		// Whoever always drafts gives the mean number of tokens at each step.
		if always := p.EngineSpecMethod != "ngram"; always && s.prefill == 0 && math.Abs(*e.TPOTMS*x.AcceptanceLength-e.StepMS) > 1e-9*e.StepMS {
			rt.Errorf("TPOT of %v ms, the step takes %v ms", *e.TPOTMS, e.StepMS)
		}
		if (e.KVUse > 1) != (len(x.Warnings) > 0) {
			rt.Errorf("%.3f of the KV blocks, warnings %q", e.KVUse, x.Warnings)
		}
	})
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {0.000004, "0.00000"}, {0.05724, "0.05724"}, {0.8741, "0.8741"}, {10.64, "10.64"}, {197.66, "197.7"}, {12345.6, "12346"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}
