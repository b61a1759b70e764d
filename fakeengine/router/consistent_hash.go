package router

import "goodput/loadgen/rng"

// consistentHash sends requests with the same key to the same replica: by a ring on
// which each replica has some points. The owner of a key is that of the first point
// at or behind it (pick=clockwise: the usual ring, as SGLang's `consistent_hashing`
// with 150 points and vLLM's router with 160), or of the nearest point on either side
// (pick=nearest: HAProxy's `hash-type consistent`). A request without a key goes to
// any replica.
type consistentHash struct {
	named
	keyer
	ring    ring
	nearest bool
	rand    rng.Stream
}

var (
	_ Policy = (*consistentHash)(nil)
	_ Reader = (*consistentHash)(nil)
)

func consistentHashRule() rule {
	return rule{
		Info: Info{
			Name: "consistent-hash",
			Help: "keeps each key on one replica by a hash ring, blind to load",
			Params: append(keyParams("session"),
				Param{Name: "points", Default: "150", Help: "points of each replica on the ring"},
				Param{Name: "pick", Default: "clockwise", Help: "clockwise (the next point) or nearest (HAProxy)"}),
		},
		build: func(a *args, seed uint64) Policy {
			return &consistentHash{
				keyer: newKeyer(a), ring: ring{points: a.int("points", 1, 1<<12)},
				nearest: a.choice("pick", "clockwise", "nearest") == "nearest",
				rand:    rng.New(seed, "router/consistent-hash", 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *consistentHash) Pick(r *Request, up []Load) int {
	key, ok := p.keyer.of(r)
	switch {
	case !ok:
		return anyOf(&p.rand, up)
	case p.nearest:
		return p.ring.nearest(key, up)
	}
	return p.ring.clockwise(key, up)
}
