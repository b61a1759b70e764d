package stats

import (
	"math"
	"math/big"
	"slices"
)

// Quantiles are those of every summary, as fractions.
var quantiles = [...]float64{0.50, 0.90, 0.95, 0.99, 0.999}

// Summary describes a set of values, in the unit of the values. With N = 0 the
// other fields mean nothing.
type Summary struct {
	N                         int64
	Mean                      float64
	P50, P90, P95, P99, P99_9 float64
	Max                       float64
}

// Sample collects values for exact quantiles. The zero value is empty. It keeps
// every value, 8 bytes each.
type Sample struct {
	values []int64
	sorted bool
}

// Add takes one value.
func (s *Sample) Add(v int64) {
	s.values = append(s.values, v)
	s.sorted = false
}

// N is the number of values.
func (s *Sample) N() int64 { return int64(len(s.values)) }

// Quantile returns the nearest-rank quantile: the smallest value such that at
// least the fraction q of all values is not above it. ok is false without
// values.
func (s *Sample) Quantile(q float64) (v int64, ok bool) {
	if len(s.values) == 0 {
		return 0, false
	}
	if !s.sorted {
		slices.Sort(s.values)
		s.sorted = true
	}
	return s.values[rank(q, int64(len(s.values)))-1], true
}

// Summary computes all figures.
func (s *Sample) Summary() Summary {
	out := Summary{N: s.N()}
	if out.N == 0 {
		return out
	}
	var q [len(quantiles)]float64
	for i, f := range quantiles {
		v, _ := s.Quantile(f)
		q[i] = float64(v)
	}
	out.P50, out.P90, out.P95, out.P99, out.P99_9 = q[0], q[1], q[2], q[3], q[4]
	out.Mean = mean(s.values)
	out.Max = float64(s.values[len(s.values)-1])
	return out
}

// rank is ceil(q*n), at least 1. The product is rounded to 9 decimals first:
// 0.95*20 is 19, not the 20 that binary fractions make of it.
func rank(q float64, n int64) int64 {
	x := q * float64(n)
	if r := math.Round(x); math.Abs(x-r) < 1e-9*max(1, x) {
		x = r
	}
	return min(max(int64(math.Ceil(x)), 1), n)
}

// mean sums exactly: 128-bit integers can't overflow or round.
func mean(values []int64) float64 {
	var lo, hi big.Int
	part, parts := int64(0), 0
	flush := func() {
		lo.SetInt64(part)
		hi.Add(&hi, &lo)
		part, parts = 0, 0
	}
	for _, v := range values {
		if v > math.MaxInt64/1024 || v < math.MinInt64/1024 {
			lo.SetInt64(v)
			hi.Add(&hi, &lo)
			continue
		}
		part += v
		if parts++; parts == 1024 {
			flush()
		}
	}
	flush()
	f, _ := new(big.Rat).SetFrac(&hi, big.NewInt(int64(len(values)))).Float64()
	return f
}

// MinN is the number of independent values below which the quantile q, 0.5 or
// above, has no two-sided 95 % interval from order statistics: the largest of n
// values lies below the quantile with chance q^n, which may be at most 2.5 %. It
// is 6 for the median, 36 for P90, 72 for P95, 368 for P99, 3688 for P99.9.
func MinN(q float64) int64 {
	return int64(math.Ceil(math.Log(0.025) / math.Log(q)))
}

// Unreliable names the quantiles of a summary over n values that a text should
// not show.
func Unreliable(n int64) []string {
	var out []string
	for i, q := range quantiles {
		if n < MinN(q) {
			out = append(out, quantileNames[i])
		}
	}
	return out
}

var quantileNames = [...]string{"p50", "p90", "p95", "p99", "p99.9"}
