package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/rng"
)

// A resample has as many values as the run, in blocks that follow on each other, and its
// quantiles are those of the values that it has.
func TestResampleIsOfBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 50), MinBootstrap, 300).Draw(rt, "values")
		qs := []float64{0.5, 0.9, 0.99}
		b := newBootstrap(values, qs)
		random := rng.New(rapid.Uint64().Draw(rt, "seed"), "bootstrap", 0)
		b.resample(&random)
		var all []int64
		edges := 0
		for i, v := range values {
			if b.weight[i] < 0 {
				rt.Fatalf("value %d is there %d times", i, b.weight[i])
			}
			for range b.weight[i] {
				all = append(all, v)
			}
			if i > 0 && b.weight[i] != b.weight[i-1] {
				edges++
			}
		}
		if len(all) != len(values) {
			rt.Fatalf("%d values of %d", len(all), len(values))
		}
		if edges > 2*blockParts {
			rt.Errorf("%d edges of %d blocks", edges, blockParts)
		}
		slices.Sort(all)
		for i, q := range qs {
			if got, want := b.quantile(i), all[rank(q, int64(len(all)))-1]; got != want {
				rt.Errorf("quantile %v is %d, want %d", q, got, want)
			}
		}
	})
}

// Of independent values the interval covers the quantile about as often as it says; of
// values that stay together for longer than a block it does not, which is why it is for
// looking only.
func TestBlockIntervalsCover(t *testing.T) {
	const runs, n = 300, 1000
	median := 1e6 * math.Ln2 // of exponential values with mean 1e6
	for name, c := range map[string]struct {
		hold    int // values that are alike
		low, up float64
	}{
		"independent": {1, 0.88, 0.99},
		"correlated":  {200, 0.2, 0.8},
	} {
		covered := 0
		for run := range runs {
			s := rng.New(uint64(run), name, 0)
			values := make([]int64, n)
			for i := range values {
				if i%c.hold == 0 {
					values[i] = int64(1e6 * s.Exp())
				} else {
					values[i] = values[i-1]
				}
			}
			in, err := BlockIntervals(values, []float64{0.5}, &s)
			if err != nil {
				t.Fatal(err)
			}
			if in[0].Lo <= median && median <= in[0].Hi {
				covered++
			}
		}
		if share := float64(covered) / runs; share < c.low || share > c.up {
			t.Errorf("%s: %.3f of the intervals cover the median, want %v to %v", name, share, c.low, c.up)
		}
	}
	random := rng.New(0, "", 0)
	if _, err := BlockIntervals(make([]int64, MinBootstrap-1), []float64{0.5}, &random); err == nil {
		t.Error("an interval of too few values")
	}
}
