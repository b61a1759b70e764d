package stats

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Hist collects values too numerous to keep, with three significant digits.
// Mean, N and Max are exact; quantiles are at most 0.1 % off. Values are
// non-negative; one above Limit still counts, at its own magnitude in Mean and
// Max, and at Limit in the quantiles.
type Hist struct {
	h          *hdrhistogram.Histogram
	sum        float64
	n, highest int64
}

// Limit is the largest value that quantiles of a Hist can tell apart: in
// microseconds, about 12 days.
const Limit = int64(1) << 40

// NewHist returns an empty histogram.
func NewHist() *Hist { return &Hist{h: hdrhistogram.New(1, Limit, 3)} }

// Add takes n equal values.
func (h *Hist) Add(v, n int64) error {
	if v < 0 || n < 0 {
		return fmt.Errorf("histogram: value %d (%d times) is negative", v, n)
	}
	h.n += n
	h.sum += float64(v) * float64(n)
	h.highest = max(h.highest, v)
	if err := h.h.RecordValues(min(v, Limit), n); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	return nil
}

// Summary computes all figures.
func (h *Hist) Summary() Summary {
	out := Summary{N: h.n}
	if out.N == 0 {
		return out
	}
	at := func(q float64) float64 { // the nearest rank, as in Sample
		r := rank(q, h.n)
		return float64(min(h.h.ValueAtQuantile(100*float64(r)/float64(h.n)), h.highest))
	}
	out.Mean, out.Max = h.sum/float64(h.n), float64(h.highest)
	out.P50, out.P90, out.P95, out.P99, out.P99_9 = at(.5), at(.9), at(.95), at(.99), at(.999)
	return out
}
