package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/rng"
)

func ExampleFlipInterval() {
	in, err := FlipInterval([]float64{0.02, 0.05, 0.03, 0.04, 0.01, 0.06}, 0.95)
	fmt.Printf("%.3f [%.3f, %.3f] %v\n", in.Value, in.Lo, in.Hi, err)
	_, err = FlipInterval([]float64{0.02, 0.05, 0.03, 0.04, 0.01}, 0.95)
	fmt.Println(err)
	// Output:
	// 0.035 [0.010, 0.060] <nil>
	// 5 differences have 32 assignments of signs, too few for 95 % confidence
}

// The interval is what the two-sided test leaves: a shift just outside is rejected at the
// level, and one just inside is not.
func TestFlipIntervalInvertsTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 1), MinFlips, 10).Draw(t, "values")
		in, err := FlipInterval(values, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Min(values) == slices.Max(values) {
			return
		}
		const off = 1e-9
		minus := func() []float64 {
			out := slices.Clone(values)
			for i := range out {
				out[i] = -out[i]
			}
			return out
		}()
		if p := FlipAbove(values, in.Lo-off); p > 0.025+1e-12 {
			t.Fatalf("%v below %v is not rejected: p %v", in.Lo-off, in, p)
		}
		if p := FlipAbove(minus, -(in.Hi + off)); p > 0.025+1e-12 {
			t.Fatalf("%v above %v is not rejected: p %v", in.Hi+off, in, p)
		}
		if p := FlipAbove(values, in.Lo+off); p <= 0.025 {
			t.Fatalf("%v within %v is rejected: p %v", in.Lo+off, in, p)
		}
		if in.Lo > in.Value || in.Hi < in.Value {
			t.Fatalf("%v does not hold its mean", in)
		}
	})
}

// Of values without a change the interval leaves zero out in 5 % of cases at most, whatever
// their distribution, and in nearly as many.
func TestFlipIntervalCovers(t *testing.T) {
	for name, draw := range map[string]func(*rng.Stream) float64{
		"normal":      func(s *rng.Stream) float64 { return s.Norm() },
		"heavy tails": func(s *rng.Stream) float64 { return math.Pow(s.Norm(), 5) },
	} {
		out := 0
		const cases = 2000
		for i := range cases {
			s := rng.New(1, name, uint64(i))
			values := make([]float64, 8)
			for k := range values {
				values[k] = draw(&s)
			}
			in, err := FlipInterval(values, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if in.Lo > 0 || in.Hi < 0 {
				out++
			}
		}
		if share := float64(out) / cases; share < 0.03 || share > 0.06 {
			t.Errorf("%s: %.3f of intervals leave the truth out", name, share)
		}
	}
}

func TestFlipRefuses(t *testing.T) {
	for _, values := range [][]float64{nil, make([]float64, MaxFlips+1), {1, 2, 3, 4, 5, math.NaN()}} {
		if in, err := FlipInterval(values, 0.95); err == nil {
			t.Errorf("%d values: %v", len(values), in)
		}
	}
	if !math.IsNaN(FlipAbove(nil, 0)) {
		t.Error("no values have no p-value")
	}
}
