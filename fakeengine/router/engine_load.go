package router

import "goodput/loadgen/rng"

// byEngine takes the replica with the least cost by what engines report.
type byEngine struct {
	named
	best best
	cost func(l *Load) float64
}

var (
	_ Policy = (*byEngine)(nil)
	_ Reader = (*byEngine)(nil)
)

// Reads implements Reader.
func (p *byEngine) Reads() Signals { return EngineLoad }

// Pick implements Policy.
func (p *byEngine) Pick(_ *Request, up []Load) int {
	p.best.none()
	for i := range up {
		p.best.offer(i, p.cost(&up[i]))
	}
	return p.best.at
}

// leastKVRule is AIBrix's `least-kv-cache` and llm-d's kv-cache-utilization-scorer
// alone. Requests that wait hold no blocks, so it piles them onto whoever has just
// drained.
func leastKVRule() rule {
	return rule{
		Info: Info{Name: "least-kv", Help: "takes the replica with the least KV cache in use (AIBrix least-kv-cache); sees no queue"},
		build: func(a *args, seed uint64) Policy {
			return &byEngine{
				best: best{rand: rng.New(seed, "router/least-kv", 0)}, named: a.named(),
				cost: func(l *Load) float64 { return l.KVUsed },
			}
		},
	}
}

// kvQueueRule adds up what engines report. With waiting=4, running=1, kv=0 it is
// vLLM's balancer of data-parallel ranks; own adds the router's requests since the
// report, which corrects a stale one.
func kvQueueRule() rule {
	return rule{
		Info: Info{
			Name: "kv-queue",
			Help: "takes the replica with the least weighted sum of queue and KV use, as engines report them",
			Params: []Param{
				{Name: "waiting", Default: "1", Help: "weight of a waiting request"},
				{Name: "running", Default: "0", Help: "weight of a running request"},
				{Name: "kv", Default: "10", Help: "weight of a full KV cache"},
				{Name: "own", Default: "0", Help: "weight of a request sent since the report"},
				{Name: "tie", Default: "rand", Help: "among equals: rand (equal chance) or first"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			w, r, kv, own := a.float("waiting", 0, 1e6), a.float("running", 0, 1e6), a.float("kv", 0, 1e6), a.float("own", 0, 1e6)
			return &byEngine{
				best:  best{rand: rng.New(seed, "router/kv-queue", 0), first: a.choice("tie", "rand", "first") == "first"},
				named: a.named(),
				cost: func(l *Load) float64 {
					return w*float64(l.Waiting) + r*float64(l.Running) + kv*l.KVUsed + own*float64(l.Since)
				},
			}
		},
	}
}

// leastReportedRule looks at requests in engines as reported, which are stale: many
// routers that do so herd. It is what "least outstanding" becomes when routers share
// scraped counts.
func leastReportedRule() rule {
	return rule{
		Info: Info{
			Name: "least-reported",
			Help: "takes the replica that reported the fewest requests; own=1 adds those sent since",
			Params: []Param{
				{Name: "own", Default: "0", Help: "weight of a request that this router sent since the report"},
				{Name: "d", Default: "0", Help: "samples to compare; 0: all replicas"},
				{Name: "tie", Default: "rand", Help: "among equals: rand (equal chance) or first"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &leastReported{
				own: a.float("own", 0, 1e6), d: a.int("d", 0, maxChoices), named: a.named(),
				best: best{rand: rng.New(seed, "router/least-reported", 0), first: a.choice("tie", "rand", "first") == "first"},
				rand: rng.New(seed, "router/least-reported/samples", 0),
			}
		},
	}
}

// leastReported implements leastReportedRule.
type leastReported struct {
	named
	own  float64
	d    int
	best best
	rand rng.Stream
}

var (
	_ Policy = (*leastReported)(nil)
	_ Reader = (*leastReported)(nil)
)

// Reads implements Reader.
func (p *leastReported) Reads() Signals { return EngineLoad }

// Pick implements Policy.
func (p *leastReported) Pick(_ *Request, up []Load) int {
	cost := func(l *Load) float64 { return float64(l.Waiting+l.Running) + p.own*float64(l.Since) }
	p.best.none()
	if p.d == 0 {
		for i := range up {
			p.best.offer(i, cost(&up[i]))
		}
		return p.best.at
	}
	for range p.d {
		i := p.rand.IntN(len(up))
		p.best.offer(i, cost(&up[i]))
	}
	return p.best.at
}
