package router

import "goodput/loadgen/rng"

// random takes any replica, each as likely as the others: floor(u*n) of a
// uniform u, as Envoy's random load balancer does.
type random struct {
	rand rng.Stream
}

var _ Policy = (*random)(nil)

func randomRule() rule {
	return rule{
		Info: Info{Name: "random", Help: "takes any replica with equal chance, blind to load"},
		build: func(_ *args, seed uint64) Policy {
			return &random{rand: rng.New(seed, "router/random", 0)}
		},
	}
}

// Pick implements Policy. IntN is floor(u*n) with u of 64 bits, made exactly
// uniform.
func (p *random) Pick(_ *Request, up []Load) int { return p.rand.IntN(len(up)) }

// String implements Policy.
func (p *random) String() string { return "random" }
