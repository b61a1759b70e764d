package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// FlipInterval is the mean of independent differences with the interval of the exact
// sign-flip test: the means that the test does not reject at the given confidence. It
// supposes that differences are as likely on either side of their centre, and nothing of
// their distribution. It returns an error for more than MaxFlips, and for so few that the
// test can reject nothing: fewer than MinFlips at 0.95.
//
// A shift is rejected as too small when few of the subsets of the values have a mean at or
// below it, so that the bounds are order statistics of the means of all subsets (Hartigan,
// "Using subsample values as typical values", 1969).
func FlipInterval(values []float64, confidence float64) (Interval, error) {
	n := len(values)
	if n == 0 || n > MaxFlips {
		return Interval{}, fmt.Errorf("sign-flip interval of %d differences: need 1 to %d", n, MaxFlips)
	}
	k := int((1 - confidence) / 2 * float64(int(1)<<n) * (1 + 1e-12))
	if k < 1 {
		return Interval{}, fmt.Errorf("%d differences have %d assignments of signs, too few for %g %% confidence", n, 1<<n, 100*confidence)
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Interval{}, fmt.Errorf("value %d of %d is %v", i+1, n, v)
		}
	}
	means := subsetMeans(values)
	slices.Sort(means)
	mean, sd := stat.MeanStdDev(values, nil)
	return Interval{Value: mean, Lo: means[k-1], Hi: means[len(means)-k], SD: sd, N: n}, nil
}

// subsetMeans are the means of all subsets but the empty one.
func subsetMeans(values []float64) []float64 {
	out := make([]float64, 0, 1<<len(values)-1)
	for set := 1; set < 1<<len(values); set++ {
		sum, n := 0.0, 0
		for i, v := range values {
			if set>>i&1 == 1 {
				sum += v
				n++
			}
		}
		out = append(out, sum/float64(n))
	}
	return out
}

// FlipAbove is the exact p-value of the one-sided sign-flip test of whether the centre of
// the differences is above a bound. NaN for none, or for more than MaxFlips.
func FlipAbove(values []float64, bound float64) float64 {
	n := len(values)
	if n == 0 || n > MaxFlips {
		return math.NaN()
	}
	within := 1 // the assignment that was observed
	for _, m := range subsetMeans(values) {
		if m <= bound {
			within++
		}
	}
	return float64(within) / float64(int(1)<<n)
}
