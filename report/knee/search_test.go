package knee

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// threshold passes up to a rate of its own for each seed.
type threshold struct {
	zero    Zero
	knees   map[uint64]float64
	trial   func(seed uint64, rate float64) (Trial, error) // nil: by knees
	answers int
}

var _ Prober = (*threshold)(nil)

func (p *threshold) Zero(context.Context) (Zero, error) { return p.zero, nil }

func (p *threshold) Trial(_ context.Context, seed uint64, rate float64) (Trial, error) {
	p.answers++
	if p.trial != nil {
		return p.trial(seed, rate)
	}
	pass := rate <= p.knees[seed]
	t := Trial{N: 100, Good: 99, Bad: 1, Pass: pass, Stop: Complete}
	if !pass {
		t.Good, t.Bad, t.Stop = 50, 6, Curtailed
	}
	return t, nil
}

func config(seeds ...uint64) Config {
	return Config{Seeds: seeds, Tolerance: 0.05, Start: 1, Min: 0.01, Max: 1000, Parallel: 1}
}

func ExampleFind() {
	p := &threshold{zero: Zero{Requests: 30, Good: 30, Feasible: true}, knees: map[uint64]float64{1: 10, 2: 11, 3: 12}}
	k, err := Find(context.Background(), p, config(1, 2, 3))
	fmt.Printf("%s %.1f/s [%.1f, %.1f] after %d trials, %v\n", k.Outcome, k.Rate, k.Lo, k.Hi, len(k.Trials), err)
	// Output: ok 10.9/s [9.0, 13.2] after 19 trials, <nil>
}

