package router

import (
	"math"

	"goodput/loadgen/rng"
)

// best finds the replica with the least cost; equals have an equal chance, or the
// first one is taken.
type best struct {
	rand   rng.Stream
	first  bool
	cost   float64
	at     int
	equals int
}

// none forgets what was offered.
func (b *best) none() { b.cost, b.at, b.equals = math.Inf(1), 0, 0 }

// offer takes part for replica i.
func (b *best) offer(i int, cost float64) {
	switch {
	case b.equals == 0 || cost < b.cost:
		b.cost, b.at, b.equals = cost, i, 1
	case cost == b.cost && !b.first:
		if b.equals++; b.rand.IntN(b.equals) == 0 {
			b.at = i
		}
	}
}

// leastOut is the replica with the fewest requests in flight.
func (b *best) leastOut(up []Load) int {
	b.none()
	for i := range up {
		b.offer(i, float64(up[i].Outstanding))
	}
	return b.at
}

// table holds something for each replica, by number; a replica that was not there
// has the zero value.
type table[T any] []T

// at is replica id's.
func (t *table[T]) at(id int) *T {
	for len(*t) <= id {
		var zero T
		*t = append(*t, zero)
	}
	return &(*t)[id]
}

// indexOf is the place of a replica among those that are up, -1 if it is not.
func indexOf(up []Load, id int) int {
	if id < len(up) && up[id].ID == id {
		return id
	}
	lo, hi := 0, len(up)
	for lo < hi {
		if mid := (lo + hi) / 2; up[mid].ID < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(up) && up[lo].ID == id {
		return lo
	}
	return -1
}

// extent is the least, the most and the mean number of requests in flight.
func extent(up []Load) (least, most int, mean float64) {
	least, most = up[0].Outstanding, up[0].Outstanding
	total := 0
	for i := range up {
		least, most = min(least, up[i].Outstanding), max(most, up[i].Outstanding)
		total += up[i].Outstanding
	}
	return least, most, float64(total) / float64(len(up))
}
