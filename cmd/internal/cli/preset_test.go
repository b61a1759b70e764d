package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/plan"
	"goodput/profiles"
)

// The plan without flags is that of its own engine version, the newest.
func TestDefaultIsTheNewestEngine(t *testing.T) {
	def := plan.Default()
	names := profiles.Engines()
	if newest := names[len(names)-1]; def.Engine != newest {
		t.Errorf("default engine %s, newest %s", def.Engine, newest)
	}
	got := def
	if err := preset(&got, def.Engine, def.GPU, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(def, got); diff != "" {
		t.Errorf("defaults differ from those of %s on %s (-plan +engine):\n%s", def.Engine, def.GPU, diff)
	}
}

func TestPreset(t *testing.T) {
	def := plan.Default()
	for _, c := range []struct {
		name, engine, gpu, drafter string
		want                       func(*plan.Plan)
	}{
		{"nothing named", "", "", "", func(*plan.Plan) {}},
		{"old engine", "vllm@0.10", "", "", func(p *plan.Plan) {
			p.Engine, p.EngineAsync, p.EngineHostOverlap, p.EngineReserveFullISL = "vllm@0.10", false, false, false
			p.EngineSpecAdmission = true
			p.EngineMaxNumBatchedTokens, p.EngineMaxNumSeqs = 8192, 1024
		}},
		{"drafter that is scheduled ahead of", "", "", "eagle", func(p *plan.Plan) { p.EngineSpecMethod = "eagle" }},
		{"drafter that is waited for", "", "", "ngram", func(p *plan.Plan) { p.EngineSpecMethod, p.EngineAsync, p.EngineHostOverlap = "ngram", false, false }},
		{"engine and drafter", "vllm@0.19", "", "draft_model", func(p *plan.Plan) {
			p.EngineSpecMethod, p.EngineAsync, p.EngineHostOverlap = "draft_model", false, false
			p.EngineMaxNumSeqs = 1024
		}},
		{"other GPU", "", "a100-sxm-80gb", "", func(p *plan.Plan) {
			// Switches of the engine stay as they are.
			p.GPU, p.EngineMaxNumBatchedTokens, p.EngineMaxNumSeqs = "a100-sxm-80gb", 2048, 256
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := def, def
			got.EngineMaxNumSeqs, want.EngineMaxNumSeqs = 7, 7
			got.EngineWatermark = 0.5
			want.EngineWatermark = 0.5
			if c.engine != "" {
				want.EngineWatermark = 0
			}
			c.want(&want)
			if err := preset(&got, c.engine, c.gpu, c.drafter); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