func TestFindBrackets(t *testing.T) {
	p := &threshold{zero: Zero{Requests: 30, Good: 29, Feasible: true}, knees: map[uint64]float64{1: 0.3, 2: 250, 3: 9}}
	k, err := Find(context.Background(), p, config(1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range k.Seeds {
		want := p.knees[s.Seed]
		if s.Outcome != OK || s.Lo > want || s.Hi <= want || s.Hi/s.Lo > 1.05+1e-9 {
			t.Errorf("%+v does not bracket %v", s, want)
		}
	}
	if len(k.Trials) != p.answers || k.Outcome != OK || !(k.Lo < k.Rate && k.Rate < k.Hi) {
		t.Errorf("%d trials of %d, %s, [%v %v %v]", len(k.Trials), p.answers, k.Outcome, k.Lo, k.Rate, k.Hi)
	}
}

func TestFindOutcomes(t *testing.T) {
	well := Zero{Requests: 30, Good: 30, Feasible: true}
	always := func(pass bool) func(uint64, float64) (Trial, error) {
		return func(uint64, float64) (Trial, error) { return Trial{Pass: pass}, nil }
	}
	for _, c := range []struct {
		name   string
		p      threshold
		want   Outcome
		why    string
		lo     float64
		trials int
	}{
		{"alone too slow", threshold{zero: Zero{Requests: 30, Good: 28}}, Infeasible, "28 of 30", math.NaN(), 0},
		{"holds everywhere", threshold{zero: well, trial: always(true)}, Censored, "highest rate of the search", 1000, 12},
		{"holds nowhere", threshold{zero: well, trial: always(false)}, Infeasible, "lowest rate", 0, 9},
		{"generator at its end", threshold{zero: well, trial: func(_ uint64, r float64) (Trial, error) {
			if r > 50 {
				return Trial{Invalid: "late"}, nil
			}
			return Trial{Pass: true}, nil
		}}, Censored, "was spoiled: late", 32, 11},
		{"generator broken", threshold{zero: well, trial: func(uint64, float64) (Trial, error) {
			return Trial{Invalid: "late"}, nil
		}}, Inconclusive, "was spoiled", 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := Find(context.Background(), &c.p, config(1, 2))
			if err != nil {
				t.Fatal(err)
			}
			if k.Outcome != c.want || !strings.Contains(k.Why, c.why) {
				t.Errorf("%s (%s), want %s (%s)", k.Outcome, k.Why, c.want, c.why)
			}
			if len(k.Seeds) > 0 && k.Seeds[0].Lo != c.lo {
				t.Errorf("%+v, want to hold up to %v", k.Seeds[0], c.lo)
			}
			if len(k.Trials) != c.trials {
				t.Errorf("%d trials, want %d", len(k.Trials), c.trials)
			}
		})
	}
}

// A spoiled trial is run again, and kept; where the first seed has told nothing the
// others begin where it did, and not at the lowest rate, where a trial takes hours.
func TestFindRepeatsSpoiledTrials(t *testing.T) {
	well := Zero{Requests: 30, Good: 30, Feasible: true}
	tried := map[float64]int{}
	p := &threshold{zero: well, trial: func(_ uint64, r float64) (Trial, error) {
		if tried[r]++; tried[r] < 3 {
			return Trial{Invalid: "late"}, nil
		}
		return Trial{Pass: r < 9}, nil
	}}
	c := config(1)
	c.Repeats = 2
	k, err := Find(context.Background(), p, c)
	if err != nil || k.Outcome != OK || k.Rate < 8 || k.Rate > 10 {
		t.Fatalf("%s (%s) at %v: %v", k.Outcome, k.Why, k.Rate, err)
	}
	valid := 0
	for _, x := range k.Trials {
		if x.Invalid == "" {
			valid++
		}
	}
	if len(k.Trials) != 3*valid {
		t.Errorf("%d trials are kept, of which %d are valid", len(k.Trials), valid)
	}
	p.trial = func(_ uint64, r float64) (Trial, error) {
		if r < c.Start {
			t.Errorf("a trial at %v/s, below the first of %v/s", r, c.Start)
		}
		return Trial{Invalid: "late"}, nil
	}
	c.Seeds = []uint64{1, 2, 3}
	if k, err = Find(context.Background(), p, c); err != nil || k.Outcome != Inconclusive || len(k.Trials) != 9 {
		t.Errorf("%s (%s), %d trials: %v", k.Outcome, k.Why, len(k.Trials), err)
	}
}

// A hole between 5 and 20 is not taken for a knee when a trial finds it.
func TestFindNonMonotone(t *testing.T) {
	p := &threshold{zero: Zero{Requests: 30, Good: 30, Feasible: true}, trial: func(seed uint64, r float64) (Trial, error) {
		if seed >= 100 {
			return Trial{Pass: r > 9}, nil
		}
		return Trial{Pass: r < 9}, nil
	}}
	c := config(1, 2, 3)
	c.Verify = []uint64{100, 101}
	k, err := Find(context.Background(), p, c)
	if err != nil || k.Outcome != NonMonotone || !strings.Contains(k.Why, "seed 100") {
		t.Errorf("%s (%s) %v", k.Outcome, k.Why, err)
	}
	verified := 0
	for _, t := range k.Trials {
		if t.Verify {
			verified++
		}
	}
	if verified != 4 {
		t.Errorf("%d trials verify, want 4", verified)
	}
}

func TestFindStopsAtErrors(t *testing.T) {
	broken := errors.New("connection refused")
	p := &threshold{zero: Zero{Requests: 30, Good: 30, Feasible: true}, trial: func(seed uint64, r float64) (Trial, error) {
		if seed == 2 {
			return Trial{}, broken
		}
		return Trial{Pass: r < 9}, nil
	}}
	k, err := Find(context.Background(), p, config(1, 2, 3, 4))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "seed 2") || len(k.Trials) == 0 {
		t.Errorf("%v after %d trials", err, len(k.Trials))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Find(ctx, p, config(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestFindRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"seed":      func(c *Config) { c.Seeds = nil },
		"tolerance": func(c *Config) { c.Tolerance = 0 }, "rates": func(c *Config) { c.Max = c.Min },
		"first rate": func(c *Config) { c.Start = 2000 }, "at once": func(c *Config) { c.Parallel = 0 },
	} {
		c := config(1)
		change(&c)
		if _, err := Find(context.Background(), &threshold{}, c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Seeds side by side give the same result as one after the other.
func TestFindInParallel(t *testing.T) {
	run := func(parallel int) Knee {
		c := config(1, 2, 3, 4, 5)
		c.Parallel = parallel
		c.Verify = []uint64{6, 7}
		k, err := Find(context.Background(), queue{n: 500}, c)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, four := run(1), run(4)
	if one.Rate != four.Rate || len(one.Trials) != len(four.Trials) || !slices.EqualFunc(one.Trials, four.Trials, func(a, b Trial) bool {
		return a.Seed == b.Seed && a.Rate == b.Rate && a.Pass == b.Pass
	}) {
		t.Errorf("%v after %d trials, and %v after %d", one.Rate, len(one.Trials), four.Rate, len(four.Trials))
	}
}

// The knee of a queue with exponential gaps and services is where 95 % of sojourns
// are below the limit: P(T <= s) = 1 - exp(-(mu-lambda)s).
func TestFindKneeOfMM1(t *testing.T) {
	c := config(1, 2, 3, 4, 5)
	c.Tolerance, c.Start = 0.02, 0.5
	k, err := Find(context.Background(), queue{n: 20_000}, c)
	if err != nil {
		t.Fatal(err)
	}
	want := 1 - math.Log(20)/sojournLimit
	if k.Outcome != OK || k.Lo > want || k.Hi < want || math.Abs(k.Rate/want-1) > 0.05 {
		t.Errorf("%s %.4f [%.4f, %.4f], want %.4f", k.Outcome, k.Rate, k.Lo, k.Hi, want)
	}
	// With few requests a trial has not seen the long waits: the knee is too high.
	short, err := Find(context.Background(), queue{n: 300}, c)
	if err != nil || !(short.Rate > k.Rate) {
		t.Errorf("300 requests: %v, %d requests: %v, %v", short.Rate, 20_000, k.Rate, err)
	}
}
