package plan

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestWarmup(t *testing.T) {
	for text, c := range map[string]struct {
		d   time.Duration
		n   int
		bad bool
	}{
		"": {}, "0": {}, "0s": {}, "0req": {},
		"30s": {d: 30 * time.Second}, "20req": {n: 20},
		"20": {bad: true}, "-3req": {bad: true}, "-3s": {bad: true}, "req": {bad: true}, "1.5req": {bad: true},
		"99999999999req": {bad: true}, "10000h": {bad: true}, "20 req": {bad: true},
	} {
		p := Default()
		p.RequestRate, p.Warmup = 1, text
		d, n, err := p.Warming()
		if d != c.d || n != c.n || (err != nil) != c.bad {
			t.Errorf("%q is %v, %d, %v", text, d, n, err)
		}
		if err := p.Validate(); (err != nil) != c.bad {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestWarmupThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Plan)
		want string
	}{
		"unknown cache":     {func(p *Plan) { p.Cache = "hot" }, "--cache"},
		"time, all at once": {func(p *Plan) { p.RequestRate, p.NumPrompts, p.Warmup = Rate(math.Inf(1)), 5, "3s" }, "--warmup"},
		"sessions":          {func(p *Plan) { p.DatasetName, p.SessionsRate, p.Warmup = "agent", 1, "3s" }, "--agent-cache-scope"},
		"sessions, warm":    {func(p *Plan) { p.DatasetName, p.SessionsRate, p.Cache = "agent", 1, "warm" }, "--cache"},
		"sessions, keep":    {func(p *Plan) { p.DatasetName, p.SessionsRate, p.Cache = "agent", 1, "keep" }, "--agent-cache-scope none"},
	} {
		p := Default()
		p.RequestRate = 1
		c.edit(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
