package query

import (
	"fmt"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Sessions are the figures of a run's sessions. Known is false for a run without
// sessions, or without the file of theirs.
type Sessions struct {
	Known bool
	// N sessions were scheduled and have a row; Outcomes says how they ended.
	N        int64
	Outcomes [record.NumSessionOutcome]int64
	// Steps are the planned requests, of which so many succeeded or were never sent.
	Steps, StepsOK, StepsUnsent int64
	// Threads counts the main threads and sub-agents.
	Threads int64
	// Metrics are those of completed sessions: sct, model_time, wait_time, session_lag.
	Metrics []Metric
	// BySteps is sct by the number of steps, which dominates it.
	BySteps []Metric
}

// sessionMetrics have one value per completed session.
var sessionMetrics = []struct {
	name string
	of   func(*record.Session) int64
}{
	{"sct", func(s *record.Session) int64 { return s.SCT }},
	{"model_time", func(s *record.Session) int64 { return s.ModelTime }},
	{"wait_time", func(s *record.Session) int64 { return s.WaitTime }},
	{"session_lag", func(s *record.Session) int64 { return s.Lag }},
}

// buckets of sessions by their steps: up to so many.
var buckets = []struct {
	most int32
	name string
}{{5, "1-5 steps"}, {20, "6-20 steps"}, {60, "21-60 steps"}, {1<<31 - 1, "61+ steps"}}

// readSessions computes the figures of the run's sessions.
func readSessions(run *record.Run) (Sessions, error) {
	var out Sessions
	samples := make([]stats.Sample, len(sessionMetrics))
	bySteps := make([]stats.Sample, len(buckets))
	var err error
	out.Known, err = run.Sessions(func(s *record.Session) error {
		out.N++
		out.Outcomes[s.Outcome]++
		out.Threads += int64(s.Threads)
		out.Steps += int64(s.StepsPlanned)
		out.StepsOK += int64(s.StepsOK)
		out.StepsUnsent += int64(s.StepsUnsent)
		if s.Outcome != record.SessionCompleted {
			return nil
		}
		for i, m := range sessionMetrics {
			if v := m.of(s); v != record.Null {
				samples[i].Add(v)
			}
		}
		for i, b := range buckets {
			if s.StepsPlanned <= b.most {
				bySteps[i].Add(s.SCT)
				break
			}
		}
		return nil
	})
	if err != nil || !out.Known {
		return Sessions{}, err
	}
	for i, m := range sessionMetrics {
		out.Metrics = append(out.Metrics, Metric{m.name, samples[i].Summary()})
	}
	for i, b := range buckets {
		out.BySteps = append(out.BySteps, Metric{b.name, bySteps[i].Summary()})
	}
	return out, nil
}

// Trigger are the figures of the steps that follow on one kind of thing.
type Trigger struct {
	Name string
	// N steps were sent, of which so many succeeded.
	N, OK int64
	// TTFT, TPOT and E2E are those of successes, in nanoseconds.
	TTFT, TPOT, E2E stats.Summary
	// PlannedHit and MeasuredHit are those of Figures.
	PlannedHit, MeasuredHit Ratio
}

// triggered accumulates the figures of one kind of step.
type triggered struct {
	Trigger
	ttft, tpot, e2e stats.Sample
}

// triggers finds its kinds in order of their first appearance; there are few.
type triggers struct{ kinds []*triggered }

// mostTriggers bounds what a file of other origin can make of memory.
const mostTriggers = 64

func (t *triggers) of(name string) *triggered {
	for _, k := range t.kinds {
		if k.Name == name {
			return k
		}
	}
	if len(t.kinds) == mostTriggers {
		return nil
	}
	k := &triggered{Trigger: Trigger{Name: name}}
	t.kinds = append(t.kinds, k)
	return k
}

func (t *triggers) add(r *record.Request) {
	if r.Trigger == "" {
		return
	}
	k := t.of(r.Trigger)
	if k == nil {
		return
	}
	k.N++
	if r.Outcome != record.OK {
		return
	}
	k.OK++
	for _, m := range []struct {
		to *stats.Sample
		v  int64
	}{{&k.ttft, r.TTFT()}, {&k.tpot, r.TPOT()}, {&k.e2e, r.E2E()}} {
		if m.v != record.Null {
			m.to.Add(m.v)
		}
	}
	k.PlannedHit.hit(r.PlannedCachedTokens, r.PlannedPromptTokens)
	k.MeasuredHit.hit(r.CachedTokens, r.PromptTokens)
}

// hit adds cached tokens of a prompt, if both are known.
func (r *Ratio) hit(cached, prompt int32) {
	if cached != record.Null32 && prompt != record.Null32 {
		r.Part += int64(cached)
		r.Whole += int64(prompt)
	}
}

// triggerOrder is how the kinds are printed; others come behind.
var triggerOrder = []string{"user", "tool", "join", "compaction", "spawn"}

func (t *triggers) finish() []Trigger {
	var out []Trigger
	take := func(k *triggered) {
		k.TTFT, k.TPOT, k.E2E = k.ttft.Summary(), k.tpot.Summary(), k.e2e.Summary()
		out = append(out, k.Trigger)
		k.Name = ""
	}
	for _, name := range triggerOrder {
		for _, k := range t.kinds {
			if k.Name == name {
				take(k)
			}
		}
	}
	for _, k := range t.kinds {
		if k.Name != "" {
			take(k)
		}
	}
	return out
}

// loadSessions fills in the figures of sessions.
func (f *Figures) loadSessions(run *record.Run) (err error) {
	if f.Sessions, err = readSessions(run); err != nil {
		return fmt.Errorf("reading %s: %w", f.Dir, err)
	}
	return nil
}
