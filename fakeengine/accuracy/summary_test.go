package accuracy

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"goodput/profiles/evidence"
)

func errorsOf(es ...float64) []Comparison {
	var out []Comparison
	for _, e := range es {
		out = append(out, Comparison{Point: &evidence.Point{Source: "lab"}, Measure: TPOT, GPU: "h100-sxm", Era: Modern, Measured: 10, Predicted: 10 * (1 + e)})
	}
	return out
}

func TestSummaryByHand(t *testing.T) {
	s := Summarise(errorsOf(-0.2, 0.1, 0.3, 0.0, -0.1))[0]
	for name, v := range map[string][2]float64{
		"median": {s.Median, 0.1}, "p90": {s.P90, 0.26}, "bias": {s.Bias, 0}, "largest": {s.Largest, 0.3},
	} {
		if math.Abs(v[0]-v[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, v[0], v[1])
		}
	}
	if s.N != 5 || s.Worst.Predicted != 13 {
		t.Errorf("n %d, worst %+v", s.N, s.Worst)
	}
}

func TestVerdict(t *testing.T) {
	b := []Bound{{"h100-sxm", Modern, "steps", stepTimes(), 0.1, 0.2, 0.5}}
	for _, c := range []struct {
		name   string
		errors []float64
		want   Verdict
	}{
		{"none", nil, Unchecked},
		{"inside the bounds", []float64{0.09, 0.09, -0.09}, Within},
		{"median", []float64{0.11, -0.11, 0.11}, Exceeded},
		{"p90", []float64{0, 0, 0, 0, 0.3, 0.3}, Exceeded},
		{"largest", []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.6}, Exceeded},
	} {
		if got := Judge(errorsOf(c.errors...), b, []string{"h100-sxm"})[0].Verdict(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Judge(nil, b, []string{"mi300x"}); len(got) != 0 {
		t.Errorf("bounds of a GPU that was not asked for: %+v", got)
	}
	if s := Summarise(errorsOf(9))[0]; s.Verdict() != NoBound {
		t.Errorf("%q without a bound", s.Verdict())
	}
}

func TestQuantileIsOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(0, 10), 1, 50).Draw(t, "values")
		slices.Sort(v)
		lo, hi := quantile(v, 0.5), quantile(v, 0.9)
		if v[0] > lo || lo > hi || hi > v[len(v)-1] {
			t.Errorf("min %v median %v p90 %v max %v", v[0], lo, hi, v[len(v)-1])
		}
	})
}

// TestBoundsAreBounds: each is of a profile, bounds something and is the only one of
// its figures.
func TestBoundsAreBounds(t *testing.T) {
	seen := map[string]bool{}
	for _, b := range Bounds() {
		id := b.GPU + b.Name
		if seen[id] || b.Median+b.P90+b.Largest == 0 || len(b.Measures) == 0 {
			t.Errorf("%+v", b)
		}
		seen[id] = true
	}
}
