package router

import "goodput/loadgen/rng"

// maglev sends requests with the same key to the same replica by a table: each
// replica has a permutation of its places, and replicas in turn claim their next free
// one (Eisenbud and others, "Maglev: A Fast and Reliable Software Network Load
// Balancer", 2016). A pick is one look-up; when a replica leaves, about twice as many
// keys move as on a ring. Envoy's table has 65,537 places.
type maglev struct {
	named
	keyer
	size  uint64
	ids   []int   // that the table was built for
	table []int32 // index into ids
	rand  rng.Stream
}

var (
	_ Policy = (*maglev)(nil)
	_ Reader = (*maglev)(nil)
)

func maglevRule() rule {
	return rule{
		Info: Info{
			Name: "maglev",
			Help: "keeps each key on one replica by Maglev's table, blind to load",
			Params: append(keyParams("session"),
				Param{Name: "size", Default: "65537", Help: "places of the table: a prime of 5003, 65537 or 655373"}),
		},
		build: func(a *args, seed uint64) Policy {
			size := map[string]uint64{"5003": 5003, "65537": 65537, "655373": 655373}[a.choice("size", "5003", "65537", "655373")]
			return &maglev{keyer: newKeyer(a), size: max(size, 5003), rand: rng.New(seed, "router/maglev", 0), named: a.named()}
		},
	}
}

// Pick implements Policy.
func (p *maglev) Pick(r *Request, up []Load) int {
	key, ok := p.keyer.of(r)
	if !ok {
		return anyOf(&p.rand, up)
	}
	if !p.built(up) {
		p.ids = p.ids[:0]
		for i := range up {
			p.ids = append(p.ids, up[i].ID)
		}
		p.table = maglevTable(p.table, p.size, len(up), func(i int) (offset, skip uint64) {
			id := mix(uint64(p.ids[i]) + 1)
			return id % p.size, mix(id)%(p.size-1) + 1
		})
	}
	return int(p.table[key%p.size])
}

func (p *maglev) built(up []Load) bool {
	if len(up) != len(p.ids) {
		return false
	}
	for i := range up {
		if up[i].ID != p.ids[i] {
			return false
		}
	}
	return true
}

// maglevTable fills size places with n replicas, of which permutation gives offset
// and skip; size is prime.
func maglevTable(dst []int32, size uint64, n int, permutation func(i int) (offset, skip uint64)) []int32 {
	dst = dst[:0]
	for range size {
		dst = append(dst, -1)
	}
	next := make([]uint64, n)
	for filled := uint64(0); ; {
		for i := range n {
			offset, skip := permutation(i)
			at := (offset + next[i]*skip) % size
			for dst[at] >= 0 {
				next[i]++
				at = (offset + next[i]*skip) % size
			}
			dst[at] = int32(i)
			next[i]++
			if filled++; filled == size {
				return dst
			}
		}
	}
}
