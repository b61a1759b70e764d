package schedule_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
)

// TestGapsAndCounts checks each random process against its theory, with about four
// standard errors of room.
func TestGapsAndCounts(t *testing.T) {
	// The rate is low so that rounding to nanoseconds, which makes ties of the many
	// tiny gaps of a bursty process, does not show.
	const n, rate = 100_000, 0.1
	cases := []struct {
		name  string
		c     schedule.Config
		shape float64
	}{
		{"poisson", schedule.Config{Process: schedule.Poisson}, 1},
		{"gamma 0.25", schedule.Config{Process: schedule.Gamma, Burstiness: 0.25}, 0.25},
		{"gamma 0.5", schedule.Config{Process: schedule.Gamma, Burstiness: 0.5}, 0.5},
		{"gamma 4", schedule.Config{Process: schedule.Gamma, Burstiness: 4}, 4},
		{"weibull 1", schedule.Config{Process: schedule.Weibull, Burstiness: 1}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.c.Rate, c.c.N = rate, n
			at := instants(take(t, c.c, n))
			gaps := make([]float64, n) // seconds
			last := clock.Time(0)
			for i, a := range at {
				gaps[i] = a.Sub(last).Seconds()
				last = a
			}

			mean, sd := stat.MeanStdDev(gaps, nil)
			cv := 1 / math.Sqrt(c.shape)
			if tol := 4 * cv / rate / math.Sqrt(n); math.Abs(mean-1.0/rate) > tol {
				t.Errorf("mean gap %v, want %v +- %v", mean, 1.0/rate, tol)
			}
			// The standard error of a gamma sample's standard deviation, relative,
			// is sqrt((kurtosis - 1) / 4n) with kurtosis 3 + 6/shape.
			if tol := 4 * cv * math.Sqrt((2+6/c.shape)/4/n); math.Abs(sd/mean-cv) > tol {
				t.Errorf("CV of gaps %v, want %v +- %v", sd/mean, cv, tol)
			}
			if r := stat.Correlation(gaps[1:], gaps[:n-1], nil); math.Abs(r) > 4/math.Sqrt(n) {
				t.Errorf("neighbouring gaps correlate: %v", r)
			}
			checkKS(t, gaps, distuv.Gamma{Alpha: c.shape, Beta: c.shape * rate})
			checkDispersion(t, at, clock.Time(80/rate*1e9), 1/c.shape)
		})
	}
}

// checkKS is the Kolmogorov-Smirnov test at p = 1e-4.
func checkKS(t *testing.T, x []float64, want interface{ CDF(float64) float64 }) {
	t.Helper()
	x = slices.Sorted(slices.Values(x))
	n := float64(len(x))
	var d float64
	for i, v := range x {
		f := want.CDF(v)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	if limit := math.Sqrt(math.Log(2/1e-4)/2) / math.Sqrt(n); d > limit {
		t.Errorf("KS distance of gaps %v is more than %v", d, limit)
	}
}

// checkDispersion compares the index of dispersion of counts, variance over mean,
// with its limit for long windows, which is the squared CV of the gaps.
func checkDispersion(t *testing.T, at []clock.Time, window clock.Time, want float64) {
	t.Helper()
	counts := make([]float64, at[len(at)-1]/window)
	for _, a := range at {
		if w := int(a / window); w < len(counts) {
			counts[w]++
		}
	}
	mean, v := stat.MeanVariance(counts, nil)
	// About normal counts: the relative error of a variance is sqrt(2/n). A window
	// of finite length adds a few per cent.
	if tol := want * (4*math.Sqrt(2/float64(len(counts))) + 0.05); math.Abs(v/mean-want) > tol {
		t.Errorf("index of dispersion %v, want %v +- %v", v/mean, want, tol)
	}
}

// TestNoDrift: after a million arrivals, constant gaps are still where they belong,
// and random ones where a sum with compensation (Kahan) puts them.
func TestNoDrift(t *testing.T) {
	const n = 1_000_000
	t.Run("constant", func(t *testing.T) {
		at := instants(take(t, schedule.Config{Process: schedule.Constant, Rate: 3, N: n + 1}, n+1))
		if want := clock.Time(333_333_333_333_333); at[n] != want {
			t.Errorf("arrival %d at %v, want %v", n, at[n], want)
		}
	})
	t.Run("poisson", func(t *testing.T) {
		const rate = 1000
		at := instants(take(t, schedule.Config{Process: schedule.Poisson, Rate: rate, N: n, Seed: 3}, n))
		s := rng.New(3, "arrivals", 0)
		sum, lost := 0.0, 0.0
		for i := range at {
			gap := s.Exp() - lost
			next := sum + gap
			sum, lost = next, next-sum-gap
			if off := math.Abs(float64(at[i]) - sum*1e9/rate); off > 1 {
				t.Fatalf("arrival %d is %v ns off", i, off)
			}
		}
	})
}
