package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func sampleOf(values ...int64) *Sample {
	s := &Sample{}
	for _, v := range values {
		s.Add(v)
	}
	return s
}

func TestNearestRank(t *testing.T) {
	twenty := make([]int64, 20)
	for i := range twenty {
		twenty[i] = int64(20 - i) // unsorted on purpose
	}
	for _, c := range []struct {
		name   string
		values []int64
		q      float64
		want   int64
	}{
		{"one value", []int64{7}, 0.999, 7},
		{"median of two is the lower", []int64{9, 1}, 0.5, 1},
		{"P95 of twenty is the nineteenth", twenty, 0.95, 19},
		{"P90 of twenty is the eighteenth", twenty, 0.90, 18},
		{"P99 of twenty is the largest", twenty, 0.99, 20},
		{"negative values", []int64{-5, -1, -3}, 0.5, -3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := sampleOf(c.values...).Quantile(c.q); !ok || got != c.want {
				t.Errorf("got %d %v, want %d", got, ok, c.want)
			}
		})
	}
	if _, ok := sampleOf().Quantile(0.5); ok {
		t.Error("an empty sample has a median")
	}
}

func TestQuantileDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(-1000, 1000), 1, 300).Draw(t, "values")
		permille := rapid.IntRange(1, 999).Draw(t, "permille")
		got, _ := sampleOf(values...).Quantile(float64(permille) / 1000)
		atMost, below := 0, 0
		for _, v := range values {
			if v <= got {
				atMost++
			}
			if v < got {
				below++
			}
		}
		if atMost*1000 < permille*len(values) || below*1000 >= permille*len(values) || !slices.Contains(values, got) {
			t.Fatalf("quantile %d/1000 of %v is not %d", permille, values, got)
		}
	})
}

// TestQuantilesOfMany holds a sample of more values than are kept against all of
// them.
func TestQuantilesOfMany(t *testing.T) {
	for name, draw := range map[string]func(i int) int64{
		"around zero":   func(i int) int64 { return int64(i*7919%200_003) - 70_000 },
		"nanoseconds":   func(i int) int64 { return 1_000_000 + int64(i*7919%200_003)*int64(i%977) },
		"all negative":  func(i int) int64 { return -1 - int64(i*7919%200_003) },
		"all the same":  func(int) int64 { return 7 },
		"the extremes":  func(i int) int64 { return []int64{math.MinInt64, -1, 0, math.MaxInt64}[i%4] },
		"nearly sorted": func(i int) int64 { return int64(i ^ 5) },
	} {
		t.Run(name, func(t *testing.T) {
			var s Sample
			var all []int64
			for i := range 3 * Kept {
				s.Add(draw(i))
				all = append(all, draw(i))
			}
			if s.values != nil {
				t.Error("all values are kept")
			}
			slices.Sort(all)
			for permille := 1; permille < 1000; permille += 7 {
				q := float64(permille) / 1000
				got, _ := s.Quantile(q)
				want := all[rank(q, int64(len(all)))-1]
				if d := math.Abs(float64(got) - float64(want)); d > math.Abs(float64(want))/8191 || got < want {
					t.Fatalf("quantile %d/1000 is %d, want %d", permille, got, want)
				}
			}
			sum := s.Summary()
			if sum.N != int64(len(all)) || sum.Max != float64(all[len(all)-1]) {
				t.Errorf("got %+v", sum)
			}
		})
	}
}

func TestArrangeIsASortAtTheIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, rapid.SampledFrom([]int64{1, 20, 1e9}).Draw(t, "most")), 1, 400).Draw(t, "values")
		at := rapid.SliceOfN(rapid.IntRange(0, len(values)-1), 1, 6).Draw(t, "at")
		slices.Sort(at)
		sorted := slices.Sorted(slices.Values(values))
		arrange(values, slices.Clone(at))
		for _, i := range at {
			if values[i] != sorted[i] {
				t.Fatalf("value %d is %d, want %d", i, values[i], sorted[i])
			}
		}
		slices.Sort(values)
		if !slices.Equal(values, sorted) {
			t.Fatal("values were lost")
		}
	})
}

