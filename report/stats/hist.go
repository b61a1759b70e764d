package stats

import "fmt"

// Hist collects values too numerous to keep, with three significant digits.
// Mean, N and Max are exact; quantiles are at most 0.1 % off. Values are
// non-negative; one above Limit still counts, at its own magnitude in Mean and
// Max, and at Limit in the quantiles.
type Hist struct {
	b          buckets
	sum        float64
	n, highest int64
}

// Limit is the largest value that quantiles of a Hist can tell apart: in
// microseconds, about 12 days.
const Limit = int64(1) << 40

// NewHist returns an empty histogram.
func NewHist() *Hist { return &Hist{b: buckets{bits: 11}} }

// Add takes n equal values.
func (h *Hist) Add(v, n int64) error {
	if v < 0 || n < 0 {
		return fmt.Errorf("histogram: value %d (%d times) is negative", v, n)
	}
	h.n += n
	h.sum += float64(v) * float64(n)
	h.highest = max(h.highest, v)
	h.b.add(min(v, Limit), n)
	return nil
}

// AddAll takes each of values.
func (h *Hist) AddAll(values []int32) error {
	if len(values) == 0 {
		return nil
	}
	least, most, sum := values[0], values[0], int64(0)
	for _, v := range values {
		least, most = min(least, v), max(most, v)
		sum += int64(v)
	}
	if least < 0 {
		return fmt.Errorf("histogram: value %d is negative", least)
	}
	h.n += int64(len(values))
	h.sum += float64(sum)
	h.highest = max(h.highest, int64(most))
	h.b.addAll(values, least, most)
	return nil
}

// AddRounded takes n values of which no more is known than that each is of one
// bucket of three significant digits with v, which is not negative. Exactly
// must follow.
func (h *Hist) AddRounded(v, n int64) {
	h.n += n
	h.b.add(min(v, Limit), n)
}

// Exactly sets the sum and the largest of all values.
func (h *Hist) Exactly(sum, largest int64) { h.sum, h.highest = float64(sum), largest }

// Quantile returns the nearest-rank quantile, as the largest value of its bucket. ok is false without values.
func (h *Hist) Quantile(q float64) (v int64, ok bool) {
	if h.n == 0 {
		return 0, false
	}
	v, _ = h.b.at(rank(q, h.n))
	return min(v, h.highest), true
}

// Summary computes all figures.
func (h *Hist) Summary() Summary {
	out := Summary{N: h.n}
	if out.N == 0 {
		return out
	}
	out.setQuantiles(func(q float64) int64 { // the nearest rank, as in Sample
		v, _ := h.Quantile(q)
		return v
	})
	out.Mean, out.Max = h.sum/float64(h.n), float64(h.highest)
	return out
}
