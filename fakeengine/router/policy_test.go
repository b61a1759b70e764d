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

// TestBallsIntoBins puts n requests that never end onto n replicas. The fullest
// then holds about ln n/ln ln n requests at random, and ln ln n/ln 2 + O(1) with
// two choices (Mitzenmacher 2001); a full scan is even.
func TestBallsIntoBins(t *testing.T) {
	const n = 4096 // ln n/ln ln n = 3.9, ln ln n/ln 2 = 3.1
	fullest := func(spec string) int {
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
	random, two, four, all := fullest("random"), fullest("p2c"), fullest("p2c:d=4"), fullest("least-outstanding")
	if !(random >= 5 && two <= 4 && four <= 3 && all == 1) {
		t.Errorf("fullest replica: random %d, p2c %d, d=4 %d, least-outstanding %d", random, two, four, all)
	}
}
