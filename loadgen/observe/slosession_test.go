package observe_test

import (
	"testing"

	"goodput/loadgen/observe"
	"goodput/loadgen/record"
)

func TestMetSession(t *testing.T) {
	for _, c := range []struct {
		name string
		slo  observe.SLO
		edit func(*record.Session)
		want record.Tri
	}{
		{"no promise", observe.SLO{}, nil, record.Unknown},
		{"all held", observe.SLO{TTFT: 1, SCT: 100, Turn: 40, Slowdown: 2}, nil, record.Yes},
		{"a step missed", observe.SLO{TTFT: 1}, func(s *record.Session) { s.StepsMet, s.StepsMissed = 2, 1 }, record.No},
		{"a step unknown", observe.SLO{TTFT: 1}, func(s *record.Session) { s.StepsMet = 2 }, record.Unknown},
		{"steps promised nothing", observe.SLO{SCT: 100}, func(s *record.Session) { s.StepsMet = 0 }, record.Yes},
		{"too long", observe.SLO{SCT: 99}, nil, record.No},
		{"a slow turn", observe.SLO{Turn: 39}, nil, record.No},
		{"too slow", observe.SLO{Slowdown: 1.9}, nil, record.No},
		{"slowdown unknown", observe.SLO{Slowdown: 1.9}, func(s *record.Session) { s.Unloaded = record.Null }, record.Unknown},
		{"unknown, but too long anyway", observe.SLO{Slowdown: 9, SCT: 99}, func(s *record.Session) { s.Unloaded = record.Null }, record.No},
		{"failed", observe.SLO{SCT: 100}, func(s *record.Session) { s.Outcome = record.SessionFailed }, record.No},
		{"overflow", observe.SLO{SCT: 100}, func(s *record.Session) { s.Outcome = record.SessionOverflow }, record.No},
		{"censored", observe.SLO{SCT: 100}, func(s *record.Session) { s.Outcome = record.SessionCensored }, record.Unknown},
	} {
		s := record.Session{
			StepsPlanned: 3, StepsOK: 3, StepsMet: 3, SCT: 100, ModelTime: 80, Unloaded: 40, Turns: []int64{30, 40},
		}
		if c.edit != nil {
			c.edit(&s)
		}
		if got := c.slo.MetSession(&s); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
