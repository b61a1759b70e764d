package stats

import (
	"fmt"
	"slices"
)

// Source gives random bits, such as *rng.Stream.
type Source interface{ Uint64() uint64 }

// Of the bootstrap: how often a run is made anew, and the part of it that a block is.
const (
	resamples  = 400
	blockParts = 20
)

// MinBootstrap is the fewest values that make blocks.
const MinBootstrap = 2 * blockParts

// BlockIntervals are 95 % intervals of quantiles of a run, from the values in the order
// of its schedule: the circular block bootstrap (Politis and Romano, "A circular
// block-resampling procedure for stationary data", 1992), with blocks of a twentieth of
// the run, 400 times, percentiles of the results.
//
// They are for looking only. Where values stay correlated for longer than a block, as
// latencies near capacity do, the interval is too narrow; and of another run it says
// nothing. It returns an error for fewer than MinBootstrap values.
func BlockIntervals(values []int64, qs []float64, random Source) ([]Interval, error) {
	n := len(values)
	if n < MinBootstrap {
		return nil, fmt.Errorf("%d values are too few to resample: need %d", n, MinBootstrap)
	}
	b := newBootstrap(values, qs)
	drawn := make([][]float64, len(qs))
	for range resamples {
		b.resample(random)
		for i := range qs {
			drawn[i] = append(drawn[i], float64(b.quantile(i)))
		}
	}
	out := make([]Interval, len(qs))
	for i, q := range qs {
		slices.Sort(drawn[i])
		tail := resamples / 40 // 2.5 %
		out[i] = Interval{Value: float64(values[b.order[rank(q, int64(n))-1]]), Lo: drawn[i][tail-1], Hi: drawn[i][resamples-tail], N: n}
	}
	return out, nil
}

// bootstrap is a run to be made anew.
type bootstrap struct {
	values []int64
	order  []int32 // of the values, ascending
	ranks  []int64 // of the quantiles
	block  int
	weight []int32 // how often each value is in the resample
}

func newBootstrap(values []int64, qs []float64) *bootstrap {
	n := len(values)
	b := &bootstrap{values: values, order: make([]int32, n), block: (n + blockParts - 1) / blockParts, weight: make([]int32, n+1)}
	for i := range b.order {
		b.order[i] = int32(i)
	}
	slices.SortStableFunc(b.order, func(x, y int32) int {
		switch {
		case values[x] < values[y]:
			return -1
		case values[x] > values[y]:
			return 1
		}
		return 0
	})
	for _, q := range qs {
		b.ranks = append(b.ranks, rank(q, int64(n)))
	}
	return b
}

// resample draws blocks, which go on at the beginning behind the end, until there are as
// many values as before.
func (b *bootstrap) resample(random Source) {
	n := len(b.values)
	clear(b.weight)
	for left := n; left > 0; {
		from, size := int(random.Uint64()%uint64(n)), min(b.block, left)
		left -= size
		b.weight[from]++
		if end := from + size; end <= n {
			b.weight[end]--
		} else {
			b.weight[n]--
			b.weight[0]++
			b.weight[end-n]--
		}
	}
	at := int32(0)
	for i := range n { // from differences to counts
		at += b.weight[i]
		b.weight[i] = at
	}
}

// quantile is the i-th one of the resample, found from its end.
func (b *bootstrap) quantile(i int) int64 {
	above := int64(len(b.values)) - b.ranks[i]
	for j := len(b.order) - 1; j > 0; j-- {
		if above -= int64(b.weight[b.order[j]]); above < 0 {
			return b.values[b.order[j]]
		}
	}
	return b.values[b.order[0]]
}