func TestMeanIsExact(t *testing.T) {
	big := sampleOf(math.MaxInt64, math.MaxInt64, math.MinInt64+2, 3)
	if got, want := big.Summary().Mean, float64(math.MaxInt64)/4+1; math.Abs(got-want) > 2048 {
		t.Errorf("got %g, want %g", got, want)
	}
	s := &Sample{}
	for i := range int64(5000) {
		s.Add(1<<52 + i)
	}
	if got, want := s.Summary().Mean, float64(1<<52)+2499.5; got != want {
		t.Errorf("got %f, want %f", got, want)
	}
}

// The values are those of the binomial: an interval between order statistics
// that covers the quantile with 95 % on both sides needs at least so many.
func TestMinN(t *testing.T) {
	for q, want := range map[float64]int64{0.50: 6, 0.90: 36, 0.95: 72, 0.99: 368, 0.999: 3688} {
		if got := MinN(q); got != want {
			t.Errorf("MinN(%v) = %d, want %d", q, got, want)
		}
	}
	if d := cmp.Diff([]string{"p99", "p99.9"}, Unreliable(367)); d != "" {
		t.Error(d)
	}
	if got := Unreliable(3688); got != nil {
		t.Errorf("3688 values: %v are called unreliable", got)
	}
}

func TestHistAgreesWithSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<34), 1, 500).Draw(t, "values")
		h, s := NewHist(), &Sample{}
		small := rapid.SliceOfN(rapid.Int32Range(0, rapid.SampledFrom([]int32{2000, 4000, math.MaxInt32}).Draw(t, "most")), 0, 50).Draw(t, "small values")
		if err := h.AddAll(small); err != nil {
			t.Fatal(err)
		}
		for _, v := range small {
			s.Add(int64(v))
		}
		for _, v := range values {
			if err := h.Add(v, 1); err != nil {
				t.Fatal(err)
			}
			s.Add(v)
		}
		got, want := h.Summary(), s.Summary()
		if got.N != want.N || got.Max != want.Max || math.Abs(got.Mean-want.Mean) > 1e-9*want.Mean {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		for _, p := range [][2]float64{{got.P50, want.P50}, {got.P90, want.P90}, {got.P95, want.P95}, {got.P99, want.P99}, {got.P99_9, want.P99_9}} {
			if math.Abs(p[0]-p[1]) > 1e-3*p[1]+1 {
				t.Fatalf("quantile %g, want %g within 0.1 %%", p[0], p[1])
			}
		}
	})
}

func TestHistLimits(t *testing.T) {
	h := NewHist()
	if h.Add(-1, 1) == nil || h.AddAll([]int32{3, -1}) == nil {
		t.Error("a negative value was taken")
	}
	if err := h.Add(Limit*4, 2); err != nil {
		t.Fatal(err)
	}
	if got := h.Summary(); got.N != 2 || got.Max != float64(Limit*4) || got.Mean != float64(Limit*4) {
		t.Errorf("got %+v", got)
	}
}

func BenchmarkSampleSummary(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var s Sample
				for i := range n {
					s.Add(int64(i * 7919 % 200_003))
				}
				s.Summary()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/value")
		})
	}
}

func BenchmarkHistAddAll(b *testing.B) {
	h := NewHist()
	gaps := make([]int32, 255)
	for i := range gaps {
		gaps[i] = int32(7600 + i*37%1200) // over a power of two
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := h.AddAll(gaps); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleSample() {
	var s Sample
	for _, v := range []int64{30, 10, 20, 40} {
		s.Add(v)
	}
	fmt.Printf("%+v\n", s.Summary())
	// Output: {N:4 Mean:25 P50:20 P90:40 P95:40 P99:40 P99_9:40 Max:40}
}
