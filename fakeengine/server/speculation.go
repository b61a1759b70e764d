package server

import (
	"strconv"

	"goodput/fakeengine/engine"
)

// speculation writes the counters of speculative decoding, which vLLM has only
// if it speculates (R30). The acceptance rate is accepted by draft tokens, and the
// acceptance length 1 + accepted by drafts.
func (x *exposition) speculation(replicas []snapshot) {
	if x.drafts == 0 {
		return
	}
	type st = engine.Speculated
	for _, m := range [...]struct {
		name, help string
		value      func(*st) int64
	}{
		{"vllm:spec_decode_num_drafts_total", "Verifications of drafts.", func(s *st) int64 { return s.Drafts }},
		{"vllm:spec_decode_num_draft_tokens_total", "Tokens drafted and verified.", func(s *st) int64 { return s.DraftTokens }},
		{"vllm:spec_decode_num_accepted_tokens_total", "Drafted tokens that were accepted.", func(s *st) int64 { return s.Accepted }},
	} {
		x.family(m.name, "counter", m.help)
		for i := range replicas {
			x.sample(m.name, &replicas[i], float64(m.value(&replicas[i].speculated)))
		}
		x.created(m.name, m.help, replicas)
	}
	const name, help = "vllm:spec_decode_num_accepted_tokens_per_pos_total", "Drafted tokens that were accepted, by position in the draft."
	x.family(name, "counter", help)
	for i := range replicas {
		for pos, n := range replicas[i].speculated.AcceptedAt[:x.drafts] {
			x.sample(name, &replicas[i], float64(n), "position", strconv.Itoa(pos))
		}
	}
	positions := []string{"position"}
	for pos := range x.drafts {
		positions = append(positions, strconv.Itoa(pos))
	}
	x.created(name, help, replicas, positions...)
}
