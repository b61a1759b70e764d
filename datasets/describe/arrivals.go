package describe

import (
	"math"
	"slices"
	"time"
)

// binWidths are those of the dispersion, in seconds.
var binWidths = [...]int64{1, 10, 60}

// sampled is how many first times decide on the quantum.
const sampled = 4096

// arrivals takes times in order.
type arrivals struct {
	n           int64
	first, last int64
	gaps        moments
	maxGap      int64
	ties        int64 // gaps of 0
	bins        [len(binWidths)]bins
	head        []int64 // the first gaps
}

// bins counts arrivals in equal intervals.
type bins struct {
	current, count int64
	n              int64 // bins before the current one
	sum, squares   float64
}

func (b *bins) add(bin int64) {
	if bin != b.current {
		b.close(bin - b.current)
		b.current = bin
	}
	b.count++
}

// close ends the current bin and the empty ones after it, passed bins in all.
func (b *bins) close(passed int64) {
	b.n += passed
	b.sum += float64(b.count)
	b.squares += float64(b.count) * float64(b.count)
	b.count = 0
}

// dispersion is the variance of the counts over their mean. The last bin, in which
// the trace ends, is not whole and does not count.
func (b *bins) dispersion() *float64 {
	if b.n < 2 || b.sum == 0 {
		return nil
	}
	mean := b.sum / float64(b.n)
	d := (b.squares/float64(b.n) - mean*mean) / mean
	return &d
}

func (a *arrivals) add(ns int64) {
	if a.n++; a.n == 1 {
		a.first = ns
	} else {
		gap := ns - a.last
		a.gaps.add(float64(gap) / 1e9)
		a.maxGap = max(a.maxGap, gap)
		if gap == 0 {
			a.ties++
		}
		if len(a.head) < sampled {
			a.head = append(a.head, gap)
		}
	}
	a.last = ns
	for i, w := range binWidths {
		a.bins[i].add((ns - a.first) / (w * 1e9))
	}
}

// quantum is the step of which nearly all times are multiples: gaps are either next
// to nothing, which many are, or near a multiple of it. 0: there is none.
func (a *arrivals) quantum() time.Duration {
	const near = int64(10 * time.Millisecond)
	var steps []int64
	for _, g := range a.head {
		if g > near {
			steps = append(steps, g)
		}
	}
	if len(a.head) < 20 || len(steps) < 5 || len(steps)*10 > len(a.head)*8 {
		return 0
	}
	slices.Sort(steps)
	q := steps[len(steps)/2]
	if q < int64(500*time.Millisecond) {
		return 0
	}
	off := 0
	for _, g := range steps {
		k := int64(math.Round(float64(g) / float64(q)))
		if k == 0 || max(g-k*q, k*q-g) > near {
			off++
		}
	}
	if off*20 > len(steps) {
		return 0
	}
	return time.Duration(q).Round(10 * time.Millisecond)
}
