package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Keys below 512 have cells of their own, so a sort is an exact oracle, but for
// rows of equal keys, which count with their mean.
func TestTopIsAMeanOverTheLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Int64Range(0, 511), 1, 200).Draw(t, "keys")
		n := rapid.IntRange(1, len(keys)).Draw(t, "n")
		top := NewTop(2)
		for _, k := range keys {
			top.Add(k, []float64{float64(3 * k), 1})
		}
		got := top.Mean(int64(n))
		slices.Sort(keys)
		want := 0.0
		for _, k := range keys[len(keys)-n:] {
			want += float64(3*k) / float64(n)
		}
		if math.Abs(got[0]-want) > 1e-9*want || math.Abs(got[1]-1) > 1e-9 || top.N() != int64(len(keys)) {
			t.Fatalf("the largest %d of %v: %v, want %v", n, keys, got, want)
		}
	})
}

func TestTopOfLargeKeys(t *testing.T) {
	top := NewTop(1)
	for i := range int64(1000) {
		top.Add(1e9*(1+i), []float64{1e9 * float64(1+i)})
	}
	// The ten largest are 991 to 1000; cells up to 0.4 % wide hold four of them.
	if got := top.Mean(10)[0]; math.Abs(got/995.5e9-1) > 0.004 {
		t.Errorf("got %v", got)
	}
	top.Add(-5, []float64{0})
	top.Add(math.MaxInt64, []float64{7})
	if got := top.Mean(1)[0]; got != 7 {
		t.Errorf("got %v", got)
	}
}

func TestTopOfTooFew(t *testing.T) {
	top := NewTop(1)
	top.Add(1, []float64{1})
	if top.Mean(2) != nil || top.Mean(0) != nil {
		t.Error("a mean of rows that are not there")
	}
}

// TestTopOfAlikeRows: any number of rows, up to all, has a mean, though all are alike.
func TestTopOfAlikeRows(t *testing.T) {
	top := NewTop(1)
	for n := int64(1); n <= 200; n++ {
		top.Add(1000, []float64{3})
		for k := int64(1); k <= n; k++ {
			if m := top.Mean(k); len(m) != 1 || math.Abs(m[0]-3) > 1e-9 {
				t.Fatalf("the mean of %d of %d rows is %v", k, n, m)
			}
		}
		if top.Mean(n+1) != nil {
			t.Fatalf("%d rows have a mean of %d", n, n+1)
		}
	}
}
