package stats

import (
	"math"
	"testing"

	"goodput/loadgen/rng"
)

// autoregressive is a process whose integrated autocorrelation time is
// (1+phi)/(1-phi).
func autoregressive(n int, phi float64) []float64 {
	s := rng.New(7, "series", 0)
	out := make([]float64, n)
	x := 0.0
	for i := range out {
		x = phi*x + math.Sqrt(1-phi*phi)*s.Norm()
		out[i] = 5 + x
	}
	return out
}

func TestEffective(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		phi  float64
	}{
		{"independent", 10_000, 0}, {"correlated", 10_000, 0.9}, {"more than there are cells", 300_000, 0.9},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Series
			x := autoregressive(c.n, c.phi)
			for i := len(x) - 1; i >= 0; i-- { // in any order
				s.Add(uint64(i), x[i])
			}
			want := float64(c.n) * (1 - c.phi) / (1 + c.phi)
			if got, ok := s.Effective(new(Correlator)); !ok || math.Abs(got/want-1) > 0.2 {
				t.Errorf("%.0f independent of %d (%v), want %.0f within 20 %%", got, c.n, ok, want)
			}
			if s.N() != int64(c.n) {
				t.Errorf("N is %d", s.N())
			}
		})
	}
}

func TestEffectiveOfOddSeries(t *testing.T) {
	var few, equal, sparse Series
	for i := range uint64(31) {
		few.Add(i, float64(i))
	}
	if _, ok := few.Effective(new(Correlator)); ok {
		t.Error("31 values tell of their correlation")
	}
	for i := range uint64(100) {
		equal.Add(i, 3)
		sparse.Add(i*1_000_003, float64(i%7))
	}
	if n, ok := equal.Effective(new(Correlator)); !ok || n != 100 {
		t.Errorf("equal values: %v %v", n, ok)
	}
	if n, ok := sparse.Effective(new(Correlator)); !ok || !(n > 0) || n > 100 {
		t.Errorf("values far apart: %v %v", n, ok)
	}
}

func TestTransient(t *testing.T) {
	// A queue that fills up over 100 values and is level from there on.
	x := autoregressive(1000, 0)
	for i := range 100 {
		x[i] -= 50 * (1 - float64(i)/100)
	}
	if cut := Transient(x); cut < 80 || cut > 130 {
		t.Errorf("a transient of 100 values is cut at %d", cut)
	}
	if cut := Transient(autoregressive(1000, 0)); cut > 300 {
		t.Errorf("a level series is cut at %d", cut)
	}
	if cut := Transient(nil); cut != 0 {
		t.Errorf("nothing is cut at %d", cut)
	}
}

// The first lags, one by one, are those of the transform.
func TestCovariancesAreThoseOfTheTransform(t *testing.T) {
	x := autoregressive(1000, 0.9)
	mean := 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i := range x {
		x[i] -= mean
	}
	var w Correlator
	w.autocovariance(autoregressive(1500, 0.1)) // leaves nothing behind
	all := w.autocovariance(x)
	for lag := 0; lag+1 < len(x); lag += 2 {
		even, odd := covariances(x, lag)
		if math.Abs(even-all[lag]) > 1e-12 || math.Abs(odd-all[lag+1]) > 1e-12 {
			t.Fatalf("lags %d and %d: %v and %v, by transform %v and %v", lag, lag+1, even, odd, all[lag], all[lag+1])
		}
	}
}

// A Correlator that was used before gives what a new one does.
func TestCorrelatorIsUsedAgain(t *testing.T) {
	var w Correlator
	for _, c := range []struct {
		n   int
		phi float64
	}{{3000, 0.99}, {100, 0.5}, {5000, 0.2}, {3000, 0.995}} {
		var s Series
		for i, v := range autoregressive(c.n, c.phi) {
			s.Add(uint64(i), v)
		}
		got, _ := s.Effective(&w)
		if want, _ := s.Effective(new(Correlator)); got != want {
			t.Errorf("%d values of phi %v: %v, by a new one %v", c.n, c.phi, got, want)
		}
	}
}

func TestExpectChangesNoFigure(t *testing.T) {
	var s, expected Series
	expected.Expect(3 * Cells)
	var sample, roomy Sample
	roomy.Expect(10)
	for i, v := range autoregressive(Cells+1000, 0.5) {
		s.Add(uint64(i), v)
		expected.Add(uint64(i), v)
		sample.Add(int64(1e6 * v))
		roomy.Add(int64(1e6 * v))
	}
	a, _ := s.Effective(new(Correlator))
	if b, _ := expected.Effective(new(Correlator)); a != b {
		t.Errorf("effective %v, with room for more %v", a, b)
	}
	if a, b := sample.Summary(), roomy.Summary(); a != b {
		t.Errorf("summary %v, with room for less %v", a, b)
	}
}
