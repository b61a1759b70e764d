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
			top.Add(k, 0, []float64{float64(3 * k), 1})
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
		top.Add(1e9*(1+i), i, []float64{1e9 * float64(1+i)})
	}
	if got := top.Mean(10)[0]; got != 995.5e9 { // 991 to 1000
		t.Errorf("got %v", got)
	}
	top.Add(-5, 0, []float64{0})
	top.Add(math.MaxInt64, 0, []float64{7})
	if got := top.Mean(1)[0]; got != 7 {
		t.Errorf("got %v", got)
	}
}

// TestTopBeyondExact: of more rows than are kept, alike ones share.
func TestTopBeyondExact(t *testing.T) {
	top := NewTop(1)
	for i := range int64(100_000) {
		top.Add(1e6*(1+i*7919%100_000), i, []float64{1e6 * float64(1+i*7919%100_000)})
	}
	for n, off := range map[int64]float64{1: 0, 1000: 0, TopExact: 0, TopExact + 1: 0.004, 50_000: 0.004} {
		want := 1e6 * (100_000 - float64(n-1)/2)
		if got := top.Mean(n)[0]; math.Abs(got/want-1) > off+1e-12 {
			t.Errorf("the mean of %d is %v, want %v", n, got, want)
		}
	}
}

// TestTopOfEqualKeys: the lower ids count.
func TestTopOfEqualKeys(t *testing.T) {
	top := NewTop(1)
	for _, id := range []int64{3, 1, 2} {
		top.Add(10, id, []float64{float64(id)})
	}
	if got := top.Mean(2)[0]; got != 1.5 {
		t.Errorf("got %v, want that of 1 and 2", got)
	}
}

func TestTopOfTooFew(t *testing.T) {
	top := NewTop(1)
	top.Add(1, 0, []float64{1})
	if top.Mean(2) != nil || top.Mean(0) != nil {
		t.Error("a mean of rows that are not there")
	}
}

// TestTopOfAlikeRows: any number of rows, up to all, has a mean, though all are alike.
func TestTopOfAlikeRows(t *testing.T) {
	top := NewTop(1)
	for n := int64(1); n <= 200; n++ {
		top.Add(1000, n, []float64{3})
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
