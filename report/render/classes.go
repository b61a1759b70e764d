package render

import (
	"fmt"
	"io"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

// Class is one class of the load.
type Class struct {
	Name string
	// SLO is what its requests were promised, as people wrote it; "" is nothing.
	SLO string
	// Priority is theirs; 0 was not sent.
	Priority int
	// Probes: it is what was sent beside the load, and in none of the load's figures.
	Probes bool
	// Figures are of its requests alone; nil: it had none.
	*query.Figures
}

// ClassHead names the columns of ClassRows. Times are in milliseconds; rates are per second
// of the whole load's window, so that those of the classes add up. Beside sessions, whose
// steps come long after the last arrival, they are up to the class's own last request.
func ClassHead() []string {
	return []string{
		"class", "n", "ok", "failed", "offered/s", "goodput/s", "attainment",
		"ttft p50", "ttft p95", "ttft p99", "tpot p50", "tpot p95", "e2e p50", "e2e p95", "SLO",
	}
}

// none stands for a figure that does not exist.
const none = "-"

// ClassRows are the figures of the classes, in the order of the plan; a figure that does
// not exist, or a quantile of too few values, is a dash.
func (r *Report) ClassRows() [][]string {
	var out [][]string
	for i := range r.Classes {
		out = append(out, r.classRow(&r.Classes[i]))
	}
	return out
}

func (r *Report) classRow(c *Class) []string {
	slo := c.SLO
	if slo == "" {
		slo = none
	}
	if c.Figures == nil {
		row := []string{c.Name, "0", "0", "0"}
		for range len(ClassHead()) - 5 {
			row = append(row, none)
		}
		return append(row, slo)
	}
	number := func(v float64, ok bool) string {
		if !ok {
			return none
		}
		return cell(v)
	}
	attained := none
	if v, ok := c.Attainment(); ok {
		attained = fmt.Sprintf("%.2f %%", 100*v)
	}
	row := []string{
		c.Name, fmt.Sprint(c.Scheduled), fmt.Sprint(c.Outcomes[record.OK]), fmt.Sprint(c.Failed()),
		number(r.perSecond(c.Figures, c.Scheduled)), number(r.classGoodput(c)), attained,
	}
	for _, q := range []struct {
		metric string
		at     float64
		of     func(*stats.Summary) float64
	}{
		{"ttft", .5, func(s *stats.Summary) float64 { return s.P50 }},
		{"ttft", .95, func(s *stats.Summary) float64 { return s.P95 }},
		{"ttft", .99, func(s *stats.Summary) float64 { return s.P99 }},
		{"tpot", .5, func(s *stats.Summary) float64 { return s.P50 }},
		{"tpot", .95, func(s *stats.Summary) float64 { return s.P95 }},
		{"e2e", .5, func(s *stats.Summary) float64 { return s.P50 }},
		{"e2e", .95, func(s *stats.Summary) float64 { return s.P95 }},
	} {
		m, ok := c.Metric(q.metric)
		s := inUnit(m)
		row = append(row, number(q.of(&s), ok && m.N > 0 && m.Reliable(q.at)))
	}
	return append(row, slo)
}

// perSecond is a number of requests of a class per second of the window; ok is false
// without one, and for a closed loop.
func (r *Report) perSecond(of *query.Figures, n int64) (rate float64, ok bool) {
	whole := r.Figures
	if r.Sessions.Known {
		whole = of
	}
	if !whole.Rated() || r.closed() {
		return 0, false
	}
	return float64(n) / whole.Window.Seconds(), true
}

// classGoodput is requests of the class that met its SLO, per second.
func (r *Report) classGoodput(c *Class) (rate float64, ok bool) {
	if !c.Figures.SLO {
		return 0, false
	}
	return r.perSecond(c.Figures, c.Met)
}

// classes writes the table of the classes.
func (r *Report) classes(w io.Writer) {
	if len(r.Classes) == 0 {
		return
	}
	rows := append([][]string{ClassHead()}, r.ClassRows()...)
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], len(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		fmt.Fprintf(&line, "%-*s", width[0], row[0])
		for i := 1; i < len(row)-1; i++ {
			fmt.Fprintf(&line, "  %*s", width[i], row[i])
		}
		fmt.Fprintf(w, "%s  %s\n", line.String(), row[len(row)-1])
	}
	until := "of the whole window"
	if r.Sessions.Known {
		until = "up to the last request of the class"
	}
	fmt.Fprintf(w, "  times in ms; rates per second %s\n", until)
	if r.probed() {
		fmt.Fprintln(w, "  probe: sent beside the load, and in none of its figures")
	}
	fmt.Fprintln(w)
}

// probed reports whether the last class is that of probes.
func (r *Report) probed() bool {
	return len(r.Classes) > 0 && r.Classes[len(r.Classes)-1].Probes
}

// jsonClass is what JSON says of a class.
type jsonClass struct {
	Name       string                `json:"name"`
	Probes     bool                  `json:"probes"`
	SLO        *string               `json:"slo"`
	Priority   int                   `json:"priority"`
	Requests   int64                 `json:"requests"`
	Outcomes   map[string]int64      `json:"outcomes"`
	OfferedRPS *float64              `json:"offered_rps"`
	Attainment *float64              `json:"attainment"`
	GoodputRPS *float64              `json:"goodput_rps"`
	Metrics    map[string]jsonMetric `json:"metrics"`
	Cache      jsonCache             `json:"cache"`
}

func (r *Report) classesJSON() []jsonClass {
	out := []jsonClass{}
	for i := range r.Classes {
		c := &r.Classes[i]
		j := jsonClass{Name: c.Name, Probes: c.Probes, SLO: phrase(c.SLO), Priority: c.Priority, Outcomes: map[string]int64{}, Metrics: map[string]jsonMetric{}}
		if f := c.Figures; f != nil {
			j.Requests, j.Outcomes, j.Metrics = f.Scheduled, outcomesJSON(f), metricsJSON(f)
			j.OfferedRPS, j.GoodputRPS, j.Attainment = maybe(r.perSecond(f, f.Scheduled)), maybe(r.classGoodput(c)), maybe(f.Attainment())
			j.Cache.PlannedHit = maybe(f.PlannedHit.Value(), f.PlannedHit.Known())
			j.Cache.PoolHit = maybe(f.PoolHit.Value(), f.PoolHit.Known())
			j.Cache.MeasuredHit = maybe(f.MeasuredHit.Value(), f.MeasuredHit.Known())
			j.Cache.Gap = maybe(f.HitGap())
		}
		out = append(out, j)
	}
	return out
}
