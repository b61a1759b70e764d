package query

import (
	"cmp"
	"fmt"
	"slices"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Sessions are the figures of a run's sessions. Known is false for a run without
// sessions.
type Sessions struct {
	Known bool
	// N sessions were scheduled and have a row; Outcomes says how they ended.
	N        int64
	Outcomes [record.NumSessionOutcome]int64
	// Steps are the planned requests, of which so many succeeded or were never sent.
	Steps, StepsOK, StepsUnsent int64
	// Underway sessions began before the run, so that their times are unknown; Queued
	// ones waited for a place among the live sessions.
	Underway, Queued int64
	// Threads counts the main threads and sub-agents.
	Threads int64
	// Met sessions met the SLO, of those that were Judged: all but the censored ones
	// and those of which it is unknown. SLO is false when none was judged.
	SLO         bool
	Met, Judged int64
	// Free are those of classes that were promised nothing where others were.
	Free int64
	// Metrics are those of sessions that began in the run and completed: sct, model_time, wait_time, session_lag;
	// and turn_response, of all turns that came to their end.
	Metrics []Metric
	// Slowdown is a ratio, of the completed sessions of which it is known.
	Slowdown stats.Summary
	// BySteps is sct by the number of steps, which dominates it, and ByTurn the
	// turn_response by the turn's number.
	BySteps, ByTurn []Metric
	// Tenants are the groups of sessions with a common prefix, those with most sessions
	// first; OtherTenants is the number of those left out.
	Tenants      []Tenant
	OtherTenants int
}

// Tenant are the figures of one tenant's sessions.
type Tenant struct {
	Name string
	// N sessions, of which so many were completed.
	N, Completed int64
	// SCT and Turn (turn_response) are in nanoseconds, Slowdown is a ratio.
	SCT, Turn, Slowdown stats.Summary
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

// bucket is a range of numbers up to so many.
type bucket struct {
	most int32
	name string
}

const noMost = 1<<31 - 1

var (
	byStepCount = []bucket{{5, "1-5 steps"}, {20, "6-20 steps"}, {60, "21-60 steps"}, {noMost, "61+ steps"}}
	byTurn      = []bucket{{1, "turn 1"}, {5, "turns 2-5"}, {20, "turns 6-20"}, {noMost, "turns 21+"}}
	byStepIndex = []bucket{{1, "step 1"}, {5, "steps 2-5"}, {20, "steps 6-20"}, {noMost, "steps 21+"}}
)

func bucketOf(all []bucket, n int32) int {
	return slices.IndexFunc(all, func(b bucket) bool { return n <= b.most })
}

// mostTenants are shown; so many more are kept apart while reading, to find them.
const (
	mostTenants = 16
	keptTenants = 4096
)

// sessionReader accumulates Sessions.
type sessionReader struct {
	Sessions
	free           []string // classes that were promised nothing
	samples        []stats.Sample
	turns          stats.Sample
	slowdown       ratios
	bySteps, byTur []stats.Sample
	tenants        map[string]*tenantReader
	order          []*tenantReader
	crowd          map[string]bool // tenants beyond those kept
}

type tenantReader struct {
	Tenant
	sct, turn stats.Sample
	slowdown  ratios
}

// ratios sums up numbers around 1, in millionths.
type ratios struct{ stats.Sample }

const perRatio = 1e6

func (r *ratios) add(v float64) { r.Add(int64(v * perRatio)) }

func (r *ratios) summary() stats.Summary { return scale(r.Summary(), 1/perRatio) }

// readSessions computes the figures of the run's sessions.
func readSessions(run *record.Run) (Sessions, error) {
	r := sessionReader{
		free:    free(run.Manifest, record.LoadFreeSessions),
		samples: make([]stats.Sample, len(sessionMetrics)),
		bySteps: make([]stats.Sample, len(byStepCount)), byTur: make([]stats.Sample, len(byTurn)),
		tenants: map[string]*tenantReader{}, crowd: map[string]bool{},
	}
	known, err := run.Sessions(r.add)
	if err != nil || !known {
		return Sessions{}, err
	}
	return r.finish(), nil
}

func (r *sessionReader) add(s *record.Session) error {
	r.N++
	r.Outcomes[s.Outcome]++
	if slices.Contains(r.free, s.Class) {
		r.Free++
	}
	r.Threads += int64(s.Threads)
	r.Steps += int64(s.StepsPlanned)
	r.StepsOK += int64(s.StepsOK)
	r.StepsUnsent += int64(s.StepsUnsent)
	if s.Underway {
		r.Underway++
	}
	if s.Queued > 0 {
		r.Queued++
	}
	if s.SLOMet != record.Unknown {
		r.SLO = true
		r.Judged++
		if s.SLOMet == record.Yes {
			r.Met++
		}
	}
	t := r.tenant(s.Tenant)
	t.N++
	turns := s.Turns
	if s.Underway {
		turns = nil // the first one began before the run, and the others have no numbers
	}
	for i, d := range turns {
		r.turns.Add(d)
		t.turn.Add(d)
		r.byTur[bucketOf(byTurn, int32(i)+1)].Add(d)
	}
	if s.Outcome != record.SessionCompleted {
		return nil
	}
	t.Completed++
	for i, m := range sessionMetrics {
		if v := m.of(s); v != record.Null {
			r.samples[i].Add(v)
		}
	}
	if s.SCT != record.Null {
		t.sct.Add(s.SCT)
		r.bySteps[bucketOf(byStepCount, s.StepsPlanned)].Add(s.SCT)
	}
	if v, ok := s.Slowdown(); ok {
		r.slowdown.add(v)
		t.slowdown.add(v)
	}
	return nil
}

// tenant finds the reader of a tenant. One that is not kept gets a reader that nobody
// looks at.
func (r *sessionReader) tenant(name string) *tenantReader {
	if t := r.tenants[name]; t != nil {
		return t
	}
	t := &tenantReader{Tenant: Tenant{Name: name}}
	switch {
	case name == "":
	case len(r.order) < keptTenants:
		r.tenants[name] = t
		r.order = append(r.order, t)
	default:
		r.crowd[name] = true
	}
	return t
}

func (r *sessionReader) finish() Sessions {
	out := r.Sessions
	out.Known = true
	for i, m := range sessionMetrics {
		out.Metrics = append(out.Metrics, Metric{Name: m.name, Summary: r.samples[i].Summary()})
	}
	out.Metrics = append(out.Metrics, Metric{Name: "turn_response", Summary: r.turns.Summary()})
	out.Slowdown = r.slowdown.summary()
	for i, b := range byStepCount {
		out.BySteps = append(out.BySteps, Metric{Name: b.name, Summary: r.bySteps[i].Summary()})
	}
	for i, b := range byTurn {
		out.ByTurn = append(out.ByTurn, Metric{Name: b.name, Summary: r.byTur[i].Summary()})
	}
	slices.SortStableFunc(r.order, func(a, b *tenantReader) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range r.order[:min(len(r.order), mostTenants)] {
		t.SCT, t.Turn, t.Slowdown = t.sct.Summary(), t.turn.Summary(), t.slowdown.summary()
		out.Tenants = append(out.Tenants, t.Tenant)
	}
	out.OtherTenants = len(r.order) - len(out.Tenants) + len(r.crowd)
	return out
}

// loadSessions fills in the figures of sessions.
func (f *Figures) loadSessions(run *record.Run) (err error) {
	if f.Sessions, err = readSessions(run); err != nil {
		return fmt.Errorf("reading %s: %w", f.Dir, err)
	}
	return nil
}
