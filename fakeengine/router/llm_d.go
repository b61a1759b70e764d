package router

import (
	"fmt"

	"goodput/loadgen/rng"
)

// llmD is the scheduling profile of the llm-d router (endpoint picker of the
// Kubernetes gateway inference extension): the sum of weighted scores between 0 and
// 1, not divided by the sum of the weights; the highest wins, equals by chance.
//
//	queue   (most-w)/(most-least) of waiting requests w; all equal: 1
//	kv      1 - KV usage
//	prefix  blocks of the prompt in the index, as a share
//	active  1 without requests of this router, else (most-a)/most
//	load    0.5*(1-min(w,128)/128)
//	tokens  1-min(t,4194304)/4194304 of prompt tokens t in flight, this one's among them
//	lora    1 loaded; 0.8 a slot is free; 0.6 waiting to be loaded; 0
//	session 1 for the replica that had the session's request before; 0
//
// The default weights are those of its default profile. Stretching the queue scores
// makes a single waiting request cost as much as a whole prefix hit of two thirds.
type llmD struct {
	named
	queue, kv, prefix, active, load, tokens, lora, session float64

	bound map[uint64]int // sessions to replicas; nil: the weight is 0

	index   approximate
	precise bool
	best    best
}

var (
	_ Policy  = (*llmD)(nil)
	_ Reader  = (*llmD)(nil)
	_ Learner = (*llmD)(nil)
)

// llmDBlock is the least number of tokens of one block of the approximate index.
const llmDBlock = 64

func llmDRule() rule {
	return rule{
		Info: Info{
			Name: "llm-d",
			Help: "takes the replica with the largest sum of weighted scores (llm-d router, GIE endpoint picker)",
			Params: []Param{
				{Name: "queue", Default: "2", Help: "weight of queue-scorer"},
				{Name: "kv", Default: "2", Help: "weight of kv-cache-utilization-scorer"},
				{Name: "prefix", Default: "3", Help: "weight of prefix-cache-scorer"},
				{Name: "active", Default: "0", Help: "weight of active-request-scorer"},
				{Name: "load", Default: "0", Help: "weight of load-aware-scorer"},
				{Name: "tokens", Default: "0", Help: "weight of token-load-scorer"},
				{Name: "lora", Default: "0", Help: "weight of lora-affinity-scorer"},
				{Name: "session", Default: "0", Help: "weight of session-affinity-scorer"},
				{Name: "index", Default: "approx", Help: "what prefix looks into: approx (prompts that it sent) or precise (what engines tell of their caches)"},
				{Name: "capacity", Default: "31250", Help: fmt.Sprintf("blocks of %d tokens that approx remembers of each replica", llmDBlock)},
				{Name: "variant", Default: "upstream", Help: "upstream, with the gaps and evictions of its approximate index, or fixed"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			p := &llmD{
				queue: a.float("queue", 0, 1e6), kv: a.float("kv", 0, 1e6), prefix: a.float("prefix", 0, 1e6),
				active: a.float("active", 0, 1e6), load: a.float("load", 0, 1e6), tokens: a.float("tokens", 0, 1e6),
				lora: a.float("lora", 0, 1e6), session: a.float("session", 0, 1e6),
				precise: a.choice("index", "approx", "precise") == "precise",
				index:   approximate{most: a.int("capacity", 1, 1<<24), stride: 1, fixed: a.choice("variant", "upstream", "fixed") == "fixed"},
				best:    best{rand: rng.New(seed, "router/llm-d", 0)}, named: a.named(),
			}
			if p.session > 0 {
				p.bound = map[uint64]int{}
			}
			return p
		},
	}
}

// Reads implements Reader.
func (p *llmD) Reads() Signals {
	s := EngineLoad | PrefixHashes
	if p.precise {
		s |= EngineCache
	}
	if p.lora > 0 {
		s |= EngineAdapters
	}
	return s
}

// Pick implements Policy.
func (p *llmD) Pick(r *Request, up []Load) int {
	p.index.stride = max(1, llmDBlock/max(1, r.Block))
	var matched []int
	if !p.precise && p.prefix > 0 {
		matched = p.index.match(r, up)
	}
	least, most, busiest := up[0].Waiting, up[0].Waiting, 0
	for i := range up {
		least, most = min(least, up[i].Waiting), max(most, up[i].Waiting)
		busiest = max(busiest, up[i].Outstanding)
	}
	bound := p.home(r)
	p.best.none()
	for i := range up {
		l := &up[i]
		score := p.kv * (1 - l.KVUsed)
		score += p.queue * spread(l.Waiting, least, most)
		score += p.active * idle(l.Outstanding, busiest)
		score += p.load * 0.5 * (1 - min(float64(l.Waiting), 128)/128)
		score += p.tokens * (1 - min(float64(l.Tokens+r.InTokens), 4194304)/4194304)
		score += p.lora * loraScore(l.Adapter)
		score += p.prefix * p.share(r, l, matched, i)
		if l.ID == bound {
			score += p.session
		}
		p.best.offer(i, -score)
	}
	return p.best.at
}

// home is the replica of r's session; None: it has none.
func (p *llmD) home(r *Request) int {
	if id, ok := p.bound[r.Session]; ok && r.Session != 0 {
		return id
	}
	return None
}

// share is that of the prompt which a replica is thought to have cached.
func (p *llmD) share(r *Request, l *Load, matched []int, i int) float64 {
	if p.precise {
		return min(1, float64(l.Cached)/float64(max(1, r.InTokens)))
	}
	if n := p.index.blocks(r); n > 0 && matched != nil {
		return float64(matched[i]) / float64(n)
	}
	return 0
}

// spread is (most-v)/(most-least); 1 if all are equal.
func spread(v, least, most int) float64 {
	if most == least {
		return 1
	}
	return float64(most-v) / float64(most-least)
}

// idle is 1 for none in flight, else (most-v)/most.
func idle(v, most int) float64 {
	if v == 0 {
		return 1
	}
	return float64(most-v) / float64(most)
}

// loraScore is lora-affinity-scorer's.
func loraScore(s AdapterState) float64 {
	switch s {
	case AdapterActive:
		return 1
	case AdapterRoom:
		return 0.8
	case AdapterQueued:
		return 0.6
	}
	return 0
}

// Placed implements Learner.
func (p *llmD) Placed(r *Request, id int) {
	if !p.precise && p.prefix > 0 {
		p.index.placed(r, id)
	}
	if p.bound != nil && r.Session != 0 {
		p.bound[r.Session] = id
	}
}

// Done implements Learner.
func (p *llmD) Done(*Request, int, *End) {}
