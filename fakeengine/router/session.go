package router

import (
	"cmp"
	"fmt"
	"slices"
)

// session sends the requests of one conversation to one replica, by consistent
// hashing: each replica has points on a ring of 64-bit numbers, and a session goes to
// the owner of the first point at or behind its own hash, wrapping around. A replica
// more or less moves one session in n. Requests without a session go round-robin.
//
// It is the `session` rule of the vLLM production stack and, with 160 points, the
// consistent hash of vLLM's own router; the production stack's fallback is the
// replica with the fewest requests per second.
type session struct {
	points int
	ring   []point // of the largest number of replicas seen, in order of at
	n      int
	next   uint64
}

// point is one of a replica's places on the ring.
type point struct {
	at      uint64
	replica int
}

var _ Policy = (*session)(nil)

func sessionRule() rule {
	return rule{
		Info: Info{
			Name: "session",
			Help: "keeps each session on one replica (consistent hash), blind to load",
			Params: []Param{
				{Name: "points", Default: "160", Help: "points of each replica on the ring; more make shares more equal"},
			},
		},
		build: func(a *args, _ uint64) Policy { return &session{points: a.int("points", 1, 1<<12)} },
	}
}

// Pick implements Policy.
func (p *session) Pick(r *Request, up []Load) int {
	if r.Session == 0 {
		i := p.next % uint64(len(up))
		p.next++
		return int(i)
	}
	if len(up) > p.n {
		p.build(len(up))
	}
	key := mix(r.Session)
	at, _ := slices.BinarySearchFunc(p.ring, key, func(q point, key uint64) int { return cmp.Compare(q.at, key) })
	// Points of replicas that are not there are passed over, which gives the ring of
	// those that are.
	for {
		if at == len(p.ring) {
			at = 0
		}
		if i := p.ring[at].replica; i < len(up) {
			return i
		}
		at++
	}
}

// build makes the ring of n replicas.
func (p *session) build(n int) {
	p.n, p.ring = n, p.ring[:0]
	for i := range n {
		for k := range p.points {
			p.ring = append(p.ring, point{mix(mix(uint64(i)+1) + uint64(k)), i})
		}
	}
	slices.SortFunc(p.ring, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.replica, b.replica))
	})
}

// String implements Policy.
func (p *session) String() string { return fmt.Sprintf("session:points=%d", p.points) }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
