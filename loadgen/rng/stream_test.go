package rng_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"goodput/loadgen/rng"
)

// take returns the first n values of f.
func take[T any](n int, f func() T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f()
	}
	return out
}

func TestStreamsAreIndependent(t *testing.T) {
	const n = 20_000
	cases := []struct {
		name string
		a, b rng.Stream
	}{
		{"another id", rng.New(7, "x", 0), rng.New(7, "x", 1)},
		{"another name", rng.New(7, "x", 0), rng.New(7, "y", 0)},
		{"another seed", rng.New(7, "x", 0), rng.New(8, "x", 0)},
		{"seed 0 and 1", rng.New(0, "x", 0), rng.New(1, "x", 0)},
		{"seed and id exchanged", rng.New(3, "x", 4), rng.New(4, "x", 3)},
		{"high bits of id", rng.New(7, "x", 1), rng.New(7, "x", 1|1<<63)},
		{"no name", rng.New(7, "", 0), rng.New(7, "x", 0)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, y := take(n, c.a.Float64), take(n, c.b.Float64)
			// The correlation of two independent series is about normal with
			// standard deviation 1/sqrt(n).
			for lag := range 3 {
				r := stat.Correlation(x[:n-3], y[lag:n-3+lag], nil)
				if math.Abs(r) > 4/math.Sqrt(n) {
					t.Errorf("correlation at lag %d is %.4f", lag, r)
				}
			}
		})
	}
}

// TestFirstValuesAcrossIDs takes one value of each of many streams: that is how
// per-request choices use them, and weak seeding would show here.
func TestFirstValuesAcrossIDs(t *testing.T) {
	id := uint64(0)
	x := take(20_000, func() float64 {
		s := rng.New(0, "prompt", id)
		id++
		return s.Float64()
	})
	if r := stat.Correlation(x[1:], x[:len(x)-1], nil); math.Abs(r) > 4/math.Sqrt(float64(len(x))) {
		t.Errorf("neighbouring ids correlate: %.4f", r)
	}
	checkKS(t, x, distuv.Uniform{Min: 0, Max: 1})
}

func TestNewIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, name, id := rapid.Uint64().Draw(t, "seed"), rapid.String().Draw(t, "name"), rapid.Uint64().Draw(t, "id")
		a, b := rng.New(seed, name, id), rng.New(seed, name, id)
		if x, y := take(8, a.Uint64), take(8, b.Uint64); !slices.Equal(x, y) {
			t.Fatalf("%x and %x differ", x, y)
		}
		c := rng.New(seed, name, id+1)
		a = rng.New(seed, name, id)
		if x, y := take(2, a.Uint64), take(2, c.Uint64); slices.Equal(x, y) {
			t.Fatalf("id %d and the next give the same values", id)
		}
	})
}

func TestCopyForks(t *testing.T) {
	a := rng.New(1, "fork", 0)
	a.Uint64()
	b := a
	if diff := cmp.Diff(take(5, a.Uint64), take(5, b.Uint64)); diff != "" {
		t.Error(diff)
	}
}

func TestIntN(t *testing.T) {
	t.Run("uniform", func(t *testing.T) {
		const n, draws = 7, 70_000
		s := rng.New(0, "intn", 0)
		var count [n]float64
		for range draws {
			count[s.IntN(n)]++
		}
		var chi2 float64
		for _, c := range count {
			chi2 += (c - draws/n) * (c - draws/n) / (draws / n)
		}
		if p := (distuv.ChiSquared{K: n - 1}).Survival(chi2); p < 1e-4 {
			t.Errorf("counts %v: p = %g", count, p)
		}
	})
	t.Run("rejects the surplus of a large range", func(t *testing.T) {
		// Without rejection, eight consecutive draws would map to the residues
		// 0 0 0 1 1 1 2 2.
		const n, draws = 3 << 61, 30_000
		s := rng.New(0, "intn", 1)
		mod := [3]float64{}
		for range draws {
			mod[s.IntN(n)%3]++
		}
		for i, c := range mod {
			if math.Abs(c-draws/3) > 4*math.Sqrt(draws*2.0/9) {
				t.Errorf("residue %d came up %v times of %d", i, c, draws)
			}
		}
	})
	t.Run("in range", rapid.MakeCheck(func(t *rapid.T) {
		s := rng.New(rapid.Uint64().Draw(t, "seed"), "intn", 0)
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		if x := s.IntN(n); x < 0 || x >= n {
			t.Fatalf("IntN(%d) = %d", n, x)
		}
	}))
	for _, n := range []int{0, -1, math.MinInt} {
		t.Run(fmt.Sprint("panics for ", n), func(t *testing.T) {
			mustPanic(t, func() { s := rng.New(0, "", 0); s.IntN(n) })
		})
	}
}

func TestShuffle(t *testing.T) {
	t.Run("permutes", rapid.MakeCheck(func(t *rapid.T) {
		n := rapid.IntRange(0, 50).Draw(t, "n")
		s := rng.New(rapid.Uint64().Draw(t, "seed"), "shuffle", 0)
		x := make([]int, n)
		for i := range x {
			x[i] = i
		}
		s.Shuffle(n, func(i, j int) { x[i], x[j] = x[j], x[i] })
		slices.Sort(x)
		for i := range x {
			if x[i] != i {
				t.Fatalf("not a permutation: %v", x)
			}
		}
	}))
	t.Run("each order is as likely", func(t *testing.T) {
		const draws = 60_000
		s := rng.New(0, "shuffle", 0)
		var count [3][3][3]float64
		for range draws {
			x := [3]int{0, 1, 2}
			s.Shuffle(3, func(i, j int) { x[i], x[j] = x[j], x[i] })
			count[x[0]][x[1]][x[2]]++
		}
		for _, x := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			c := count[x[0]][x[1]][x[2]]
			if math.Abs(c-draws/6) > 4*math.Sqrt(draws*5.0/36) {
				t.Errorf("order %v came up %v times of %d", x, c, draws)
			}
		}
	})
}

func TestIsASourceForRand(t *testing.T) {
	s := rng.New(0, "source", 0)
	want := s
	r := rand.New(&s)
	if got := r.Uint64(); got != want.Uint64() {
		t.Errorf("rand.Rand drew %x", got)
	}
}

func TestAllocatesNothing(t *testing.T) {
	sum := 0.0
	n := testing.AllocsPerRun(100, func() {
		s := rng.New(1, "alloc", 2)
		sum += s.Float64() + s.Exp() + s.Norm() + s.Gamma(0.5) + float64(s.IntN(10))
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func ExampleNew() {
	a := rng.New(42, "arrivals", 0)
	b := rng.New(42, "arrivals", 0)
	fmt.Println(a.Uint64() == b.Uint64())

	c := rng.New(42, "prompts", 0)
	fmt.Println(a.Uint64() == c.Uint64())
	// Output:
	// true
	// false
}

func BenchmarkStream(b *testing.B) {
	s := rng.New(0, "bench", 0)
	var sink float64
	for _, c := range []struct {
		name string
		f    func() float64
	}{
		{"new", func() float64 { q := rng.New(1, "bench", 7); return q.Float64() }},
		{"float64", s.Float64},
		{"intn", func() float64 { return float64(s.IntN(1000)) }},
		{"exp", s.Exp},
		{"norm", s.Norm},
		{"gamma 0.5", func() float64 { return s.Gamma(0.5) }},
		{"gamma 2", func() float64 { return s.Gamma(2) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink += c.f()
			}
		})
	}
	_ = sink
}
