package stats

import "math"

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

// setQuantiles fills in the quantiles.
func (s *Summary) setQuantiles(at func(q float64) int64) {
	for i, to := range [len(quantiles)]*float64{&s.P50, &s.P90, &s.P95, &s.P99, &s.P99_9} {
		*to = float64(at(quantiles[i]))
	}
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
