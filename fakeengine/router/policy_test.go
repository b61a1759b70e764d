package router_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/router"
)

// build returns the policy or ends the test.
func build(tb testing.TB, spec string, seed uint64) router.Policy {
	tb.Helper()
	p, err := router.New(spec, seed)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// outstanding returns loads with the given requests in flight.
func outstanding(n ...int) []router.Load {
	up := make([]router.Load, len(n))
	for i, a := range n {
		up[i].ID, up[i].Outstanding = i, a
	}
	return up
}

// shares picks draws times at an unchanging load and counts the picks.
func shares(p router.Policy, up []router.Load, draws int) []int {
	got := make([]int, len(up))
	for range draws {
		got[p.Pick(&router.Request{}, up)]++
	}
	return got
}

// checkShares compares counts with probabilities, within five standard errors; a
// probability of 0 or 1 is exact.
func checkShares(t *testing.T, got []int, want []float64) {
	t.Helper()
	draws := 0
	for _, n := range got {
		draws += n
	}
	for i, p := range want {
		mean := p * float64(draws)
		if math.Abs(float64(got[i])-mean) > 5*math.Sqrt(mean*(1-p)) {
			t.Errorf("replica %d got %d of %d, want %.1f%%", i, got[i], draws, 100*p)
		}
	}
}

func TestRoundRobin(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		n    []int // size of the set at each pick
		want []int
	}{
		"in turn":                  {"round-robin", []int{3, 3, 3, 3}, []int{0, 1, 2, 0}},
		"counter moves first":      {"round-robin:start=1", []int{3, 3, 3}, []int{1, 2, 0}},
		"one counter for all sets": {"round-robin", []int{3, 3, 3, 3, 2, 2, 3}, []int{0, 1, 2, 0, 0, 1, 0}},
		"start beyond the set":     {"round-robin:start=5", []int{3, 3}, []int{2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			p := build(t, c.spec, 0)
			var got []int
			for _, n := range c.n {
				got = append(got, p.Pick(&router.Request{}, make([]router.Load, n)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShares checks how often a rule takes each replica when loads stand still.
func TestShares(t *testing.T) {
	third := 1.0 / 3
	for name, c := range map[string]struct {
		spec string
		up   []router.Load
		want []float64
	}{
		"random is blind":                 {"random", outstanding(0, 9, 3, 1), []float64{.25, .25, .25, .25}},
		"least: fewest":                   {"least-outstanding", outstanding(3, 2, 1, 4), []float64{0, 0, 1, 0}},
		"least: equals share":             {"least-outstanding", outstanding(3, 1, 1), []float64{0, .5, .5}},
		"least: equals apart":             {"least-outstanding", outstanding(1, 3, 1, 2, 1, 9), []float64{third, 0, third, 0, third, 0}},
		"least: first of equals":          {"least-outstanding:tie=first", outstanding(3, 1, 1), []float64{0, 1, 0}},
		"p2c: pair":                       {"p2c", outstanding(4, 2), []float64{0, 1}},
		"p2c: equals share":               {"p2c", outstanding(2, 2), []float64{.5, .5}},
		"p2c: the busiest of three":       {"p2c", outstanding(5, 1, 3), []float64{0, 2 * third, third}},
		"p2c: equals below a busy one":    {"p2c", outstanding(0, 0, 7), []float64{.5, .5, 0}},
		"p2c: busier of two, replacement": {"p2c:replace=true", outstanding(4, 2), []float64{.25, .75}},
		// The busiest of n is taken only if all samples fall on it: (1/n)^d.
		"p2c: three with replacement": {"p2c:d=3,replace=true", outstanding(1, 0), []float64{.125, .875}},
		// Replica with rank k of n wins with C(n-1-k, d-1)/C(n, d).
		"p2c: three of four":           {"p2c:d=3", outstanding(0, 1, 2, 3), []float64{.75, .25, 0, 0}},
		"p2c: more than all":           {"p2c:d=9", outstanding(3, 1, 2), []float64{0, 1, 0}},
		"p2c: all, in a tie":           {"p2c:d=9", outstanding(1, 1, 2, 1), []float64{third, third, 0, third}},
		"p2c: three samples of equals": {"p2c:d=3", outstanding(1, 1, 1, 1), []float64{.25, .25, .25, .25}},
	} {
		t.Run(name, func(t *testing.T) {
			checkShares(t, shares(build(t, c.spec, 7), c.up, 40_000), c.want)
		})
	}
}

// TestBallsIntoBins puts n requests that never end onto n replicas. The fullest then holds
// about ln n/ln ln n requests at random, and ln ln n/ln 2 + O(1) with two choices
// (Mitzenmacher 2001), so that 256 times as many replicas add about one; a full scan is
// even.
func TestBallsIntoBins(t *testing.T) {
	fullest := func(spec string, n int) int {
		f, err := router.NewFleet(build(t, spec, 3), n, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for range n {
			i := f.Pick(&router.Request{InTokens: 1})
			most = max(most, f.Load(i).Outstanding)
		}
		return most
	}
	var grown [2][]int
	for _, n := range []int{256, 4096, 65536} {
		random, two, four := fullest("random", n), fullest("p2c", n), fullest("p2c:d=4", n)
		grown[0], grown[1] = append(grown[0], random), append(grown[1], two)
		theory, theory2 := math.Log(float64(n))/math.Log(math.Log(float64(n))), math.Log(math.Log(float64(n)))/math.Ln2
		t.Logf("%5d replicas: random %d (ln n/ln ln n = %.1f), two choices %d (ln ln n/ln 2 = %.1f), four %d", n, random, theory, two, theory2, four)
		if float64(random) < theory || float64(two) < theory2-1 || float64(two) > theory2+1.5 || four > two {
			t.Errorf("%d replicas: random %d, two choices %d, four %d", n, random, two, four)
		}
	}
	if grown[1][2] > grown[1][0]+1 || grown[0][2] < grown[0][0]+2 {
		t.Errorf("from 256 to 65536 replicas the fullest grows to %v at random, and to %v with two choices", grown[0], grown[1])
	}
	if all := fullest("least-outstanding", 256); all != 1 {
		t.Errorf("a full scan leaves %d at one", all)
	}
}
