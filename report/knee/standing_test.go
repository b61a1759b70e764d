package knee

import (
	"context"
	"math"
	"testing"
)

// TestStandIsTheSearch: the standing at the end of a search is its result.
func TestStandIsTheSearch(t *testing.T) {
	p := &threshold{zero: Zero{Requests: 30, Good: 30, Feasible: true}, knees: map[uint64]float64{1: 10, 2: 11, 3: 12}}
	c := config(1, 2, 3)
	c.Verify = []uint64{4, 5}
	k, err := Find(context.Background(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	s := Stand(c.Seeds, c.Tolerance, k.Trials)
	for i, x := range s.Seeds {
		if want := k.Seeds[i]; x.Seed != want.Seed || x.Lo != want.Lo || x.Hi != want.Hi || !x.Settled {
			t.Errorf("%+v, want %+v", x, want)
		}
	}
	near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-12 }
	if !near(s.Rate, k.Rate) || !near(s.Lo, k.Lo) || !near(s.Hi, k.Hi) || s.Settled != 3 {
		t.Errorf("%v [%v, %v], want %v [%v, %v]", s.Rate, s.Lo, s.Hi, k.Rate, k.Lo, k.Hi)
	}
}

func TestStandOfAPart(t *testing.T) {
	trials := []Trial{{Seed: 1, Rate: 10, Pass: true}, {Seed: 1, Rate: 40}, {Seed: 1, Rate: 20}, {Seed: 1, Rate: 15, Invalid: "late"}, {Seed: 9, Rate: 1, Pass: true}}
	s := Stand([]uint64{1, 2}, 0.05, trials)
	if got, want := s.Seeds[0], (SeedStanding{Seed: 1, Lo: 10, Hi: 20, Trials: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got, want := s.Seeds[1], (SeedStanding{Seed: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if s.Settled != 0 || !math.IsNaN(s.Rate) {
		t.Errorf("%d settled, rate %v", s.Settled, s.Rate)
	}
}
