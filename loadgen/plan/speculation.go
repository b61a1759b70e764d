package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// maxDrafts is the largest number of drafts of a step.
const maxDrafts = 32

func (p *Plan) checkSpeculation(v *checker) {
	const method = "engine.speculative-method"
	v.oneOf("engine.speculative-workload", p.EngineSpecWorkload, "chat", "code", "summarise", "low-overlap")
	rates, err := ParseShares(p.EngineSpecRates)
	v.ok(err == nil, "engine.speculative-acceptance", "%v", err)
	v.ok(len(rates) <= maxDrafts, "engine.speculative-acceptance", "%d shares: at most %d, one for each draft", len(rates), maxDrafts)
	v.ok(p.EngineSpecSpread >= 0 && p.EngineSpecSpread < 0.5, "engine.speculative-acceptance-spread", "%v is outside 0 to 0.5 (excluded)", p.EngineSpecSpread)
	v.ok(p.EngineSpecSpread == 0 || p.EngineSpecRates != "", "engine.speculative-acceptance-spread",
		"a workload has its own spread: give --engine.speculative-acceptance too")
	if p.EngineSpecMethod == "" {
		v.ok(p.EngineSpecTokens == 0, "engine.num-speculative-tokens", "%d drafts of nobody: say who drafts with --%s", p.EngineSpecTokens, method)
		v.ok(p.EngineSpecModel == "", "engine.speculative-model", "it drafts only with --%s draft_model", method)
		v.ok(p.EngineSpecRates == "", "engine.speculative-acceptance", "nobody drafts: say who does with --%s", method)
		return
	}
	v.oneOf(method, p.EngineSpecMethod, "ngram", "eagle", "mtp", "draft_model")
	v.ok(p.EngineSpecTokens >= 1 && p.EngineSpecTokens <= maxDrafts, "engine.num-speculative-tokens",
		"%s needs a number of drafts for each step, 1 to %d; 3 is usual", p.EngineSpecMethod, maxDrafts)
	if p.EngineSpecMethod == "draft_model" {
		v.ok(p.EngineSpecModel != "", "engine.speculative-model", "which model drafts? name a small one of goodput profile list")
	} else {
		v.ok(p.EngineSpecModel == "", "engine.speculative-model", "%s has no model of its own: leave it out, or use --%s draft_model", p.EngineSpecMethod, method)
	}
	v.ok(p.EngineSpecMethod != "ngram" || !p.EngineAsync, "engine.async-scheduling",
		"n-gram drafts are known only when a step is over, so vLLM does not schedule ahead of them: leave it out")
}

// ParseShares reads shares of 0 to 1 with commas between them; "" is none.
func ParseShares(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	var out []float64
	for _, item := range strings.Split(text, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return nil, fmt.Errorf("%q is no share of 0 to 1: write shares with commas between them, such as 0.8,0.7", item)
		}
		out = append(out, x)
	}
	return out, nil
}
