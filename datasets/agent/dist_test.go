package agent

import (
	"math"
	"slices"
	"strings"
	"testing"

	"goodput/loadgen/rng"
)

// TestDistributions holds the mean, the coefficient of variation and, where the
// distribution is continuous, its whole shape: the largest distance between the
// empirical and the exact distribution function (Kolmogorov and Smirnov), whose 99.9 %
// bound for n draws is 1.95/sqrt(n).
func TestDistributions(t *testing.T) {
	normal := func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
	exponential := func(mean float64) func(float64) float64 {
		return func(x float64) float64 { return -math.Expm1(-x / mean) }
	}
	for _, c := range []struct {
		name     string
		dist     Dist
		mean, cv float64
		cdf      func(x float64) float64
	}{
		{"fixed", fixed(7), 7, 0, nil},
		{"uniform", Dist{Kind: Uniform, Low: 2, High: 6}, 4, 1 / math.Sqrt(12), func(x float64) float64 { return (x - 2) / 4 }},
		{"normal", Dist{Kind: Normal, Mean: 10, SD: 2}, 10, 0.2, func(x float64) float64 { return normal((x - 10) / 2) }},
		{
			"lognormal by median", lognormal(100, 0.5, 0, 0),
			100 * math.Exp(0.125), math.Sqrt(math.Expm1(0.25)), func(x float64) float64 { return normal(math.Log(x/100) / 0.5) },
		},
		{"lognormal by mean", Dist{Kind: Lognormal, Mean: 100, SD: 50}, 100, 0.5, nil},
		{
			"lognormal by quantiles",
			Dist{Kind: Lognormal, P50: 100, P90: 200},
			100 * math.Exp(0.54087*0.54087/2), math.Sqrt(math.Expm1(0.54087 * 0.54087)), nil,
		},
		{
			"lognormal below a maximum", lognormal(100, 0.5, 0, 100),
			100 * math.Exp(0.125) * 2 * normal(-0.5), 0.2655,
			func(x float64) float64 { return normal(math.Log(x/100)/0.5) / 0.5 },
		},
		{"exponential", Dist{Kind: Exponential, Mean: 3}, 3, 1, exponential(3)},
		{"geometric", Dist{Kind: Geometric, Mean: 4}, 4, math.Sqrt(0.75), nil},
		{"gamma", Dist{Kind: Gamma, Mean: 5, Shape: 4}, 5, 0.5, nil},
		{"gamma of shape 1", Dist{Kind: Gamma, Mean: 5, Shape: 1}, 5, 1, exponential(5)},
		{
			"weibull",
			Dist{Kind: Weibull, Scale: 2, Shape: 2},
			2 * math.Gamma(1.5), math.Sqrt(math.Gamma(2)/math.Pow(math.Gamma(1.5), 2) - 1),
			func(x float64) float64 { return -math.Expm1(-x * x / 4) },
		},
		{"zipf", Dist{Kind: Zipf, N: 3, S: 1}, 18. / 11, math.Sqrt(36./11*11*11/18/18 - 1), nil},
		{"weights", weights(map[float64]float64{1: 1, 5: 3}), 4, math.Sqrt(3) / 4, nil},
		{
			"logmix",
			Dist{Kind: LogMix, Parts: []Part{{1, 1, math.E}}},
			math.E - 1,
			math.Sqrt((math.E*math.E-1)/2/math.Pow(math.E-1, 2) - 1), math.Log,
		},
		{"empirical", Dist{Kind: Empirical, Values: []float64{1, 2, 3, 6}}, 3, math.Sqrt(3.5) / 3, nil},
		{
			"mixture",
			Dist{Kind: Mixture, Weight: []float64{0.75, 0.25}, Of: []Dist{fixed(0), fixed(8)}},
			2, math.Sqrt(3), nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := compile(c.dist)
			if err != nil {
				t.Fatal(err)
			}
			const n = 40_000
			s := rng.New(3, c.name, 0)
			v := make([]float64, n)
			sum, squares := 0.0, 0.0
			for i := range v {
				v[i] = d.sample(&s)
				sum += v[i]
				squares += v[i] * v[i]
			}
			mean := sum / n
			cv := math.Sqrt(max(0, squares/n-mean*mean)) / mean
			if math.Abs(mean-c.mean) > 0.02*c.mean || math.Abs(cv-c.cv) > 0.03*c.cv+1e-9 {
				t.Errorf("mean %.4g, want %.4g; CV %.4g, want %.4g", mean, c.mean, cv, c.cv)
			}
			if c.cdf != nil {
				if ks := distance(v, c.cdf); ks > 1.95/math.Sqrt(n) {
					t.Errorf("KS distance %.4f", ks)
				}
			}
		})
	}
}

func distance(v []float64, cdf func(float64) float64) float64 {
	slices.Sort(v)
	worst, n := 0.0, float64(len(v))
	for i, x := range v {
		p := cdf(x)
		worst = max(worst, math.Abs(p-float64(i)/n), math.Abs(p-float64(i+1)/n))
	}
	return worst
}

// What is above Max is drawn again, so no heap of values builds up there, and what is
// below Min becomes Min. The realised mean says what is left.
func TestBounds(t *testing.T) {
	d, err := compile(lognormal(100, 1, 50, 200))
	if err != nil {
		t.Fatal(err)
	}
	s := rng.New(1, "bounds", 0)
	low, high := 0, 0
	for range 10_000 {
		x := d.sample(&s)
		if x < 50 || x > 200 {
			t.Fatalf("%v is out of bounds", x)
		}
		if x == 50 {
			low++
		}
		if x > 199.9 {
			high++
		}
	}
	if low < 2500 || high > 30 {
		t.Errorf("%d draws at the minimum, %d at the maximum; want about 3200 and hardly any", low, high)
	}
	if m := d.realised(20_000); m < 85 || m > 95 {
		t.Errorf("realised mean %v, want about 90; the mean without bounds is 165", m)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		dist       Dist
	}{
		{"unknown kind", "unknown", Dist{Kind: "pareto"}},
		{"no parameters", "median", Dist{Kind: Lognormal}},
		{"negative values", "negative", fixed(-1)},
		{"not a number", "draws", fixed(math.NaN())},
		{"max below min", "below min", lognormal(1, 1, 5, 4)},
		{"out of its bounds", "out of its bounds", lognormal(1000, 0.1, 0, 10)},
		{"weights without values", "weights", Dist{Kind: Weights, Weight: []float64{1}}},
		{"weights of nothing", "nothing", Dist{Kind: Weights, Weight: []float64{0}, Values: []float64{1}}},
		{"a part of a mixture", "median", Dist{Kind: Mixture, Weight: []float64{1}, Of: []Dist{{Kind: Lognormal}}}},
		{"inverted part", "part", Dist{Kind: LogMix, Parts: []Part{{1, 5, 2}}}},
		{"mean below one", "1 or more", Dist{Kind: Geometric, Mean: 0.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := compile(c.dist); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}
