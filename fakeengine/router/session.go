package router

import "fmt"

// session sends the requests of one conversation to one replica, by consistent
// hashing: each replica has points on a ring of 64-bit numbers, and a session goes to
// the owner of the first point at or behind its own hash, wrapping around. A replica
// more or less moves one session in n. Requests without a session go round-robin.
//
// It is the `session` rule of the vLLM production stack and, with 160 points, the
// consistent hash of vLLM's own router; the production stack's fallback is the
// replica with the fewest requests per second.
type session struct {
	ring ring
	next uint64
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
		build: func(a *args, _ uint64) Policy { return &session{ring: ring{points: a.int("points", 1, 1<<12)}} },
	}
}

// Pick implements Policy.
func (p *session) Pick(r *Request, up []Load) int {
	if r.Session == 0 {
		i := p.next % uint64(len(up))
		p.next++
		return int(i)
	}
	key := mix(r.Session)
	return p.ring.clockwise(key, up)
}

// String implements Policy.
func (p *session) String() string { return fmt.Sprintf("session:points=%d", p.ring.points) }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
