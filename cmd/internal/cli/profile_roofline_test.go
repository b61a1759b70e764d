package cli

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/plan"
	"goodput/profiles"
)

// Whatever step is explained, it stays under its roof (invariant 10: no step is
// faster than physics), the bands hold their figures, and the chart is 80 columns of
// ASCII with every step in it.
func TestRooflineHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan.Default()
		p.GPU = rapid.SampledFrom(profiles.GPUs()).Draw(rt, "gpu")
		p.EngineModel = rapid.SampledFrom(profiles.Models()).Draw(rt, "model")
		p.TP = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(rt, "tp")
		p.EngineQuantization = rapid.SampledFrom([]string{"", "fp8", "awq"}).Draw(rt, "quantization")
		p.EngineMaxNumBatchedTokens = 2048
		h, err := newHardware(&p)
		if err != nil {
			rt.Skip("does not fit")
		}
		x := newExplanation(&h, nil)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 2047), 1, 5).Draw(rt, "batches") {
			s := shape{batch: n, context: rapid.IntRange(1, 4000).Draw(rt, "context"), prefill: rapid.IntRange(0, 4000).Draw(rt, "prefill")}
			if s.check(&h.model, 0, 2048) == nil {
				x.add(&h, nil, s, 2048)
			}
		}
		if len(x.Steps) == 0 {
			rt.Skip("no step")
		}
		for i := range x.Steps {
			e := &x.Steps[i]
			if r := e.Roof; !(r.Reached > 0) || r.Reached > r.Roof*(1+1e-9) || math.Abs(r.Intensity*r.Bytes-r.FLOPs) > 1e-9*r.FLOPs {
				rt.Errorf("%+v", r)
			}
			if b := e.TPOTBand; b != nil && !(b.AtLeast < *e.TPOTMS && (b.AtMost == nil || *b.AtMost > *e.TPOTMS)) {
				rt.Errorf("TPOT of %v in a band of %+v", *e.TPOTMS, b)
			}
			if (e.TPOTBand == nil) != (e.TPOTMS == nil) || (e.TTFTBand == nil) != (e.TTFTMS == nil) {
				rt.Errorf("bands without figures, or the other way round: %+v", e)
			}
		}
		var b strings.Builder
		if err := x.roofline(&b, &h); err != nil {
			rt.Fatal(err)
		}
		if n := strings.Count(b.String(), "% of the roof)"); n != len(x.Steps) {
			rt.Errorf("%d of %d steps in\n%s", n, len(x.Steps), b.String())
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if len(line) > 80 {
				rt.Errorf("%d columns: %s", len(line), line)
			}
		}
	})
}

func TestBandOfLargeErrors(t *testing.T) {
	if b := newBand(10, 1.5); b.AtLeast != 4 || b.AtMost != nil {
		t.Errorf("%+v", b)
	}
	if b := newBand(10, 0.25); b.AtLeast != 8 || math.Abs(*b.AtMost-40/3.0) > 1e-9 {
		t.Errorf("%v to %v", b.AtLeast, *b.AtMost)
	}
}
