package router

import (
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// window counts events of the last so long, for each replica.
type window struct {
	length time.Duration
	of     table[[]clock.Time]
}

func (w *window) add(id int, now clock.Time) { at := w.of.at(id); *at = append(*at, now) }

// count forgets what is too old.
func (w *window) count(id int, now clock.Time) int {
	at := w.of.at(id)
	old := 0
	for old < len(*at) && now.Sub((*at)[old]) > w.length {
		old++
	}
	if old > 0 {
		*at = append((*at)[:0], (*at)[old:]...)
	}
	return len(*at)
}

// stackQPS is the fallback of the vLLM production stack: the first replica that got
// no request in the last minute takes it at once, otherwise the one that got the
// fewest. It looks at arrivals and not at what is in flight.
type stackQPS struct {
	named
	arrivals window
}

var (
	_ Policy  = (*stackQPS)(nil)
	_ Learner = (*stackQPS)(nil)
)

func stackQPSRule() rule {
	return rule{
		Info: Info{
			Name:   "production-stack-qps",
			Help:   "takes the replica that got the fewest requests lately (vLLM production stack's fallback)",
			Params: []Param{{Name: "window", Default: "1m", Help: "how long arrivals count"}},
		},
		build: func(a *args, _ uint64) Policy {
			return &stackQPS{arrivals: window{length: a.duration("window", time.Second, time.Hour)}, named: a.named()}
		},
	}
}

// Pick implements Policy.
func (p *stackQPS) Pick(r *Request, up []Load) int { return fewestArrivals(&p.arrivals, r, up) }

func fewestArrivals(w *window, r *Request, up []Load) int {
	best, least := 0, -1
	for i := range up {
		n := w.count(up[i].ID, r.At)
		if n == 0 {
			return i
		}
		if least < 0 || n < least {
			best, least = i, n
		}
	}
	return best
}

// Placed implements Learner.
func (p *stackQPS) Placed(r *Request, id int) { p.arrivals.add(id, r.At) }

// Done implements Learner.
func (p *stackQPS) Done(*Request, int, *End) {}

// stackPrefix is the production stack's `prefixaware`: the longest known beginning of
// the prompt, in chunks of 128 characters (32 tokens here), among the replicas that
// are up; any of the replicas that had it. If less than min-match tokens match, the
// rule of production-stack-qps. With the default of 0 a complete miss is random over
// all replicas, never by load; the trie is never evicted.
type stackPrefix struct {
	named
	minMatch int
	trie     tree
	arrivals window
	rand     rng.Stream
	found    []int // scratch
}

var (
	_ Policy  = (*stackPrefix)(nil)
	_ Reader  = (*stackPrefix)(nil)
	_ Learner = (*stackPrefix)(nil)
)

func stackPrefixRule() rule {
	return rule{
		Info: Info{
			Name:   "production-stack-prefixaware",
			Help:   "follows the longest known prefix, blind to load (vLLM production stack)",
			Params: []Param{{Name: "min-match", Default: "0", Help: "tokens that must match; below them the rule of production-stack-qps"}},
		},
		build: func(a *args, seed uint64) Policy {
			return &stackPrefix{
				minMatch: a.int("min-match", 0, 1<<24), arrivals: window{length: time.Minute},
				rand: rng.New(seed, "router/production-stack-prefixaware", 0), named: a.named(),
			}
		},
	}
}

// Reads implements Reader.
func (p *stackPrefix) Reads() Signals { return PrefixHashes }

// Pick implements Policy.
func (p *stackPrefix) Pick(r *Request, up []Load) int {
	p.found = p.found[:0]
	blocks := 0
	for _, hash := range r.Prefix {
		n := p.trie.nodes[hash]
		if n == nil || !p.within(n, up) {
			break
		}
		blocks++
	}
	i := 0
	switch {
	case blocks*r.Block < p.minMatch:
		i = fewestArrivals(&p.arrivals, r, up)
	case blocks == 0:
		i = anyOf(&p.rand, up)
	default:
		i = p.found[p.rand.IntN(len(p.found))]
	}
	p.trie.insert(r.Prefix, up[i].ID)
	return i
}

// within makes found the replicas of up that have the node, and reports whether there
// are any; if not found stays.
func (p *stackPrefix) within(n *treeNode, up []Load) bool {
	any := false
	for _, t := range n.tenants {
		i := indexOf(up, int(t.id))
		if i < 0 {
			continue
		}
		if !any {
			p.found = p.found[:0]
		}
		any = true
		p.found = append(p.found, i)
	}
	return any
}

// Placed implements Learner.
func (p *stackPrefix) Placed(r *Request, id int) { p.arrivals.add(id, r.At) }

// Done implements Learner.
func (p *stackPrefix) Done(*Request, int, *End) {}
