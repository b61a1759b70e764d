package plan

import (
	"strings"
	"testing"
)

func TestCheckTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   string // empty: valid
	}{
		{"a table", func(*Plan) {}, ""},
		{"with n-grams", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens, p.EngineAsync = "ngram", 3, false }, ""},
		{"with jitter", func(p *Plan) { p.EngineStepJitter = 0.1 }, ""},
		{"no blocks", func(p *Plan) { p.EngineNumGPUBlocks = 0 }, "--engine.num-gpu-blocks: how many"},
		{"a drafter", func(p *Plan) { p.EngineSpecMethod, p.EngineSpecTokens = "eagle", 3 }, "--engine.speculative-method: "},
		{"adapters", func(p *Plan) { p.EngineEnableLora = true }, "--engine.enable-lora: "},
		{"host memory", func(p *Plan) { p.EngineKVOffloading = 1 }, "--engine.kv-offloading-size: "},
		{"prefill apart", func(p *Plan) { p.PrefillReplicas, p.DecodeReplicas = 1, 3 }, "--prefill-replicas: "},
		{"ranks", ranks, ""},
		{"no ranks at all", func(p *Plan) { p.EngineDP = 0 }, "--engine.data-parallel-size: 0 is outside 1 to 64"},
		{"ranks that share nothing", func(p *Plan) { ranks(p); p.EngineEP = false }, "--engine.enable-expert-parallel: "},
		{"sharing with nobody", func(p *Plan) { p.EngineEP = true }, "--engine.enable-expert-parallel: "},
		{"ranks by a formula", func(p *Plan) { ranks(p); p.EngineStepTable = "" }, "--engine.data-parallel-size: it is for measured"},
		{"an odd rank", func(p *Plan) { ranks(p); p.Replicas = 5 }, "--replicas: 5 are no multiple"},
		{"ranks with jitter", func(p *Plan) { ranks(p); p.EngineStepJitter = 0.1 }, "--engine.step-jitter: not with"},
		{"ranks with faults", func(p *Plan) { ranks(p); p.Faults = "f" }, "--faults: not with"},
		{"ranks with n-grams", func(p *Plan) { ranks(p); p.EngineSpecMethod, p.EngineSpecTokens, p.EngineAsync = "ngram", 3, false }, "--engine.speculative-method: not with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Default()
			p.EngineStepTable, p.EngineNumGPUBlocks = "kernels", 100
			c.change(&p)
			err := p.ValidatePool()
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func ranks(p *Plan) { p.EngineDP, p.EngineEP, p.Replicas = 2, true, 4 }
