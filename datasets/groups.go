package datasets

import (
	"fmt"

	"goodput/loadgen/rng"
)

// groups tells the group of each of n members, as a pure function of the seed:
// in equal shares, where the first n%count groups get one member more; or, with a
// Zipf exponent above 0, drawn for each member by itself, so that small groups may
// stay empty.
type groups struct {
	n, count int
	order    []int32 // member i comes in place of member order[i]; nil: of i
	ranks    ranks
	drawn    rng.Family
	zipf     bool
}

// newGroups divides n members into count groups. shuffle puts equal shares into
// random order, at four bytes a member; drawn groups have no order to begin with.
func newGroups(n, count int, zipf float64, shuffle bool, seed uint64, name string) groups {
	g := groups{n: n, count: count, zipf: zipf > 0}
	switch {
	case g.zipf:
		g.ranks, g.drawn = newRanks(count, zipf), rng.Of(seed, name+" group")
	case shuffle:
		g.order = make([]int32, n)
		for i := range g.order {
			g.order[i] = int32(i)
		}
		r := rng.New(seed, name+" order", 0)
		r.Shuffle(n, func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
	}
	return g
}

// of returns the number by which member i is known whatever the order is, and its
// group.
func (g *groups) of(i int) (member, group int) {
	if g.zipf {
		s := g.drawn.Stream(uint64(i))
		return i, g.ranks.draw(&s)
	}
	if g.order != nil {
		i = int(g.order[i])
	}
	size, larger := g.n/g.count, g.n%g.count
	if i < larger*(size+1) {
		return i, i / (size + 1)
	}
	return i, (i - larger) / size
}

// used is the number of groups that have members.
func (g *groups) used() int {
	if !g.zipf {
		return g.count
	}
	seen := map[int]struct{}{}
	for i := range g.n {
		_, group := g.of(i)
		seen[group] = struct{}{}
		if len(seen) == g.count {
			break
		}
	}
	return len(seen)
}

// String tells the order.
func (g *groups) String() string {
	switch {
	case g.zipf:
		return fmt.Sprintf("zipf %v", g.ranks.s)
	case g.order != nil:
		return "shuffled"
	}
	return "group by group"
}
