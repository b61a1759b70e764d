package router

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// litellmShuffle is LiteLLM's default, `simple-shuffle`: a draw in proportion to
// weights. With its weighted failover a request that a replica refuses (429, 5xx) is drawn
// for again among the others, so many times at most (max_fallbacks is 5 there).
type litellmShuffle struct {
	named
	weights  []float64
	failover int
	rand     rng.Stream
	left     []Load // scratch
}

var (
	_ Policy   = (*litellmShuffle)(nil)
	_ Failover = (*litellmShuffle)(nil)
)

func litellmShuffleRule() rule {
	return rule{
		Info: Info{
			Name: "litellm-simple-shuffle",
			Help: "draws a replica in proportion to weights (LiteLLM's default)",
			Params: []Param{
				{Name: "weights", Default: "1", Help: "weight, rpm or tpm of each replica, such as 9/1"},
				{Name: "failover", Default: "0", Help: "how often a request that is refused is drawn for again, among the other replicas"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &litellmShuffle{
				weights: a.floats("weights", 0.001, 1e9), failover: a.int("failover", 0, 100),
				rand: rng.New(seed, "router/litellm-simple-shuffle", 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *litellmShuffle) Pick(r *Request, up []Load) int {
	if len(r.Refused) == 0 {
		return drawWeighted(&p.rand, p.weights, up)
	}
	p.left = p.left[:0]
	for _, l := range up {
		if !slices.Contains(r.Refused, l.ID) {
			p.left = append(p.left, l)
		}
	}
	if len(p.left) == 0 {
		return None
	}
	return indexOf(up, p.left[drawWeighted(&p.rand, p.weights, p.left)].ID)
}

// Again implements Failover.
func (p *litellmShuffle) Again(r *Request, _, status int) bool {
	return len(r.Refused) < p.failover && (status == 429 || status >= 500)
}

func drawWeighted(s *rng.Stream, weights []float64, up []Load) int {
	sum := 0.0
	for i := range up {
		sum += of(weights, up[i].ID)
	}
	u := s.Float64() * sum
	for i := range up {
		if u -= of(weights, up[i].ID); u < 0 {
			return i
		}
	}
	return len(up) - 1
}

// litellmLatency is LiteLLM's `latency-based-routing`: the mean of up to ten samples
// of seconds per completion token, 0 for a replica without any, which is so explored
// first; any of those within buffer of the lowest. A failure by time-out counts as
// 1000. Upstream a full list keeps its oldest nine samples and overwrites the last;
// fixed keeps the newest ten.
type litellmLatency struct {
	named
	buffer float64
	fixed  bool
	state  table[litellmSamples]
	rand   rng.Stream
	near   []int // scratch
}

type litellmSamples struct {
	values [10]float64
	n      int
}

var (
	_ Policy  = (*litellmLatency)(nil)
	_ Learner = (*litellmLatency)(nil)
)

func litellmLatencyRule() rule {
	return rule{
		Info: Info{
			Name: "litellm-latency",
			Help: "takes a replica with about the lowest time per token (LiteLLM latency-based-routing)",
			Params: []Param{
				{Name: "buffer", Default: "0", Help: "how far above the lowest still counts, as a share of it"},
				{Name: "variant", Default: "upstream", Help: "upstream, which keeps the oldest samples, or fixed"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &litellmLatency{
				buffer: a.float("buffer", 0, 100), fixed: a.choice("variant", "upstream", "fixed") == "fixed",
				rand: rng.New(seed, "router/litellm-latency", 0), named: a.named(),
			}
		},
	}
}

// add keeps a sample.
func (s *litellmSamples) add(v float64, fixed bool) {
	switch {
	case s.n < len(s.values):
		s.values[s.n] = v
		s.n++
	case fixed:
		copy(s.values[:], s.values[1:])
		s.values[len(s.values)-1] = v
	default:
		s.values[len(s.values)-1] = v
	}
}

func (s *litellmSamples) mean() float64 {
	sum := 0.0
	for _, v := range s.values[:s.n] {
		sum += v
	}
	return sum / float64(max(1, s.n))
}

// Pick implements Policy.
func (p *litellmLatency) Pick(_ *Request, up []Load) int {
	lowest := p.state.at(up[0].ID).mean()
	for i := range up {
		lowest = min(lowest, p.state.at(up[i].ID).mean())
	}
	p.near = p.near[:0]
	for i := range up {
		if p.state.at(up[i].ID).mean() <= lowest*(1+p.buffer) {
			p.near = append(p.near, i)
		}
	}
	return p.near[p.rand.IntN(len(p.near))]
}

// Placed implements Learner.
func (p *litellmLatency) Placed(*Request, int) {}

// Done implements Learner.
func (p *litellmLatency) Done(r *Request, id int, e *End) {
	const afterFailure = 1000
	v := float64(afterFailure)
	if !e.Failed() {
		v = e.At.Sub(r.At).Seconds() / float64(max(1, e.Out))
	}
	p.state.at(id).add(v, p.fixed)
}

// litellmUsage is LiteLLM's `usage-based-routing-v2`: the replica with the fewest
// tokens in this minute of the clock among those that stay within the limit; equals
// by chance. Tokens are charged when a request ends, so that a burst sees one
// minimum. If no replica stays within the limit the request is refused.
type litellmUsage struct {
	named
	limit  float64
	minute int64
	used   table[int]
	best   best
}

var (
	_ Policy  = (*litellmUsage)(nil)
	_ Learner = (*litellmUsage)(nil)
)

func litellmUsageRule() rule {
	return rule{
		Info: Info{
			Name:   "litellm-usage",
			Help:   "takes the replica with the fewest tokens in this minute (LiteLLM usage-based-routing-v2)",
			Params: []Param{{Name: "tpm", Default: "1e12", Help: "tokens a minute that a replica may have; requests beyond it are refused"}},
		},
		build: func(a *args, seed uint64) Policy {
			return &litellmUsage{limit: a.float("tpm", 1, 1e15), best: best{rand: rng.New(seed, "router/litellm-usage", 0)}, named: a.named()}
		},
	}
}

// turn starts a minute anew.
func (p *litellmUsage) turn(now clock.Time) {
	if m := int64(now) / int64(time.Minute); m != p.minute {
		p.minute = m
		clear(p.used)
	}
}

// Pick implements Policy.
func (p *litellmUsage) Pick(r *Request, up []Load) int {
	p.turn(r.At)
	p.best.none()
	for i := range up {
		if used := *p.used.at(up[i].ID); float64(used+r.InTokens) <= p.limit {
			p.best.offer(i, float64(used))
		}
	}
	if p.best.equals == 0 {
		return None
	}
	return p.best.at
}

// Placed implements Learner.
func (p *litellmUsage) Placed(*Request, int) {}

// Done implements Learner.
func (p *litellmUsage) Done(r *Request, id int, e *End) {
	p.turn(e.At)
	if !e.Failed() {
		*p.used.at(id) += r.InTokens + e.Out
	}
}

// litellmCost is LiteLLM's `cost-based-routing`: the lowest price, the first of
// equals. Upstream a price of 0 is taken for none, and none for 5 a token, so that a
// free model becomes the dearest.
type litellmCost struct {
	named
	prices []float64
	fixed  bool
}

var _ Policy = (*litellmCost)(nil)

func litellmCostRule() rule {
	return rule{
		Info: Info{
			Name: "litellm-cost",
			Help: "takes the cheapest replica (LiteLLM cost-based-routing)",
			Params: []Param{
				{Name: "prices", Default: "1", Help: "price of a token of each replica, such as 0.5/1"},
				{Name: "variant", Default: "upstream", Help: "upstream, which takes a price of 0 for 10, or fixed"},
			},
		},
		build: func(a *args, _ uint64) Policy {
			return &litellmCost{prices: a.floats("prices", 0, 1e6), fixed: a.choice("variant", "upstream", "fixed") == "fixed", named: a.named()}
		},
	}
}

// Pick implements Policy.
func (p *litellmCost) Pick(_ *Request, up []Load) int {
	const unknown = 10 // 5 for an input and 5 for an output token
	best, least := 0, -1.0
	for i := range up {
		price := of(p.prices, up[i].ID)
		if price == 0 && !p.fixed {
			price = unknown
		}
		if least < 0 || price < least {
			best, least = i, price
		}
	}
	return best
}
