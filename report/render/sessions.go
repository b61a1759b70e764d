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
	if s.Underway > 0 {
		fmt.Fprintf(b, "; %d were under way before the run and have no times", s.Underway)
	}
	if s.Queued > 0 {
		fmt.Fprintf(b, "; %d waited for a place among the live ones", s.Queued)
	}
	fmt.Fprintf(b, "\n%-17s %8s %10s %10s %10s %10s %10s %10s\n", "  of completed", "n", "mean", "p50", "p90", "p95", "p99", "max")
	for _, m := range s.Metrics {
		row(b, "  "+m.Name+" s", &m.Summary)
	}
	if s.Slowdown.N > 0 {
		ratio := s.Slowdown
		numbers(b, "  slowdown", &ratio, 1)
	}
	section := func(what string, rows []query.Metric) {
		for i, m := range rows {
			if i == 0 {
				fmt.Fprintf(b, "  %s\n", what)
			}
			if m.N > 0 {
				row(b, "    "+m.Name, &m.Summary)
			}
		}
	}
	section("sct by number of steps", s.BySteps)
	section("turn_response by turn", s.ByTurn)
	if s.SLO {
		fmt.Fprintf(b, "  SLO of sessions: %d of %d judged met it", s.Met, s.Judged)
		if rate, ok := r.sessionGoodput(); ok {
			fmt.Fprintf(b, ", attainment %s of all %d, %s sessions/s", percent(s.N > s.Free, r.sessionAttainment), s.N-s.Free, cell(rate))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	r.tenants(b)
}

// sessionAttainment is the share of scheduled sessions with an SLO that met it.
func (r *Report) sessionAttainment() float64 {
	return float64(r.Sessions.Met) / float64(r.Sessions.N-r.Sessions.Free)
}

// sessionGoodput is those sessions per second of the window.
func (r *Report) sessionGoodput() (float64, bool) {
	s := &r.Sessions
	if !s.SLO || s.N < 2 || r.Window <= 0 {
		return 0, false
	}
	return float64(s.Met) / r.Window.Seconds(), true
}

// tenants writes the sessions of each tenant.
func (r *Report) tenants(b *strings.Builder) {
	s := &r.Sessions
	if len(s.Tenants) < 2 {
		return
	}
	fmt.Fprintf(b, "%-16s %8s %10s %10s %10s %10s %10s %12s %12s\n", "by tenant", "n", "completed", "sct p50 s", "sct p95 s", "turn p50 s", "turn p95 s", "slowdown p50", "slowdown p95")
	for _, t := range s.Tenants {
		fmt.Fprintf(b, "  %-14s %8d %10d", t.Name, t.N, t.Completed)
		for _, v := range []*stats.Summary{&t.SCT, &t.Turn} {
			fmt.Fprintf(b, " %10s %10s", quantileCell(v.P50/secondNS, v.N, .5), quantileCell(v.P95/secondNS, v.N, .95))
		}
		fmt.Fprintf(b, " %12s %12s\n", quantileCell(t.Slowdown.P50, t.Slowdown.N, .5), quantileCell(t.Slowdown.P95, t.Slowdown.N, .95))
	}
	if s.OtherTenants > 0 {
		fmt.Fprintf(b, "  and %d more\n", s.OtherTenants)
	}
	b.WriteByte('\n')
}

// row writes a summary in seconds.
func row(b *strings.Builder, name string, s *stats.Summary) { numbers(b, name, s, secondNS) }

// numbers writes a summary in a unit.
func numbers(b *strings.Builder, name string, s *stats.Summary, unit float64) {
	fmt.Fprintf(b, "%-17s %8d", name, s.N)
	if s.N == 0 {
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, " %10s", cell(s.Mean/unit))
	for i, v := range []float64{s.P50, s.P90, s.P95, s.P99} {
		fmt.Fprintf(b, " %10s", quantileCell(v/unit, s.N, fractions[i]))
	}
	fmt.Fprintf(b, " %10s\n", cell(s.Max/unit))
}

// quantileCell leaves out a quantile over too few values.
func quantileCell(v float64, n int64, q float64) string {
	if n < stats.MinN(q) {
		return "-"
	}
	return cell(v)
}

// triggers writes what steps took, by what they follow on and by their number.
func (r *Report) triggers(b *strings.Builder) {
	steps(b, "steps by trigger", r.Triggers)
	steps(b, "steps by index", r.StepIndex)
}

func steps(b *strings.Builder, what string, kinds []query.Trigger) {
	if len(kinds) == 0 {
		return
	}
	fmt.Fprintf(b, "%-16s %8s %10s %10s %10s %10s %10s %12s %12s\n", what, "n", "ttft p50", "ttft p95", "tpot p50", "e2e p50", "e2e p95", "planned hit", "measured hit")
	for _, t := range kinds {
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
	Underway    int64                 `json:"underway"`
	Queued      int64                 `json:"queued"`
	Steps       int64                 `json:"steps"`
	StepsUnsent int64                 `json:"steps_unsent"`
	Metrics     map[string]jsonMetric `json:"metrics"`
	SCTBySteps  map[string]jsonMetric `json:"sct_by_steps"`
	ByTurn      map[string]jsonMetric `json:"turn_response_by_turn"`
	Slowdown    jsonMetric            `json:"slowdown"`
	Met         *int64                `json:"slo_met"`
	Judged      *int64                `json:"slo_judged"`
	Attainment  *float64              `json:"attainment"`
	Goodput     *float64              `json:"goodput_sessions_s"`
	Tenants     []jsonTenant          `json:"tenants"`
	Others      int                   `json:"other_tenants"`
}

// jsonTenant are the sessions of one tenant.
type jsonTenant struct {
	Tenant    string     `json:"tenant"`
	N         int64      `json:"n"`
	Completed int64      `json:"completed"`
	SCT       jsonMetric `json:"sct"`
	Turn      jsonMetric `json:"turn_response"`
	Slowdown  jsonMetric `json:"slowdown"`
}

// ratioJSON is a metric without a unit.
func ratioJSON(s stats.Summary) jsonMetric {
	m := metricJSON(s)
	m.Unit = "ratio"
	return m
}

func unitJSON(s stats.Summary) jsonMetric { return metricJSON(inUnit(query.Metric{Summary: s})) }

func (r *Report) sessionsJSON() *jsonSessions {
	s := &r.Sessions
	if !s.Known {
		return nil
	}
	out := &jsonSessions{
		N: s.N, Outcomes: map[string]int64{}, Threads: s.Threads, Underway: s.Underway, Queued: s.Queued, Steps: s.Steps, StepsUnsent: s.StepsUnsent,
		Metrics: map[string]jsonMetric{}, SCTBySteps: map[string]jsonMetric{}, ByTurn: map[string]jsonMetric{},
		Slowdown: ratioJSON(s.Slowdown), Tenants: []jsonTenant{}, Others: s.OtherTenants,
		Goodput: maybe(r.sessionGoodput()),
	}
	if s.SLO {
		out.Met, out.Judged, out.Attainment = &s.Met, &s.Judged, maybe(r.sessionAttainment(), s.N > s.Free)
	}
	for _, t := range s.Tenants {
		out.Tenants = append(out.Tenants, jsonTenant{t.Name, t.N, t.Completed, unitJSON(t.SCT), unitJSON(t.Turn), ratioJSON(t.Slowdown)})
	}
	for _, m := range s.ByTurn {
		out.ByTurn[m.Name] = unitJSON(m.Summary)
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
	unit := unitJSON
	for _, t := range all {
		out = append(out, jsonTrigger{
			Trigger: t.Name, N: t.N, OK: t.OK, TTFT: unit(t.TTFT), TPOT: unit(t.TPOT), E2E: unit(t.E2E),
			PlannedHit: maybe(t.PlannedHit.Value(), t.PlannedHit.Known()), MeasuredHit: maybe(t.MeasuredHit.Value(), t.MeasuredHit.Known()),
		})
	}
	return out
}
