package cli

import (
	"strings"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/vitals"
)

func TestCheckLimits(t *testing.T) {
	limits := vitals.Limits{Files: 1024, Open: 10, Ports: 28232, Sockets: 5}
	for _, c := range []struct {
		name string
		p    plan.Plan
		l    vitals.Limits
		want string
	}{
		{"fits", plan.Plan{BaseURL: []string{"http://a"}, MaxConcurrency: 900}, limits, ""},
		{"no cap", plan.Plan{BaseURL: []string{"http://a"}}, limits, ""},
		{"no server", plan.Plan{MaxConcurrency: 5000}, limits, ""},
		{"files", plan.Plan{BaseURL: []string{"http://a"}, MaxConcurrency: 1000}, limits, "--max-concurrency: 1000 connections and what else is open are more than the 1024 files"},
		{"closed loop", plan.Plan{BaseURL: []string{"http://a"}, Concurrency: 1000}, limits, "--concurrency: 1000 connections"},
		{"ports", plan.Plan{BaseURL: []string{"http://a"}, MaxConcurrency: 30_000}, vitals.Limits{Files: 1 << 20, Open: 10, Ports: 28232}, "28232 local ports"},
		{"not known", plan.Plan{BaseURL: []string{"http://a"}, MaxConcurrency: 30_000}, vitals.Limits{Files: -1, Open: -1, Ports: -1, Sockets: -1}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkLimits(&c.p, c.l)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err != nil && exitCode(err) != exitUsage {
				t.Errorf("exit code %d", exitCode(err))
			}
		})
	}
}
