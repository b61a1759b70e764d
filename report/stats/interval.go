package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with the bounds of its interval, in the unit of the
// values. N is the number of independent replications behind it: of runs, not of
// requests.
type Interval struct {
	Value, Lo, Hi float64
	SD            float64 // standard deviation between replications
	N             int
}

// Mean is the mean of independent replications with Student's interval of the
// given confidence, such as 0.95. With one value there is no interval: Lo and Hi
// are NaN. It returns an error without values or if one is not finite.
func Mean(values []float64, confidence float64) (Interval, error) {
	if len(values) == 0 {
		return Interval{}, fmt.Errorf("no values to take a mean of")
	}
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Interval{}, fmt.Errorf("value %d of %d is %v", i+1, len(values), v)
		}
	}
	if len(values) == 1 {
		return Interval{Value: values[0], Lo: math.NaN(), Hi: math.NaN(), SD: math.NaN(), N: 1}, nil
	}
	mean, sd := stat.MeanStdDev(values, nil)
	half := studentT(len(values)-1, 1-(1-confidence)/2) * sd / math.Sqrt(float64(len(values)))
	return Interval{Value: mean, Lo: mean - half, Hi: mean + half, SD: sd, N: len(values)}, nil
}

// studentT is the quantile q of Student's distribution.
func studentT(freedom int, q float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(q)
}

// TwoSided is the p-value of Student's test that the replications behind an
// interval have mean zero: 1 when all are exactly zero, 0 when all are the same
// other value, NaN for fewer than two.
func (i Interval) TwoSided() float64 {
	switch {
	case i.N < 2:
		return math.NaN()
	case i.SD == 0 && i.Value == 0:
		return 1
	case i.SD == 0:
		return 0
	}
	t := math.Abs(i.Value) / (i.SD / math.Sqrt(float64(i.N)))
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(i.N - 1)}.Survival(t)
}

// Above is the p-value of the one-sided test of whether the mean is above a bound:
// small when it is.
func (i Interval) Above(bound float64) float64 {
	switch {
	case i.N < 2:
		return math.NaN()
	case i.SD == 0 && i.Value > bound:
		return 0
	case i.SD == 0:
		return 1
	}
	t := (i.Value - bound) / (i.SD / math.Sqrt(float64(i.N)))
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(i.N - 1)}.Survival(t)
}

// Replications is about how many are needed to tell a mean that is off by the
// given amount from zero, in 80 % of cases and at the given confidence, when they
// spread by sd; at least 2. NaN or zero inputs give 0: unknown.
//
// The quantile of Student's distribution depends on the number, so the smallest
// number that is enough for its own quantile is taken.
func Replications(sd, off, confidence float64) int {
	if !(sd > 0) || !(off > 0) || math.IsInf(sd, 0) || math.IsInf(off, 0) {
		return 0
	}
	power := distuv.UnitNormal.Quantile(0.8)
	enough := func(r int) bool {
		need := (studentT(r-1, 1-(1-confidence)/2) + power) * sd / off
		return float64(r) >= need*need
	}
	const most = 100_000
	lo, hi := 1, 2 // the smallest that is enough is above lo and at most hi
	for !enough(hi) {
		if lo, hi = hi, 2*hi; hi > most {
			return most
		}
	}
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// MaxFlips is the most differences for which SignFlip is exact.
const MaxFlips = 20

// MinFlips is the fewest differences with which SignFlip can reject at 5 %: five
// have a smallest p-value of 2/32.
const MinFlips = 6

// SignFlip is the exact p-value of the two-sided permutation test of paired
// differences: the share of all assignments of signs whose mean is at least as far
// from zero as that observed. It returns an error for more than MaxFlips.
func SignFlip(differences []float64) (float64, error) {
	n := len(differences)
	if n == 0 || n > MaxFlips {
		return 0, fmt.Errorf("sign-flip test of %d differences: need 1 to %d", n, MaxFlips)
	}
	sum, scale := 0.0, 0.0
	for _, d := range differences {
		sum += d
		scale += math.Abs(d)
	}
	limit := math.Abs(sum) - 1e-12*scale // equal sums differ by rounding
	extreme := 0
	for signs := range 1 << n {
		s := 0.0
		for i, d := range differences {
			if signs>>i&1 == 1 {
				d = -d
			}
			s += d
		}
		if math.Abs(s) >= limit {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<n), nil
}

// Holm adjusts p-values for being several: each adjusted one may be compared with
// the level at which any of them may be wrong. NaN stays NaN and does not count.
// Holm, "A simple sequentially rejective multiple test procedure", 1979.
func Holm(p []float64) []float64 {
	order := make([]int, 0, len(p))
	out := make([]float64, len(p))
	for i, v := range p {
		if out[i] = v; !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	sortBy(order, p)
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, float64(len(order)-k)*p[i]))
		out[i] = least
	}
	return out
}

// sortBy sorts indexes by the values that they are of; equal values keep order.
func sortBy(index []int, values []float64) {
	for i := 1; i < len(index); i++ { // few
		for j := i; j > 0 && values[index[j]] < values[index[j-1]]; j-- {
			index[j], index[j-1] = index[j-1], index[j]
		}
	}
}

// ClopperPearson is the exact interval of a share of which part of whole
// independent cases were counted. It returns an error unless 0 <= part <= whole and
// whole > 0.
func ClopperPearson(part, whole int, confidence float64) (lo, hi float64, err error) {
	if whole <= 0 || part < 0 || part > whole {
		return 0, 0, fmt.Errorf("share of %d in %d does not exist", part, whole)
	}
	tail := (1 - confidence) / 2
	hi = 1
	if part > 0 {
		lo = distuv.Beta{Alpha: float64(part), Beta: float64(whole - part + 1)}.Quantile(tail)
	}
	if part < whole {
		hi = distuv.Beta{Alpha: float64(part + 1), Beta: float64(whole - part)}.Quantile(1 - tail)
	}
	return lo, hi, nil
}

// Detectable is the smallest mean that n replications tell from zero in 80 % of cases
// and at the given confidence, when they spread by sd. NaN for fewer than two.
func Detectable(sd float64, n int, confidence float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	return (studentT(n-1, 1-(1-confidence)/2) + distuv.UnitNormal.Quantile(0.8)) * sd / math.Sqrt(float64(n))
}
