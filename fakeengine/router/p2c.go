package router

import (
	"fmt"
	"slices"

	"goodput/loadgen/rng"
)

// maxChoices bounds p2c's d: each pick costs O(d*d), and beyond this many
// samples a full scan is the better rule.
const maxChoices = 64

// p2c samples d replicas and takes the one with the fewest requests in flight
// from this router (Mitzenmacher: The power of two choices in randomized load
// balancing, 2001). The first one drawn wins a tie, which gives equals an equal
// chance.
//
// By default the samples are distinct, as in nginx's `random two least_conn` and
// SGLang's `power_of_two`. Envoy's least-request balancer draws with replacement
// (replace=true), so that of two replicas the busier one still gets a quarter of
// the requests.
type p2c struct {
	d       int
	replace bool
	rand    rng.Stream
	drawn   []int // scratch: the distinct samples so far, ascending
}

var _ Policy = (*p2c)(nil)

func p2cRule() rule {
	return rule{
		Info: Info{
			Name: "p2c",
			Help: "samples two replicas and takes the one with fewer requests in flight (power of two choices)",
			Params: []Param{
				{Name: "d", Default: "2", Help: fmt.Sprintf("number of samples, 2 to %d", maxChoices)},
				{Name: "replace", Default: "false", Help: "true: the same replica may be sampled twice, as in Envoy"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			d := a.int("d", 2, maxChoices)
			return &p2c{
				d:       d,
				replace: a.choice("replace", "false", "true") == "true",
				rand:    rng.New(seed, "router/p2c", 0),
				drawn:   make([]int, 0, d),
			}
		},
	}
}

// Pick implements Policy.
func (p *p2c) Pick(_ *Request, up []Load) int {
	n := len(up)
	d := p.d
	if !p.replace {
		d = min(d, n)
	}
	p.drawn = p.drawn[:0]
	best := p.sample(n)
	for range d - 1 {
		if i := p.sample(n); up[i].Outstanding < up[best].Outstanding {
			best = i
		}
	}
	return best
}

// sample draws an index below n, uniform among those not drawn before, or among
// all of them if the rule draws with replacement.
func (p *p2c) sample(n int) int {
	if p.replace {
		return p.rand.IntN(n)
	}
	// The draw is a rank among the remaining indices; each smaller one that is
	// gone moves it up by one.
	i, at := p.rand.IntN(n-len(p.drawn)), 0
	for at < len(p.drawn) && p.drawn[at] <= i {
		i++
		at++
	}
	p.drawn = slices.Insert(p.drawn, at, i)
	return i
}

// String implements Policy.
func (p *p2c) String() string { return fmt.Sprintf("p2c:d=%d,replace=%t", p.d, p.replace) }
