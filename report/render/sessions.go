package render

import (
	"fmt"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

const secondNS = 1e9

// sessions writes how sessions ended and how long they took, in seconds.
func (r *Report) sessions(b *strings.Builder) {
	s := &r.Sessions
	if !s.Known {
		return
	}
	fmt.Fprintf(b, "sessions   %d of %d threads:", s.N, s.Threads)
	for o, n := range s.Outcomes {
		if n > 0 || o == int(record.SessionCompleted) {
			fmt.Fprintf(b, " %s %d", record.SessionOutcome(o), n)
		}
	}
	fmt.Fprintf(b, "; %d steps planned", s.Steps)
	if s.StepsUnsent > 0 {
		fmt.Fprintf(b, ", %d never sent", s.StepsUnsent)
	}
	fmt.Fprintf(b, "\n%-16s %8s %10s %10s %10s %10s %10s %10s\n", "  of completed", "n", "mean", "p50", "p90", "p95", "p99", "max")
	for _, m := range s.Metrics {
		row(b, "  "+m.Name+" s", &m.Summary)
	}
	for _, m := range s.BySteps {
		if m.N > 0 {
			row(b, "    "+m.Name, &m.Summary)
		}
	}
	b.WriteByte('\n')
}

// row writes a summary in seconds.
func row(b *strings.Builder, name string, s *stats.Summary) {
	fmt.Fprintf(b, "%-16s %8d", name, s.N)
	if s.N == 0 {
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, " %10s", cell(s.Mean/secondNS))
	for i, v := range []float64{s.P50, s.P90, s.P95, s.P99} {
		fmt.Fprintf(b, " %10s", quantileCell(v/secondNS, s.N, fractions[i]))
	}
	fmt.Fprintf(b, " %10s\n", cell(s.Max/secondNS))
}

// quantileCell leaves out a quantile over too few values.
func quantileCell(v float64, n int64, q float64) string {
	if n < stats.MinN(q) {
		return "-"
	}
	return cell(v)
}

// triggers writes what steps took by what they follow on.
func (r *Report) triggers(b *strings.Builder) {
	if len(r.Triggers) == 0 {
		return
	}
	fmt.Fprintf(b, "%-16s %8s %10s %10s %10s %10s %10s %12s %12s\n", "steps by trigger", "n", "ttft p50", "ttft p95", "tpot p50", "e2e p50", "e2e p95", "planned hit", "measured hit")
	for _, t := range r.Triggers {
		fmt.Fprintf(b, "  %-14s %8d", t.Name, t.N)
		for _, c := range []struct {
			s *stats.Summary
			v float64
			q float64
		}{{&t.TTFT, t.TTFT.P50, .5}, {&t.TTFT, t.TTFT.P95, .95}, {&t.TPOT, t.TPOT.P50, .5}, {&t.E2E, t.E2E.P50, .5}, {&t.E2E, t.E2E.P95, .95}} {
			fmt.Fprintf(b, " %10s", quantileCell(c.v/unitNS, c.s.N, c.q))
		}
		fmt.Fprintf(b, " %12s %12s\n", percent(t.PlannedHit.Known(), t.PlannedHit.Value), percent(t.MeasuredHit.Known(), t.MeasuredHit.Value))
	}
	b.WriteByte('\n')
}

// jsonSessions are a run's sessions.
type jsonSessions struct {
	N           int64                 `json:"n"`
	Outcomes    map[string]int64      `json:"outcomes"`
	Threads     int64                 `json:"threads"`
	Steps       int64                 `json:"steps"`
	StepsUnsent int64                 `json:"steps_unsent"`
	Metrics     map[string]jsonMetric `json:"metrics"`
	SCTBySteps  map[string]jsonMetric `json:"sct_by_steps"`
}

func sessionsJSON(s *query.Sessions) *jsonSessions {
	if !s.Known {
		return nil
	}
	out := &jsonSessions{
		N: s.N, Outcomes: map[string]int64{}, Threads: s.Threads, Steps: s.Steps, StepsUnsent: s.StepsUnsent,
		Metrics: map[string]jsonMetric{}, SCTBySteps: map[string]jsonMetric{},
	}
	for o, n := range s.Outcomes {
		out.Outcomes[record.SessionOutcome(o).String()] = n
	}
	for _, m := range s.Metrics {
		out.Metrics[m.Name] = metricJSON(inUnit(m))
	}
	for _, m := range s.BySteps {
		out.SCTBySteps[m.Name] = metricJSON(inUnit(m))
	}
	return out
}

// jsonTrigger are the steps of one kind.
type jsonTrigger struct {
	Trigger     string     `json:"trigger"`
	N           int64      `json:"n"`
	OK          int64      `json:"ok"`
	TTFT        jsonMetric `json:"ttft"`
	TPOT        jsonMetric `json:"tpot"`
	E2E         jsonMetric `json:"e2e"`
	PlannedHit  *float64   `json:"planned_hit"`
	MeasuredHit *float64   `json:"measured_hit"`
}

func triggersJSON(all []query.Trigger) []jsonTrigger {
	out := []jsonTrigger{}
	unit := func(s stats.Summary) jsonMetric { return metricJSON(inUnit(query.Metric{Summary: s})) }
	for _, t := range all {
		out = append(out, jsonTrigger{
			Trigger: t.Name, N: t.N, OK: t.OK, TTFT: unit(t.TTFT), TPOT: unit(t.TPOT), E2E: unit(t.E2E),
			PlannedHit: maybe(t.PlannedHit.Value(), t.PlannedHit.Known()), MeasuredHit: maybe(t.MeasuredHit.Value(), t.MeasuredHit.Known()),
		})
	}
	return out
}
