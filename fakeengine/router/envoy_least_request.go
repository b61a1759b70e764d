package router

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// envoyLeastRequest is Envoy's least-request balancer. With equal weights it draws
// `choices` replicas, with replacement, and takes the one with the fewest requests in
// flight. With unequal weights it schedules by deadlines with the weights
// weight/(requests+1)^bias, which is a share and not a search for the least loaded.
//
// A replica that joined less than slow-start ago has its weight multiplied by
// max(10 %, (age/slow-start)^(1/aggression)).
type envoyLeastRequest struct {
	named
	weights    []float64
	equal      bool
	bias       float64
	choices    int
	window     time.Duration
	aggression float64
	joined     table[clock.Time]
	known      int // replicas that joined
	last       clock.Time
	up         []Load // of the pick under way
	edf        edf
	rand       rng.Stream
	weigh      func(id int) float64
}

var _ Policy = (*envoyLeastRequest)(nil)

func envoyLeastRequestRule() rule {
	return rule{
		Info: Info{
			Name: "envoy-least-request",
			Help: "samples replicas, or with weights schedules them by weight/(requests+1)^bias (Envoy)",
			Params: []Param{
				{Name: "weights", Default: "1", Help: "weight of each replica, such as 5/1/1"},
				{Name: "bias", Default: "1", Help: "active_request_bias: how much requests in flight count with unequal weights; 0: not"},
				{Name: "choices", Default: "2", Help: "choice_count: samples with equal weights"},
				{Name: "slow-start", Default: "0s", Help: "time over which a replica that joins is brought up to its weight; 0s: none"},
				{Name: "aggression", Default: "1", Help: "above 1 a joining replica gets more at first"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			p := &envoyLeastRequest{
				weights: a.floats("weights", 0.001, 1e6), bias: a.float("bias", 0, 10), choices: a.int("choices", 2, maxChoices),
				window: a.duration("slow-start", 0, time.Hour), aggression: a.float("aggression", 0.01, 100),
				rand: rng.New(seed, "router/envoy-least-request", 0), named: a.named(),
			}
			p.equal = p.window == 0
			for _, w := range p.weights {
				p.equal = p.equal && w == p.weights[0]
			}
			p.weigh = p.weight
			return p
		},
	}
}

// Pick implements Policy.
func (p *envoyLeastRequest) Pick(r *Request, up []Load) int {
	if p.equal {
		best := p.rand.IntN(len(up))
		for range p.choices - 1 {
			if i := p.rand.IntN(len(up)); up[i].Outstanding < up[best].Outstanding {
				best = i
			}
		}
		return best
	}
	p.join(r.At, up)
	p.last, p.up = r.At, up
	p.edf.sync(up, p.weigh)
	return indexOf(up, p.edf.next(p.weigh))
}

// join notes when replicas were first seen. Those of the first pick are not new.
func (p *envoyLeastRequest) join(now clock.Time, up []Load) {
	for i := range up {
		if id := up[i].ID; id >= p.known {
			at := p.joined.at(id)
			if *at = now; p.known == 0 {
				*at = now.Add(-p.window)
			}
		}
	}
	p.known = max(p.known, up[len(up)-1].ID+1)
}

// weight of a replica for its next turn.
func (p *envoyLeastRequest) weight(id int) float64 {
	w := of(p.weights, id)
	if i := indexOf(p.up, id); i >= 0 {
		w /= math.Pow(float64(p.up[i].Outstanding+1), p.bias)
	}
	return w * slowStart(p.last.Sub(*p.joined.at(id)), p.window, p.aggression)
}

// slowStart is the share of its weight that a replica of an age has.
func slowStart(age, window time.Duration, aggression float64) float64 {
	if window <= 0 || age >= window {
		return 1
	}
	return max(0.1, math.Pow(max(age.Seconds(), 1)/window.Seconds(), 1/aggression))
}
