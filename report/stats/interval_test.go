package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/rng"
)

func ExampleMean() {
	// ln ratios of five paired runs: about 10 % slower.
	i, err := Mean([]float64{0.11, 0.08, 0.10, 0.12, 0.07}, 0.95)
	fmt.Printf("%.3f [%.3f, %.3f] n=%d %v\n", i.Value, i.Lo, i.Hi, i.N, err)
	// Output: 0.096 [0.070, 0.122] n=5 <nil>
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

func TestMean(t *testing.T) {
	one, err := Mean([]float64{3}, 0.95)
	if err != nil || one.Value != 3 || !math.IsNaN(one.Lo) || !math.IsNaN(one.TwoSided()) {
		t.Errorf("one value: %+v, %v; want no interval", one, err)
	}
	for _, bad := range [][]float64{nil, {1, math.NaN()}, {math.Inf(1)}} {
		if _, err := Mean(bad, 0.95); err == nil {
			t.Errorf("%v gives a mean", bad)
		}
	}
	// t(2, 0.975) = 4.302653; sd of 1, 2, 3 is 1.
	three, err := Mean([]float64{1, 2, 3}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "upper bound", three.Hi, 2+4.302653/math.Sqrt(3), 1e-5)
	near(t, "p of mean zero", three.TwoSided(), 0.0741799, 1e-6)
	near(t, "p of above 1", three.Above(1), 0.1127017, 1e-6)
	same, _ := Mean([]float64{2, 2}, 0.95)
	none, _ := Mean([]float64{0, 0}, 0.95)
	if same.TwoSided() != 0 || none.TwoSided() != 1 || same.Above(1) != 0 || same.Above(2) != 1 {
		t.Error("identical replications are not judged by equality")
	}
}

// The interval holds the truth in 95 % of cases.
func TestMeanCovers(t *testing.T) {
	s := rng.New(1, "interval", 0)
	const cases = 2000
	held := 0
	for range cases {
		values := make([]float64, 5)
		for i := range values {
			values[i] = s.Norm()
		}
		i, _ := Mean(values, 0.95)
		if i.Lo <= 0 && 0 <= i.Hi {
			held++
		}
	}
	lo, hi, err := ClopperPearson(held, cases, 0.999)
	if err != nil || lo > 0.95 || hi < 0.95 {
		t.Errorf("held in %d of %d: [%v, %v] %v", held, cases, lo, hi, err)
	}
}

func TestReplications(t *testing.T) {
	for _, c := range []struct {
		sd, off float64
		want    int
	}{
		{0, 1, 0}, {1, 0, 0}, {math.NaN(), 1, 0}, {0.001, 1, 2}, {1, 1, 10}, {1, 1e-9, 100_000},
	} {
		if got := Replications(c.sd, c.off, 0.95); got != c.want {
			t.Errorf("sd %v off %v: %d, want %d", c.sd, c.off, got, c.want)
		}
	}
}

func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []float64
		want float64
	}{
		{"five of one sign can't reject", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"six of one sign can", []float64{1, 2, 3, 4, 5, 6}, 2.0 / 64},
		{"nothing differs", []float64{0, 0, 0}, 1},
		{"balanced", []float64{1, -1}, 1},
	} {
		if got, err := SignFlip(c.d); err != nil || got != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := SignFlip(make([]float64, MaxFlips+1)); err == nil {
		t.Error("too many differences are taken")
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, math.NaN(), 0.03})
	for i, want := range []float64{0.06, 0.03, math.NaN(), 0.06} {
		if !(math.Abs(got[i]-want) < 1e-12) && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
			t.Errorf("p %d: %v, want %v", i, got[i], want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 10).Draw(t, "p")
		for i, v := range Holm(p) {
			if v < p[i] || v > min(1, float64(len(p))*p[i])+1e-12 {
				t.Fatalf("%v became %v of %d", p[i], v, len(p))
			}
		}
	})
}

func TestClopperPearson(t *testing.T) {
	// Clopper & Pearson's interval of 1 in 10: 0.25 % to 44.50 %; 0 in 300 has the
	// two-sided upper bound 1.22 %.
	lo, hi, err := ClopperPearson(1, 10, 0.95)
	near(t, "lower", lo, 0.002529, 1e-6)
	near(t, "upper", hi, 0.445016, 1e-6)
	if err != nil {
		t.Error(err)
	}
	lo, hi, _ = ClopperPearson(0, 300, 0.95)
	near(t, "upper of none", hi, 0.012220, 1e-5)
	if lo != 0 {
		t.Errorf("lower of none is %v", lo)
	}
	if _, hi, _ = ClopperPearson(5, 5, 0.95); hi != 1 {
		t.Errorf("upper of all is %v", hi)
	}
	for _, bad := range [][2]int{{1, 0}, {-1, 5}, {6, 5}} {
		if _, _, err := ClopperPearson(bad[0], bad[1], 0.95); err == nil {
			t.Errorf("%v has an interval", bad)
		}
	}
}

// What so many replications detect needs as many.
func TestDetectable(t *testing.T) {
	for n := 2; n < 40; n++ {
		found := Detectable(0.1, n, 0.95)
		if got := Replications(0.1, found*1.0001, 0.95); got > n {
			t.Errorf("%d replications detect %v, which needs %d", n, found, got)
		}
	}
	if !math.IsNaN(Detectable(0.1, 1, 0.95)) {
		t.Error("one replication has no spread")
	}
}
