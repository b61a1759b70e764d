package router

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// cacheAware is SGLang's `cache_aware`. If requests in flight are imbalanced (most -
// least > abs and most > rel*least) the least loaded replica takes the request.
// Otherwise the prompt is looked up in a tree of all prompts: if more than threshold
// of it is known, a replica that had its longest known beginning takes it, else the
// least loaded one. In both cases the prompt is put into the tree. The tree never
// hears what engines evict; every evict seconds each replica's oldest leaves are
// dropped beyond max tokens.
//
// The defaults are those of its binary and Python launcher; its library's own are
// threshold=0.5,abs=32,rel=1.1,evict=30s,max=2500. Its tree is one of characters,
// this one of KV blocks, at 4 characters a token.
type cacheAware struct {
	named
	threshold, rel float64
	abs, most      int
	evict          time.Duration
	tree           tree
	evicted        clock.Time
	best           best
}

var (
	_ Policy = (*cacheAware)(nil)
	_ Reader = (*cacheAware)(nil)
)

func cacheAwareRule() rule {
	return rule{
		Info: Info{
			Name: "cache-aware",
			Help: "follows the longest known prefix unless load is imbalanced (SGLang cache_aware; its library: threshold=0.5,abs=32,rel=1.1,evict=30s,max=2500)",
			Params: []Param{
				{Name: "threshold", Default: "0.3", Help: "share of the prompt that must be known"},
				{Name: "abs", Default: "64", Help: "imbalanced if most - least in flight is above this,"},
				{Name: "rel", Default: "1.5", Help: "and most is above so many times least"},
				{Name: "evict", Default: "2m", Help: "time between evictions from the tree"},
				{Name: "max", Default: "16777216", Help: "tokens of a replica that an eviction leaves"},
				{Name: "tie", Default: "rand", Help: "among the least loaded: rand, or first as before July 2026"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &cacheAware{
				threshold: a.float("threshold", 0, 1), rel: a.float("rel", 1, 1000), abs: a.int("abs", 0, 1<<20),
				most: a.int("max", 1, 1<<40), evict: a.duration("evict", time.Second, 24*time.Hour),
				best:  best{rand: rng.New(seed, "router/cache-aware", 0), first: a.choice("tie", "rand", "first") == "first"},
				named: a.named(),
			}
		},
	}
}

// Reads implements Reader.
func (p *cacheAware) Reads() Signals { return PrefixHashes }

// Pick implements Policy.
func (p *cacheAware) Pick(r *Request, up []Load) int {
	if r.At.Sub(p.evicted) >= p.evict {
		p.evicted = r.At
		for i := range up {
			p.tree.evict(up[i].ID, p.most/max(1, r.Block))
		}
	}
	i := p.choose(r, up)
	p.tree.insert(r.Prefix, up[i].ID)
	return i
}

func (p *cacheAware) choose(r *Request, up []Load) int {
	if imbalanced(up, p.abs, p.rel) {
		return p.best.leastOut(up)
	}
	blocks, n := p.tree.match(r.Prefix)
	if n == nil || !(float64(blocks*r.Block) > p.threshold*float64(r.InTokens)) {
		return p.best.leastOut(up)
	}
	// The tenant that the node returned last if it is still there, else the first.
	at := max(0, n.find(int(n.last)))
	if len(n.tenants) > 0 {
		n.last = n.tenants[at].id
		if i := indexOf(up, int(n.last)); i >= 0 {
			return i
		}
	}
	if at := slices.IndexFunc(n.tenants, func(t tenant) bool { return indexOf(up, int(t.id)) >= 0 }); at >= 0 {
		return indexOf(up, int(n.tenants[at].id))
	}
	return 0 // upstream: the first healthy one, not the least loaded
}

// imbalanced compares requests in flight.
func imbalanced(up []Load, abs int, rel float64) bool {
	least, most, _ := extent(up)
	return most-least > abs && float64(most) > rel*float64(least)
}
