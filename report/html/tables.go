package html

import (
	"fmt"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/render"
	"goodput/report/stats"
)

const secondNS = 1e9

var quantileHead = []string{"n", "mean", "P50", "P90", "P95", "P99", "max"}

// metrics is the table of a run's figures.
func metrics(r *render.Report) table {
	t := table{Title: "Figures, ms", Head: []string{"metric", "n", "n_eff", "mean", "P50", "P90", "P95", "P99", "P99.9", "max"}}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if m.N == 0 {
			continue
		}
		row := []string{m.Name, fmt.Sprint(m.N), "?", number(m.Mean / msNS)}
		if m.Independent > 0 {
			row[2] = fmt.Sprint(m.Worth())
		}
		for _, q := range []struct{ at, v float64 }{{.5, m.P50}, {.9, m.P90}, {.95, m.P95}, {.99, m.P99}, {.999, m.P99_9}} {
			row = append(row, number(some(m.Reliable(q.at), q.v/msNS)))
		}
		t.add(append(row, number(m.Max/msNS))...)
	}
	return t
}

// classes is the table of the load's classes.
func classes(r *render.Report) []table {
	if len(r.Classes) == 0 {
		return nil
	}
	return []table{{Title: "Classes of the load, times in ms", Head: render.ClassHead(), Rows: r.ClassRows()}}
}

// deltas is the table of what the way between client and server costs, with what routers
// say of it.
func deltas(r *render.Report) []table {
	if !r.Outside() || r.Joined.Matched() == 0 {
		return nil
	}
	t := table{Title: fmt.Sprintf("Client less server, ms: %d of %d answers, the router's own account of %d", r.Joined.Matched(), r.Joined.Successes, r.Joined.Routed), Head: append([]string{"part"}, quantileHead...)}
	for _, m := range r.AllDeltas() {
		if m.N > 0 {
			t.add(summary(m.Name, &m.Summary, msNS)...)
		}
	}
	return []table{t}
}

// summary is a row of quantiles in a unit.
func summary(name string, s *stats.Summary, unit float64) []string {
	row := []string{name, fmt.Sprint(s.N), number(some(s.N > 0, s.Mean/unit))}
	for _, q := range []struct{ at, v float64 }{{.5, s.P50}, {.9, s.P90}, {.95, s.P95}, {.99, s.P99}} {
		row = append(row, number(some(s.N >= stats.MinN(q.at), q.v/unit)))
	}
	return append(row, number(some(s.N > 0, s.Max/unit)))
}

// sessions are the tables of a run's sessions and their steps.
func sessions(r *render.Report) []table {
	s := &r.Sessions
	if !s.Known {
		return nil
	}
	ended := table{Title: "Sessions", Head: []string{"how they ended", "n"}}
	for o, n := range s.Outcomes {
		if n > 0 {
			ended.add(record.SessionOutcome(o).String(), fmt.Sprint(n))
		}
	}
	if s.SLO {
		ended.add("met the SLO", fmt.Sprintf("%d of %d judged", s.Met, s.Judged))
	}
	times := table{Title: "Times of completed sessions, s", Head: append([]string{"metric"}, quantileHead...)}
	for _, rows := range [][]query.Metric{s.Metrics, s.BySteps, s.ByTurn} {
		for i := range rows {
			if rows[i].N > 0 {
				times.add(summary(rows[i].Name, &rows[i].Summary, secondNS)...)
			}
		}
	}
	out := []table{ended, times}
	if s.Slowdown.N > 0 {
		out = append(out, table{Title: "Slowdown against an idle engine", Head: append([]string{""}, quantileHead...), Rows: [][]string{summary("slowdown", &s.Slowdown, 1)}})
	}
	if len(s.Tenants) > 1 {
		t := table{Title: "By tenant, s", Head: []string{"tenant", "n", "completed", "sct P50", "sct P95", "turn P50", "turn P95", "slowdown P50"}}
		for i := range s.Tenants {
			p := &s.Tenants[i]
			sct, turn, slow := summary("", &p.SCT, secondNS), summary("", &p.Turn, secondNS), summary("", &p.Slowdown, 1)
			t.add(p.Name, fmt.Sprint(p.N), fmt.Sprint(p.Completed), sct[3], sct[5], turn[3], turn[5], slow[3])
		}
		out = append(out, t)
	}
	for _, k := range []struct {
		title string
		rows  []query.Trigger
	}{{"Steps by what they follow on, ms", r.Triggers}, {"Steps by their number, ms", r.StepIndex}} {
		if len(k.rows) > 0 {
			out = append(out, steps(k.title, k.rows))
		}
	}
	return out
}

func steps(title string, rows []query.Trigger) table {
	t := table{Title: title, Head: []string{"step", "n", "ttft P50", "ttft P95", "tpot P50", "e2e P50", "e2e P95", "planned hit", "measured hit"}}
	hit := func(r query.Ratio) string {
		if !r.Known() {
			return number(some(false, 0))
		}
		return fmt.Sprintf("%.1f %%", 100*r.Value())
	}
	for i := range rows {
		k := &rows[i]
		ttft, tpot, e2e := summary("", &k.TTFT, msNS), summary("", &k.TPOT, msNS), summary("", &k.E2E, msNS)
		t.add(k.Name, fmt.Sprint(k.N), ttft[3], ttft[5], tpot[3], e2e[3], e2e[5], hit(k.PlannedHit), hit(k.MeasuredHit))
	}
	return t
}

// arms is the table that compares several runs.
func arms(runs []*render.Report) table {
	t := table{Title: "Runs beside each other", Head: []string{"run", "valid", "offered 1/s", "ok", "failed", "attainment", "goodput 1/s", "TTFT P50 ms", "TTFT P95 ms", "TTFT P99 ms", "TPOT P95 ms", "hit rate"}}
	for _, r := range runs {
		of := func(name string, at float64, v func(m *query.Metric) float64) string {
			m, ok := r.Metric(name)
			return number(some(ok && m.N > 0 && m.Reliable(at), v(&m)/msNS))
		}
		offered, ok1 := r.Offered()
		attainment, _, ok2 := r.Attained()
		goodput, ok3 := r.GoodputRate()
		valid := "yes"
		if !r.Health.Valid() {
			valid = "NO: " + string(r.Health.Verdict)
		}
		t.add(r.Dir, valid, number(some(ok1, offered)), fmt.Sprint(r.Outcomes[record.OK]), fmt.Sprint(r.Failed()),
			number(some(ok2, 100*attainment))+" %", number(some(ok3, goodput)),
			of("ttft", .5, func(m *query.Metric) float64 { return m.P50 }), of("ttft", .95, func(m *query.Metric) float64 { return m.P95 }),
			of("ttft", .99, func(m *query.Metric) float64 { return m.P99 }), of("tpot", .95, func(m *query.Metric) float64 { return m.P95 }),
			number(some(r.MeasuredHit.Known(), 100*r.MeasuredHit.Value()))+" %")
	}
	return t
}
