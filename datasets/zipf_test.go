package datasets

import (
	"fmt"
	"math"
	"testing"

	"goodput/loadgen/rng"
)

// TestRanksFollowZipf compares the counts of ranks with their chances by
// chi-squared, with a bound of 5 standard deviations, and the distribution function
// by Kolmogorov and Smirnov, at a chance of error of 1e-4 (2.23 over the root of n;
// less for a discrete one).
func TestRanksFollowZipf(t *testing.T) {
	const draws = 200_000
	for _, c := range []struct {
		n int
		s float64
	}{{1, 1}, {2, 0.5}, {10, 0}, {10, 1}, {50, 0.6}, {100, 1 + 1e-10}, {100, 2.5}, {1000, 0.99}, {1000, 1.2}} {
		t.Run(fmt.Sprintf("n %d, s %v", c.n, c.s), func(t *testing.T) {
			r, stream := newRanks(c.n, c.s), rng.New(7, "zipf test", uint64(c.n))
			count := make([]float64, c.n)
			for range draws {
				count[r.draw(&stream)]++
			}
			sum := 0.0
			for k := range c.n {
				sum += math.Pow(float64(k+1), -c.s)
			}
			chi2, cells, below, drawn, ks := 0.0, 0.0, 0.0, 0.0, 0.0
			for k := range c.n {
				want := draws * math.Pow(float64(k+1), -c.s) / sum
				below += want
				drawn += count[k]
				ks = max(ks, math.Abs(below-drawn)/draws)
				if want >= 5 {
					chi2 += (count[k] - want) * (count[k] - want) / want
					cells++
				}
			}
			if limit := cells + 5*math.Sqrt(2*cells); chi2 > limit {
				t.Errorf("chi-squared is %.1f of %.0f cells, more than %.1f", chi2, cells, limit)
			}
			if ks > 2.23/math.Sqrt(draws) {
				t.Errorf("the distribution functions differ by %.5f", ks)
			}
		})
	}
}

// TestRanksStayInRange draws from the extremes of n and s.
func TestRanksStayInRange(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1 << 24, math.MaxInt32} {
		for _, s := range []float64{0, 1e-9, 0.3, 1, 3, maxZipf} {
			r, stream := newRanks(n, s), rng.New(1, "range", 0)
			for range 2000 {
				if k := r.draw(&stream); k < 0 || k >= n {
					t.Fatalf("n %d, s %v: rank %d", n, s, k)
				}
			}
		}
	}
}
