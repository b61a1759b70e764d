package spec

import (
	"fmt"
	"strings"
)

// workload is how drafts do on one kind of text: by trained layers and draft
// models, by a target's own layers, and by look-up.
type workload struct {
	name         string
	trained, own Acceptance
	lookup       Acceptance
}

// workloads returns the table. Shares are of steps with a draft, by position, as
// vLLM counts them. Sources:
//
//   - chat, trained: EAGLE-3 for Llama 3.1 8B on MT-bench with 10 drafts
//     (vllm-project/vllm pull request 26498)
//   - code and summarise, trained: EAGLE-3 for Llama 4 Maverick on HumanEval and on
//     CNN/Daily Mail with 1 to 7 drafts (model card of
//     RedHatAI/Llama4-Maverick-17B-128E-Instruct-speculator.eagle3, table of
//     acceptance lengths; a share is the difference of two neighbours)
//   - low-overlap, trained: EAGLE-3 for gpt-oss with 5 drafts (vllm-project/vllm pull
//     request 42764), the weakest drafter of which shares were at hand
//   - own: DeepSeek-V3 accepts 85 to 90 % of second tokens (its technical report,
//     section 5.4.3), and 3.2 tokens a step with 7 drafts (model card of
//     nebius/MTP-DeepSeek-V3-0324), which leaves about 62 % for each later one
//   - code, look-up: n-grams on code edits with 5 drafts, in 993 of 1,814 steps
//     (vllm-project/vllm pull request 24344)
//   - chat, look-up: 1.4 tokens a step with 3 drafts (n-gram blog of
//     NVIDIA/TensorRT-LLM, pull request 6311), split between finding and accepting
//     by guess
//
// The rest is assumed: look-up on summaries and on text of low overlap, and every
// spread but that of look-up on code. That one follows from its shares: drafts that
// are accepted at 0.81, and if so at 0.91, 0.95, 0.97 and 0.97, are what a beta
// distribution of deviation 0.29 gives. That acceptance differs much between requests
// is shown by "Speculative Decoding: Performance or Illusion?" (arXiv 2601.11580),
// without figures of this kind. No source was at hand for draft models: they take
// the shares of trained layers.
func workloads() []workload {
	return []workload{
		{
			name:    "chat",
			trained: shares(0.12, 1, .74, .54, .41, .30, .22, .16, .12, .08, .05, .02),
			own:     shares(0.10, 1, .85, .527),
			lookup:  shares(0.20, 0.5, .40, .24, .156),
		},
		{
			name:    "code",
			trained: shares(0.12, 1, .83, .62, .49, .32, .21, .10, .05),
			own:     shares(0.08, 1, .90, .58),
			lookup:  shares(0.29, 0.547, .81, .74, .70, .68, .66),
		},
		{
			name:    "summarise",
			trained: shares(0.12, 1, .69, .43, .25, .15, .08, .03),
			own:     shares(0.10, 1, .87, .54),
			lookup:  shares(0.25, 0.7, .70, .60, .54),
		},
		{
			name:    "low-overlap",
			trained: shares(0.12, 1, .622, .356, .203, .119, .060),
			own:     shares(0.12, 1, .75, .40),
			lookup:  shares(0.15, 0.2, .20, .08, .032),
		},
	}
}

// shares turns shares by position into rates.
func shares(spread, proposes float64, survival ...float64) Acceptance {
	a := Acceptance{Spread: spread, Proposes: proposes}
	last := 1.0
	for _, s := range survival {
		a.Rates = append(a.Rates, s/last)
		last = s
	}
	return a
}

// Workloads lists the names that Workload knows.
func Workloads() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.name)
	}
	return names
}

// Workload is how drafts of a method do on a kind of text: chat, code, summarise or
// low-overlap. The error lists them.
func Workload(name string, m Method) (Acceptance, error) {
	for _, w := range workloads() {
		if w.name != name {
			continue
		}
		switch m {
		case NGram:
			return w.lookup, nil
		case MTP:
			return w.own, nil
		}
		return w.trained, nil
	}
	return Acceptance{}, fmt.Errorf("%q is no workload: use one of %s", name, strings.Join(Workloads(), ", "))
}
