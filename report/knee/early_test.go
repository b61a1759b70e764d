package knee

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/rng"
)

// queue is one server with exponential services of mean 1 s, first come first
// served.
type queue struct{ n int }

// sojournLimit is the objective, in seconds: the knee is at 0.8.
const sojournLimit = 14.978661367769956

var _ Prober = queue{}

func (q queue) Zero(context.Context) (Zero, error) {
	return Zero{Requests: 30, Good: 30, Feasible: true}, nil
}

// Trial starts empty, so that the first tenth is warm-up.
func (q queue) Trial(_ context.Context, seed uint64, rate float64) (Trial, error) {
	c, err := NewCurtailment(q.n, 0.95)
	if err != nil {
		return Trial{}, err
	}
	gaps, services := rng.New(seed, "gaps", 0), rng.New(seed, "services", 0)
	warm := q.n / 10
	arrival, free := 0.0, 0.0
	for i := range warm + q.n {
		arrival += gaps.Exp() / rate
		free = max(free, arrival) + services.Exp()
		if i < warm {
			continue
		}
		c.Add(free-arrival <= sojournLimit)
		if pass, decided := c.Decided(); decided {
			good, bad := c.Counts()
			return Trial{N: q.n, Good: good, Bad: bad, Pass: pass, Stop: Curtailed}, nil
		}
	}
	panic("undecided after all requests")
}

// Whatever the order of outcomes, a curtailed trial has the verdict of a whole one.
func TestCurtailmentKeepsTheVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.Bool(), 1, 200).Draw(t, "outcomes")
		share := rapid.Float64Range(0.01, 1).Draw(t, "share")
		c, err := NewCurtailment(len(outcomes), share)
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		first, early := false, false
		for _, ok := range outcomes {
			if ok {
				good++
			}
			c.Add(ok)
			if pass, decided := c.Decided(); decided && !early {
				first, early = pass, true
			}
		}
		if want := good >= Needed(len(outcomes), share); !early || first != want {
			t.Fatalf("decided %v as %v, want %v: %d of %d good, share %v", early, first, want, good, len(outcomes), share)
		}
	})
}

func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		n     int
		share float64
		want  int
	}{{100, 0.95, 95}, {1000, 0.99, 990}, {10, 0.95, 10}, {20, 0.95, 19}, {3, 1, 3}, {1000, 0.9, 900}} {
		if got := Needed(c.n, c.share); got != c.want {
			t.Errorf("%v of %d: %d, want %d", c.share, c.n, got, c.want)
		}
	}
	for _, bad := range []struct {
		n     int
		share float64
	}{{0, 0.9}, {5, 0}, {5, 1.01}, {5, math.NaN()}} {
		if _, err := NewCurtailment(bad.n, bad.share); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// alarmed runs a queue of 8 servers with n arrivals and reports whether the alarm
// was raised, and after how many.
func alarmed(seed uint64, load float64, n int) (at int, raised bool) {
	const servers = 8
	gaps, services := rng.New(seed, "gaps", 0), rng.New(seed, "services", 0)
	var free [servers]float64
	var ends []float64 // of those in flight
	d := NewDrift(1, 1)
	now := 0.0
	for i := range 200 + n {
		now += gaps.Exp() / (load * servers)
		k := 0
		for j := range free {
			if free[j] < free[k] {
				k = j
			}
		}
		free[k] = max(free[k], now) + services.Exp()
		left := ends[:0]
		for _, e := range ends {
			if e > now {
				left = append(left, e)
			}
		}
		ends = append(left, free[k])
		if i >= 200 && i%10 == 0 && d.Look(i, len(ends)) {
			return i - 200, true
		}
	}
	return 0, false
}

func TestDrift(t *testing.T) {
	const runs = 60
	for _, c := range []struct {
		load        float64
		least, most int
		after       float64 // median arrivals, at most
	}{{0.8, 0, 0, 0}, {0.95, 0, 1, 0}, {1.2, runs - 1, runs, 1000}, {1.5, runs, runs, 450}} {
		raised, total := 0, 0
		for seed := range uint64(runs) {
			if at, ok := alarmed(seed, c.load, 3000); ok {
				raised++
				total += at
			}
		}
		if raised < c.least || raised > c.most {
			t.Errorf("load %v: %d alarms in %d runs, want %d to %d", c.load, raised, runs, c.least, c.most)
		}
		if raised > 0 && c.after > 0 && float64(total)/float64(raised) > c.after {
			t.Errorf("load %v: after %d arrivals, want at most %v", c.load, total/raised, c.after)
		}
	}
}
