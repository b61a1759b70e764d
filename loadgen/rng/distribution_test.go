package rng_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"goodput/loadgen/rng"
)

// distribution is what gonum says about the numbers that a method should give.
type distribution interface {
	CDF(x float64) float64
	Mean() float64
	Variance() float64
	ExKurtosis() float64
}

func TestDistributions(t *testing.T) {
	gamma := func(shape float64) func(s *rng.Stream) float64 {
		return func(s *rng.Stream) float64 { return s.Gamma(shape) }
	}
	cases := []struct {
		name string
		draw func(s *rng.Stream) float64
		want distribution
	}{
		{"float64", (*rng.Stream).Float64, distuv.Uniform{Min: 0, Max: 1}},
		{"exp", (*rng.Stream).Exp, distuv.Exponential{Rate: 1}},
		{"norm", (*rng.Stream).Norm, distuv.Normal{Mu: 0, Sigma: 1}},
		{"gamma 0.1", gamma(0.1), distuv.Gamma{Alpha: 0.1, Beta: 1}},
		{"gamma 0.5", gamma(0.5), distuv.Gamma{Alpha: 0.5, Beta: 1}},
		{"gamma 1", gamma(1), distuv.Gamma{Alpha: 1, Beta: 1}},
		{"gamma 2.5", gamma(2.5), distuv.Gamma{Alpha: 2.5, Beta: 1}},
		{"gamma 100", gamma(100), distuv.Gamma{Alpha: 100, Beta: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := rng.New(0, c.name, 0)
			x := take(50_000, func() float64 { return c.draw(&s) })
			checkMoments(t, x, c.want)
			checkKS(t, x, c.want)
			if r := stat.Correlation(x[1:], x[:len(x)-1], nil); math.Abs(r) > 4/math.Sqrt(float64(len(x))) {
				t.Errorf("neighbouring values correlate: %.4f", r)
			}
		})
	}
}

// checkMoments compares mean and variance within four standard errors. The
// variance of a sample variance is about sigma^4 (excess kurtosis + 2) / n.
func checkMoments(t *testing.T, x []float64, want distribution) {
	t.Helper()
	n := float64(len(x))
	mean, v := stat.MeanVariance(x, nil)
	if se := math.Sqrt(want.Variance() / n); math.Abs(mean-want.Mean()) > 4*se {
		t.Errorf("mean %.5f, want %.5f +- %.5f", mean, want.Mean(), 4*se)
	}
	if se := want.Variance() * math.Sqrt((want.ExKurtosis()+2)/n); math.Abs(v-want.Variance()) > 4*se {
		t.Errorf("variance %.5f, want %.5f +- %.5f", v, want.Variance(), 4*se)
	}
}

// checkKS is the Kolmogorov-Smirnov test: the largest gap between the empirical
// and the wanted distribution, at p = 1e-4. It sorts x's copy.
func checkKS(t *testing.T, x []float64, want interface{ CDF(float64) float64 }) {
	t.Helper()
	x = slices.Sorted(slices.Values(x))
	n := float64(len(x))
	var d float64
	for i, v := range x {
		f := want.CDF(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	// P(sqrt(n) D > z) is about 2 exp(-2 z^2).
	if limit := math.Sqrt(math.Log(2/1e-4)/2) / math.Sqrt(n); d > limit {
		t.Errorf("KS distance %.5f is more than %.5f", d, limit)
	}
}

func TestGammaShapes(t *testing.T) {
	for _, shape := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		mustPanic(t, func() { s := rng.New(0, "", 0); s.Gamma(shape) })
	}
	for _, shape := range []float64{math.SmallestNonzeroFloat64, 1e-9, 1e-3, 1e9, 1e300, math.MaxFloat64} {
		s := rng.New(0, "", 0)
		for range 100 {
			if x := s.Gamma(shape); x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("Gamma(%g) = %g", shape, x)
			}
		}
	}
}
