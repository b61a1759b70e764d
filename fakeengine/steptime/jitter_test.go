package steptime

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// flat makes every step take as long.
type flat int64

func (f flat) Step(*Batch) int64 { return int64(f) }

// floored is flat with a floor.
type floored struct {
	flat
	floor int64
}

func (f floored) Floor(*Batch) int64 { return f.floor }

const second = 1_000_000_000_000 // ps

func jittered(t testing.TB, m Model, sigma float64, seed uint64) func(int) Model {
	t.Helper()
	f, err := Jittered(m, sigma, seed)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func steps(m Model, n int) []int64 {
	b := Batch{Tokens: 1, Seqs: 1}
	out := make([]int64, n)
	for i := range out {
		out[i] = m.Step(&b)
	}
	return out
}

func TestJitterIsLognormalWithMeanOne(t *testing.T) {
	const n, sigma = 100_000, 0.2
	logs, sum := make([]float64, n), 0.0
	for i, ps := range steps(jittered(t, flat(second), sigma, 1)(0), n) {
		f := float64(ps) / second
		logs[i], sum = math.Log(f), sum+f
	}
	mean, sd := stat.MeanStdDev(logs, nil)
	// Four standard errors of each.
	if e := 4 * sigma / math.Sqrt(n); math.Abs(mean+sigma*sigma/2) > e || math.Abs(sum/n-1) > 1.1*e {
		t.Errorf("logarithms have mean %.5f, want %.5f; factors have mean %.5f, want 1", mean, -sigma*sigma/2, sum/n)
	}
	if math.Abs(sd-sigma) > 4*sigma/math.Sqrt(2*n) {
		t.Errorf("logarithms have deviation %.5f, want %v", sd, sigma)
	}
	if skew := stat.Skew(logs, nil); math.Abs(skew) > 4*math.Sqrt(6.0/n) {
		t.Errorf("logarithms have skewness %.4f, want 0", skew)
	}
}

func TestJitterDependsOnSeedReplicaAndStepAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		order := rapid.SliceOfN(rapid.IntRange(0, 2), 0, 60).Draw(rt, "order of execution")
		f := jittered(t, flat(second), 0.1, seed)
		replicas := []Model{f(0), f(1), f(2)}
		got := make([][]int64, 3)
		for _, i := range order {
			got[i] = append(got[i], steps(replicas[i], 1)...)
		}
		for i := range got {
			want := steps(jittered(t, flat(second), 0.1, seed)(i), len(got[i]))
			if diff := cmp.Diff(want, append([]int64{}, got[i]...)); diff != "" {
				rt.Fatalf("replica %d (-alone +interleaved):\n%s", i, diff)
			}
		}
	})
	all := [][]int64{
		steps(jittered(t, flat(second), 0.1, 1)(0), 20),
		steps(jittered(t, flat(second), 0.1, 1)(1), 20),
		steps(jittered(t, flat(second), 0.1, 2)(0), 20),
	}
	var draws []int64
	for _, s := range all {
		draws = append(draws, s...)
	}
	slices.Sort(draws)
	if n := len(slices.Compact(draws)); n != 60 {
		t.Errorf("%d distinct durations of 60: replicas, seeds or steps share draws", n)
	}
}

func TestJitterMeanMovesNoDraw(t *testing.T) {
	f := jittered(t, flat(second), 0.2, 1)
	want := steps(f(0), 4)
	j := f(0).(*Jitter)
	var got []int64
	for range want {
		if mean := j.Mean(&Batch{Tokens: 1, Seqs: 1}); mean != second {
			t.Errorf("mean %d ps, want that of the model, 1 s", mean)
		}
		got = append(got, steps(j, 1)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps with and without a look at the mean (-without +with):\n%s", diff)
	}
}

func TestJitterOfZeroIsTheModel(t *testing.T) {
	if got := jittered(t, flat(second), 0, 1)(3); got != Model(flat(second)) {
		t.Errorf("got %T, want the model itself", got)
	}
}

// Invariant 10 holds with jitter too.
func TestInvariant10JitterNeverGoesBelowTheFloor(t *testing.T) {
	const floor = second * 9 / 10
	got := steps(jittered(t, floored{second, floor}, 0.5, 1)(0), 1000)
	if low := slices.Min(got); low != floor {
		t.Errorf("the shortest of 1,000 steps is %d ps, want the floor of %d ps", low, int64(floor))
	}
	if low := slices.Min(steps(jittered(t, flat(second), 0.5, 1)(0), 1000)); low >= floor {
		t.Error("without a floor no step is shorter: the test shows nothing")
	}
	if low := slices.Min(steps(jittered(t, flat(1), MaxSigma, 1)(0), 1000)); low < 1 {
		t.Errorf("a step of %d ps", low)
	}
}

func TestJitteredRefuses(t *testing.T) {
	for _, sigma := range []float64{-0.1, MaxSigma * 1.01, math.NaN(), math.Inf(1)} {
		if _, err := Jittered(flat(1), sigma, 0); err == nil {
			t.Errorf("sigma %v: no error", sigma)
		}
	}
}

func TestJitterDoesNotAllocate(t *testing.T) {
	m := jittered(t, analytic(t, 1, 8192), 0.1, 1)(0)
	b := Batch{Tokens: 300, Seqs: 64, Emit: 64, DecodeCtx: 64_000, PrefillPairs2: 50_000}
	if n := testing.AllocsPerRun(100, func() { m.Step(&b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkJitter(b *testing.B) {
	m := jittered(b, analytic(b, 1, 8192), 0.1, 1)(0)
	batch := Batch{Tokens: 300, Seqs: 64, Emit: 64, DecodeCtx: 64_000, PrefillPairs2: 50_000}
	b.ReportAllocs()
	for b.Loop() {
		m.Step(&batch)
	}
}
