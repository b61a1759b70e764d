package router

import (
	"math"

	"goodput/loadgen/rng"
)

// boundedHash is a hash ring whose replicas take at most ceil(load*(total+1)/n)
// requests at once; the next replica on the ring takes what is beyond (Mirrokni,
// Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016).
//
// HAProxy's hash-balance-factor is the same rule at equal weights but for how it
// rounds; Envoy's hash_balance_factor jumps at random instead of walking the ring.
type boundedHash struct {
	named
	keyer
	ring ring
	load float64
	rand rng.Stream
}

var (
	_ Policy = (*boundedHash)(nil)
	_ Reader = (*boundedHash)(nil)
)

func boundedHashRule() rule {
	return rule{
		Info: Info{
			Name: "bounded-hash",
			Help: "keeps each key on one replica by a hash ring, up to a bound on its share of the load",
			Params: append(keyParams("prefix"),
				Param{Name: "points", Default: "150", Help: "points of each replica on the ring"},
				Param{Name: "load", Default: "1.25", Help: "most requests in flight, as a multiple of the mean"}),
		},
		build: func(a *args, seed uint64) Policy {
			return &boundedHash{
				keyer: newKeyer(a), ring: ring{points: a.int("points", 1, 1<<12)}, load: a.float("load", 1.01, 100),
				rand: rng.New(seed, "router/bounded-hash", 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *boundedHash) Pick(r *Request, up []Load) int {
	key, ok := p.keyer.of(r)
	if !ok {
		return anyOf(&p.rand, up)
	}
	most := bound(up, p.load)
	p.ring.cover(up)
	for at := p.ring.behind(key); ; at = p.ring.next(at) {
		if i := indexOf(up, p.ring.of[at].replica); i >= 0 && up[i].Outstanding < most {
			return i // there is one: the mean is below the bound
		}
	}
}

// bound is the most requests that a replica may have, the one that is being placed
// among them.
func bound(up []Load, load float64) int {
	total := 0
	for i := range up {
		total += up[i].Outstanding
	}
	return int(math.Ceil(load * float64(total+1) / float64(len(up))))
}
