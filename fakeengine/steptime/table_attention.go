package steptime

import (
	"fmt"
	"slices"
)

// maxGrid bounds the points of a full grid: 8 bytes each.
const maxGrid = 1 << 21

// query is one step as attention sees it: the new tokens of its prefill behind
// history older ones, and decodes rows of context tokens on average.
type query struct{ chunk, history, decodes, context float64 }

// attention is three grids, because three kernels are at work: decodes alone,
// prefill alone, and both in one step. There is nothing to interpolate between
// them.
type attention struct {
	decode, prefill, mixed grid
}

// at is in picoseconds, at least 0. A chunk below the least measured one costs
// the same: the kernel computes a tile anyway.
func (a *attention) at(q query) float64 {
	var g *grid
	switch {
	case q.chunk == 0:
		g = &a.decode
	case q.decodes == 0:
		g = &a.prefill
	default:
		g = &a.mixed
	}
	q.chunk = max(q.chunk, g.axes[0][0])
	return max(0, g.at([4]float64{q.chunk, q.decodes, q.history, q.context}))
}

// grid is a function of chunk, decodes, history and context on a full grid, in
// picoseconds.
type grid struct {
	axes   [4][]float64
	values []float64 // the last axis varies fastest
}

// at interpolates linearly along each axis in turn.
func (g *grid) at(x [4]float64) float64 {
	var lo [4]int
	var along [4]float64
	var corners [16]float64
	base, strides := 0, [4]int{}
	stride := 1
	for d := 3; d >= 0; d-- {
		if n := len(g.axes[d]); n > 1 {
			lo[d], along[d] = segment(g.axes[d], x[d])
			strides[d] = stride
			stride *= n
		}
		base += lo[d] * strides[d]
	}
	// An axis of one point has stride 0: both of its ends are that point.
	for c := range corners {
		i := base
		for d := range 4 {
			if c>>d&1 == 1 {
				i += strides[d]
			}
		}
		corners[c] = g.values[i]
	}
	for d := 3; d >= 0; d-- {
		half := 1 << d
		for c := range half {
			corners[c] = mix(corners[c], corners[c+half], along[d])
		}
	}
	return corners[0]
}

// sample is one measured point.
type sample struct {
	at [4]float64 // chunk, decodes, history, context
	ps float64
}

// newGrid fills a full grid over all values that occur on each axis from
// samples that need not form one. Samples are taken as a tree, chunk over
// decodes over history over context, and each level is interpolated between the
// children that it has. On the axes' union this is exact: a piecewise linear
// function is not changed by more nodes. Samples must be distinct and not none.
func newGrid(samples []sample) (grid, error) {
	var g grid
	size := 1
	for d := range g.axes {
		var axis []float64
		for _, s := range samples {
			axis = append(axis, s.at[d])
		}
		slices.Sort(axis)
		g.axes[d] = slices.Compact(axis)
		if size *= len(g.axes[d]); size > maxGrid {
			return g, fmt.Errorf("the values on the four axes span more than %d points: measure on a common grid", maxGrid)
		}
	}
	slices.SortFunc(samples, func(a, b sample) int { return slices.Compare(a.at[:], b.at[:]) })
	g.values = g.fill(samples, 0)
	return g, nil
}

// fill returns the values of the grid over the axes from d on.
func (g *grid) fill(samples []sample, d int) []float64 {
	if d == len(g.axes) {
		return []float64{samples[0].ps}
	}
	var xs []float64
	var children [][]float64
	for len(samples) > 0 {
		x, n := samples[0].at[d], 1
		for n < len(samples) && samples[n].at[d] == x {
			n++
		}
		xs, children = append(xs, x), append(children, g.fill(samples[:n], d+1))
		samples = samples[n:]
	}
	var values []float64
	for _, x := range g.axes[d] {
		i, next, f := 0, 0, 0.0
		if len(xs) > 1 {
			i, f = segment(xs, x)
			next = i + 1
		}
		for k := range children[i] {
			values = append(values, mix(children[i][k], children[next][k], f))
		}
	}
	return values
}
