package plan

import (
	"strings"
	"testing"
	"time"
)

func TestShare(t *testing.T) {
	for text, want := range map[string]Share{"10%": 0.1, "0.1": 0.1, "0": 0, "250%": 2.5} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s is %v, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "%", "-1", "ten", "1e400"} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %v", text, s)
		}
	}
}

func TestClientOfAPlan(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Plan)
		want string // "": valid
	}{
		{"none", func(*Plan) {}, ""},
		{"all", func(p *Plan) {
			p.Retries, p.HedgeAfter, p.CancelRate, p.CancelAfter, p.HonorRetryAfter = 2, "p95", 0.1, "50tok", true
		}, ""},
		{"times", func(p *Plan) { p.HedgeAfter, p.CancelRate, p.CancelAfter = "500ms", 1, "2s" }, ""},
		{"no such quantile", func(p *Plan) { p.HedgeAfter = "p100" }, "--hedge-after"},
		{"no time", func(p *Plan) { p.HedgeAfter = "5" }, "--hedge-after"},
		{"no budget", func(p *Plan) { p.Retries, p.RetryBudget = 1, 0 }, "--retry-budget"},
		{"nothing waits", func(p *Plan) { p.HonorRetryAfter = true }, "--honor-retry-after"},
		{"who leaves", func(p *Plan) { p.CancelAfter = "2s" }, "--cancel-rate"},
		{"when", func(p *Plan) { p.CancelRate = 0.5 }, "--cancel-after"},
		{"no tokens", func(p *Plan) { p.CancelRate, p.CancelAfter = 0.5, "0tok" }, "--cancel-after"},
		{"more than all", func(p *Plan) { p.CancelRate, p.CancelAfter = 1.5, "1s" }, "--cancel-rate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Default()
			p.RequestRate = 1
			tt.edit(&p)
			err := p.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestHedgeAndLeave(t *testing.T) {
	p := Plan{HedgeAfter: "p95", CancelAfter: "50tok"}
	if h, err := p.Hedge(); err != nil || h != (Hedge{Quantile: 0.95}) {
		t.Error(h, err)
	}
	if l, err := p.Leave(); err != nil || l != (Leave{Tokens: 50}) {
		t.Error(l, err)
	}
	p = Plan{HedgeAfter: "250ms", CancelAfter: "2s"}
	if h, err := p.Hedge(); err != nil || h != (Hedge{After: 250 * time.Millisecond}) {
		t.Error(h, err)
	}
	if l, err := p.Leave(); err != nil || l != (Leave{After: 2 * time.Second}) {
		t.Error(l, err)
	}
}
