package cli

import (
	"fmt"
	"math"
	"time"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/router"
	"goodput/loadgen/plan"
)

// answering is the number of replicas that make answers.
func answering(p *plan.Plan) int {
	if p.Split() {
		return p.DecodeReplicas
	}
	return p.Replicas
}

// newPrefill is the prefill side of the plan; nil: there is none.
func newPrefill(p *plan.Plan, setup *engineSetup) (*disagg.Config, error) {
	if !p.Split() {
		return nil, nil
	}
	flag, rule := "prefill-router", p.PrefillRouter
	if rule == "" {
		flag, rule = "router", p.Router
	}
	// Another seed, so that the two rules do not draw the same chance.
	policy, err := router.New(rule, p.Chance()+1)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return &disagg.Config{
		Replicas: p.PrefillReplicas, Policy: policy, MaxLocalPrefill: p.MaxLocalPrefill, Link: setup.kv,
	}, nil
}

// link is what joins two engines; the zero value if the plan joins none.
func (h *hardware) link(p *plan.Plan) (disagg.Link, error) {
	if !p.Split() {
		return disagg.Link{}, nil
	}
	l, err := h.gpu.Link(p.KVTransferLink)
	if err != nil {
		return disagg.Link{}, fmt.Errorf("--kv-transfer-link: %w", err)
	}
	out := disagg.Link{
		BytesPerToken: h.model.KVBytesPerToken(h.tp),
		Bandwidth:     int64(l.Bandwidth.Value),
		Latency:       time.Duration(math.Round(l.Latency.Value * 1e9)),
	}
	if p.KVTransferBandwidth > 0 {
		out.Bandwidth = int64(math.Round(p.KVTransferBandwidth * 1e9))
	}
	if p.KVTransferLatency > 0 {
		out.Latency = p.KVTransferLatency
	}
	return out, nil
}

// splitText says for people who computes prompts; empty: everybody.
func splitText(p *plan.Plan, setup *engineSetup) string {
	if !p.Split() {
		return ""
	}
	rule := p.PrefillRouter
	if rule == "" {
		rule = p.Router
	}
	return fmt.Sprintf("; %d for prefill (router %s), %d for decode, KV over %s at %.4g GB/s after %v",
		p.PrefillReplicas, rule, p.DecodeReplicas, p.KVTransferLink, float64(setup.kv.Bandwidth)/1e9, setup.kv.Latency)
}
