package trial_test

import (
	"strings"
	"testing"

	"goodput/fakeengine/trial"
)

func TestRunOpen(t *testing.T) {
	c := config()
	c.PrefixCaching = true
	load := trial.Open{Rate: 1, Requests: 20, Input: 500, Shared: 160, Groups: 2, Output: 101}
	one, err := trial.RunOpen(c, linear{}, load)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody meets anybody: front end, prompt, 100 more steps of a token. The first of
	// each group computes the shared part, the other 18 do not.
	near(t, "TTFT", one.TTFT, 2e-3+1e-3+(2*500+18*340)*1e-6/20)
	near(t, "E2E", one.E2E, one.TTFT+100*1.001e-3)
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

func TestRunOpenRejects(t *testing.T) {
	good := trial.Open{Rate: 1, Requests: 2, Input: 10, Groups: 1, Output: 2}
	for name, change := range map[string]func(*trial.Open){
		"requests/s": func(l *trial.Open) { l.Rate = 0 },
		"need at":    func(l *trial.Open) { l.Requests = 0 },
		"shared":     func(l *trial.Open) { l.Shared = 10 },
		"sending":    func(l *trial.Open) { l.Input = 1 << 20 },
	} {
		l := good
		change(&l)
		if _, err := trial.RunOpen(config(), linear{}, l); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: got %v, want %q in it", l, err, name)
		}
	}
}
