package trial_test

import (
	"math"
	"strings"
	"testing"

	"goodput/fakeengine/trial"
	"goodput/loadgen/clock"
)

func TestRunOpen(t *testing.T) {
	c := config()
	c.PrefixCaching = true
	load := trial.Open{Rate: 1, Requests: 20, Input: 500, Shared: 160, Groups: 2, Output: 101}
	one, err := trial.RunOpen(c, linear{}, load)
	if err != nil {
		t.Fatal(err)
	}
	// Hardly anybody meets anybody: front end, prompt, 100 more steps of a token. The
	// first of each group computes the shared part, the other 18 do not.
	alone := 2e-3 + 1e-3 + (2*500+18*340)*1e-6/20
	if one.TTFT < alone-1e-9 || one.TTFT > alone+0.3e-3 {
		t.Errorf("TTFT %v, alone %v", one.TTFT, alone)
	}
	if rest := one.E2E - one.TTFT; rest < 100*1.001e-3-1e-9 || rest > 100*1.001e-3+1e-3 {
		t.Errorf("100 tokens take %v", rest)
	}
	if one.E2EP90 > one.E2EP99 || one.E2EP99 < one.E2E {
		t.Errorf("E2E %+v", one)
	}
	load.Rate = 100
	many, err := trial.RunOpen(c, linear{}, load)
	if err != nil {
		t.Fatal(err)
	}
	if many.E2E <= one.E2E || many.TTFT <= one.TTFT {
		t.Errorf("%+v at a hundred times the rate, %+v alone", many, one)
	}
}

// TestRunOpenRepeats: of prompts that come again, all full blocks but the last are found,
// as long as the cache holds all that are between.
func TestRunOpenRepeats(t *testing.T) {
	c := config()
	c.PrefixCaching = true
	ttft := func(prompts, blocks int) float64 {
		c.NumGPUBlocks = blocks
		got, err := trial.RunOpen(c, linear{}, trial.Open{Rate: 1, Requests: 1000, Input: 500, Shared: 160, Groups: 2, Output: 11, Prompts: prompts})
		if err != nil {
			t.Fatal(err)
		}
		return got.TTFT
	}
	all, own := 2e-3+1e-3+500*1e-6, 2e-3+1e-3+340*1e-6
	if got, want := ttft(10, 10_000), all-0.99*496e-6; got < want-1e-5 || got > want+1e-4 {
		t.Errorf("ten prompts in turn: TTFT %v, want about %v", got, want)
	}
	// Thirty prompts of 32 blocks go round in a cache of 100, and the last use of each
	// is the longest ago.
	if got := ttft(30, 100); got < own-1e-5 || got > all+1e-4 {
		t.Errorf("more prompts than fit: TTFT %v, want %v to %v", got, own, all)
	}
	if got := ttft(0, 10_000); got < own-1e-5 || got > own+1e-4 {
		t.Errorf("each request its own: TTFT %v, want about %v", got, own)
	}
}

// TestOpenArrivals: intervals are exponential, and all fill the time to the last digit.
func TestOpenArrivals(t *testing.T) {
	c := config()
	load := trial.Open{Rate: 10, Requests: 5000, Input: 10, Groups: 1, Output: 2}
	at := load.Instants()
	if len(at) != 5000 || math.Abs(float64(at[4999])/1e9-500) > 1e-6 {
		t.Fatalf("%d arrivals, the last at %v", len(at), at[len(at)-1])
	}
	var squares float64
	last := clock.Time(0)
	for _, a := range at {
		gap := float64(a.Sub(last)) / 1e9 * 10
		if gap < 0 {
			t.Fatal("arrivals are not in order")
		}
		squares += gap * gap / 5000
		last = a
	}
	// E[gap^2] of an exponential gap of mean 1 is 2; its standard error is 0.063.
	if math.Abs(squares-2) > 0.25 {
		t.Errorf("mean square of the gaps is %v, want 2", squares)
	}
	if _, err := trial.RunOpen(c, linear{}, load); err != nil {
		t.Error(err)
	}
}

func TestRunOpenRejects(t *testing.T) {
	good := trial.Open{Rate: 1, Requests: 2, Input: 10, Groups: 1, Output: 2}
	for name, change := range map[string]func(*trial.Open){
		"requests/s": func(l *trial.Open) { l.Rate = 0 },
		"need at":    func(l *trial.Open) { l.Requests = 0 },
		"shared":     func(l *trial.Open) { l.Shared = 10 },
		"in turn":    func(l *trial.Open) { l.Prompts = -1 },
		"sending":    func(l *trial.Open) { l.Input = 1 << 20 },
	} {
		l := good
		change(&l)
		if _, err := trial.RunOpen(config(), linear{}, l); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: got %v, want %q in it", l, err, name)
		}
	}
}
