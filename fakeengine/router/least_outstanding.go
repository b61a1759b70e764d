package router

import "goodput/loadgen/rng"

// leastOutstanding takes the replica with the fewest requests in flight from
// this router. Among equals it draws one with equal chance (tie=rand) or takes
// the one with the lowest index (tie=first).
//
// It is the rule of nginx's least_conn at equal weights, of AIBrix's
// `least-request` and of NVIDIA Dynamo's `least-loaded`; they differ in ties.
type leastOutstanding struct {
	first bool
	rand  rng.Stream
}

var _ Policy = (*leastOutstanding)(nil)

func leastOutstandingRule() rule {
	return rule{
		Info: Info{
			Name: "least-outstanding",
			Help: "takes the replica with the fewest requests in flight",
			Params: []Param{
				{Name: "tie", Default: "rand", Help: "among equals: rand (equal chance) or first (lowest index)"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &leastOutstanding{
				first: a.choice("tie", "rand", "first") == "first",
				rand:  rng.New(seed, "router/least-outstanding", 0),
			}
		},
	}
}

// Pick implements Policy. It draws once if there is a tie, and never otherwise.
func (p *leastOutstanding) Pick(_ *Request, up []Load) int {
	best, equals := 0, 1
	for i := 1; i < len(up); i++ {
		switch a, b := up[i].Outstanding, up[best].Outstanding; {
		case a < b:
			best, equals = i, 1
		case a == b:
			equals++
		}
	}
	if equals == 1 || p.first {
		return best
	}
	least := up[best].Outstanding
	for skip := p.rand.IntN(equals); skip > 0; skip-- {
		for best++; up[best].Outstanding != least; best++ {
		}
	}
	return best
}

// String implements Policy.
func (p *leastOutstanding) String() string {
	if p.first {
		return "least-outstanding:tie=first"
	}
	return "least-outstanding:tie=rand"
}
