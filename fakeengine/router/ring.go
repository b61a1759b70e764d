package router

import (
	"cmp"
	"slices"

	"goodput/loadgen/rng"
)

// ring places replicas on a ring of 64-bit numbers, each with some points. Those of
// replicas that are down are passed over, which gives the ring of those that are up:
// a replica more or less moves one key in n.
type ring struct {
	points int
	of     []point // of the largest number of replicas seen, in order of at
	n      int
}

// point is one of a replica's places on the ring.
type point struct {
	at      uint64
	replica int
}

// cover makes the ring reach all replicas of up.
func (g *ring) cover(up []Load) {
	n := up[len(up)-1].ID + 1
	if n <= g.n {
		return
	}
	for i := g.n; i < n; i++ {
		for k := range g.points {
			g.of = append(g.of, point{mix(mix(uint64(i)+1) + uint64(k)), i})
		}
	}
	g.n = n
	slices.SortFunc(g.of, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.replica, b.replica))
	})
}

// behind is the first point at or behind a key, wrapping around.
func (g *ring) behind(key uint64) int {
	at, _ := slices.BinarySearchFunc(g.of, key, func(q point, key uint64) int { return cmp.Compare(q.at, key) })
	if at == len(g.of) {
		return 0
	}
	return at
}

// clockwise is the replica of up that owns a key: that of the first point at or
// behind it.
func (g *ring) clockwise(key uint64, up []Load) int {
	g.cover(up)
	for at := g.behind(key); ; at = g.next(at) {
		if i := indexOf(up, g.of[at].replica); i >= 0 {
			return i
		}
	}
}

func (g *ring) next(at int) int {
	if at++; at == len(g.of) {
		return 0
	}
	return at
}

// nearest is the replica of up with the point nearest to a key on either side; of
// two as near, the one before it. HAProxy's consistent hash picks so.
func (g *ring) nearest(key uint64, up []Load) int {
	g.cover(up)
	at := g.behind(key)
	after := at
	for indexOf(up, g.of[after].replica) < 0 {
		after = g.next(after)
	}
	before := at
	for {
		if before--; before < 0 {
			before = len(g.of) - 1
		}
		if indexOf(up, g.of[before].replica) >= 0 {
			break
		}
	}
	if key-g.of[before].at <= g.of[after].at-key { // distances on the ring, which wrap
		after = before
	}
	return indexOf(up, g.of[after].replica)
}

// keyer takes the key of a request by which it is hashed.
type keyer struct {
	what   string // session, prefix, adapter or tenant
	blocks int    // of the prefix
}

const keyHelp = "what is hashed: session, prefix (the first blocks of the prompt), adapter or tenant"

// newKeyer reads the parameters key and blocks.
func newKeyer(a *args) keyer {
	return keyer{a.choice("key", "session", "prefix", "adapter", "tenant"), a.int("blocks", 1, 1<<16)}
}

func keyParams(key string) []Param {
	return []Param{
		{Name: "key", Default: key, Help: keyHelp},
		{Name: "blocks", Default: "16", Help: "KV blocks of the prompt that key=prefix looks at, at most"},
	}
}

// Reads implements Reader.
func (k *keyer) Reads() Signals {
	if k.what == "prefix" {
		return PrefixHashes
	}
	return 0
}

// of is the key of a request; ok is false if it has none.
func (k *keyer) of(r *Request) (key uint64, ok bool) {
	switch k.what {
	case "session":
		key = r.Session
	case "tenant":
		key = r.Tenant
	case "adapter":
		key = uint64(r.Adapter)
	default:
		if n := min(len(r.Prefix), k.blocks); n > 0 {
			return r.Prefix[n-1], true // the hash of a block is that of all before it, too
		}
		return 0, false
	}
	return mix(key), key != 0
}

// anyOf takes one of up with equal chance.
func anyOf(s *rng.Stream, up []Load) int { return s.IntN(len(up)) }
