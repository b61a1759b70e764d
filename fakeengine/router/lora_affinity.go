package router

import "goodput/loadgen/rng"

// loraAffinity prefers replicas that have the request's adapter loaded, then those
// with a free slot, then those that wait to load it (llm-d's lora-affinity-scorer);
// among equals the one with the fewest requests in flight. A popular adapter makes a
// hot spot: affinity is all or nothing.
type loraAffinity struct {
	named
	best best
}

var (
	_ Policy = (*loraAffinity)(nil)
	_ Reader = (*loraAffinity)(nil)
)

func loraAffinityRule() rule {
	return rule{
		Info: Info{Name: "lora-affinity", Help: "prefers replicas that have the request's LoRA adapter, then few requests in flight"},
		build: func(a *args, seed uint64) Policy {
			return &loraAffinity{best: best{rand: rng.New(seed, "router/lora-affinity", 0)}, named: a.named()}
		},
	}
}

// Reads implements Reader.
func (p *loraAffinity) Reads() Signals { return EngineAdapters }

// Pick implements Policy.
func (p *loraAffinity) Pick(_ *Request, up []Load) int {
	p.best.none()
	for i := range up {
		p.best.offer(i, float64(up[i].Outstanding)-1e9*loraScore(up[i].Adapter))
	}
	return p.best.at
}
