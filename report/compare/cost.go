package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

// DirectArm is the name of the arm that goes to the engines without what stands before
// them in the other arms.
const DirectArm = "direct"

// Cost is what a router costs in one figure: the figure through the router less the same
// without it. Of client minus server, it leaves out what engines did differently, and the
// engines' own HTTP layer, which both have.
type Cost struct {
	Arm, Metric, Agg string
	// Via and Direct are means over seeds, Value their difference, with its interval; in
	// ns. Lo and Hi are NaN with one seed.
	Via, Direct, Value, Lo, Hi float64
	N                          int
}

// costFigure is one figure of a run, in ns; NaN: it has none, or too few requests for it.
type costFigure struct {
	metric, agg string
	of          func(t *Trial) float64
}

// delta is a statistic of a metric by name, with the least number of values it takes.
func delta(metric, agg string, least int64, pick func(stats.Summary) float64) costFigure {
	return costFigure{metric, agg, func(t *Trial) float64 {
		m, ok := t.Report.Metric(metric)
		if !ok {
			i := slices.IndexFunc(t.Report.Joined.Deltas, func(m query.Metric) bool { return m.Name == metric })
			if i < 0 {
				return math.NaN()
			}
			m = t.Report.Joined.Deltas[i]
		}
		if m.N < max(1, least) {
			return math.NaN()
		}
		return pick(m.Summary)
	}}
}

// costFigures are those of the table, the ones of metrics only where there are no spans.
func costFigures() []costFigure {
	mean := func(s stats.Summary) float64 { return s.Mean }
	median := func(s stats.Summary) float64 { return s.P50 }
	most := func(s stats.Summary) float64 { return s.P99 }
	return []costFigure{
		delta("d_ttft", "mean", 1, mean), delta("d_ttft", "p50", stats.MinN(.5), median), delta("d_ttft", "p99", stats.MinN(.99), most),
		delta("d_e2e", "mean", 1, mean), delta("d_e2e", "p50", stats.MinN(.5), median),
		delta("d_tail", "mean", 1, mean), delta("d_tpot", "mean", 1, mean),
		{"d_ttft", "mean by metrics", func(t *Trial) float64 { return 1e6 * t.Report.Means().DTTFT }},
		{"d_e2e", "mean by metrics", func(t *Trial) float64 { return 1e6 * t.Report.Means().DE2E }},
		delta("ttft_send", "mean", 1, mean), delta("ttft_send", "p50", stats.MinN(.5), median),
	}
}

// Costs are what each arm costs against the direct one, in the figures that all runs of
// both have; none without a direct arm.
func (s *Set) Costs() []Cost {
	direct := slices.Index(s.Arms, DirectArm)
	if direct < 0 || len(s.Arms) < 2 {
		return nil
	}
	var out []Cost
	for a, name := range s.Arms {
		if a == direct {
			continue
		}
		for _, f := range costFigures() {
			c := Cost{Arm: name, Metric: f.metric, Agg: f.agg, N: len(s.Seeds)}
			values := make([]float64, len(s.Seeds))
			for i := range s.Seeds {
				via, without := f.of(s.Trials[a][i]), f.of(s.Trials[direct][i])
				values[i] = via - without
				c.Via += via / float64(c.N)
				c.Direct += without / float64(c.N)
			}
			in, err := stats.Mean(values, confidence)
			if err != nil || math.IsNaN(in.Value) {
				continue
			}
			c.Value, c.Lo, c.Hi = in.Value, in.Lo, in.Hi
			out = append(out, c)
		}
	}
	return out
}

// costs writes the table.
func (s *Set) costs(b *strings.Builder) {
	list := s.Costs()
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\nrouter cost, ms: through the router less %s", DirectArm)
	if len(s.Seeds) > 1 {
		fmt.Fprintf(b, ", 95 %% interval over %d seeds", len(s.Seeds))
	}
	b.WriteString("; d_: client less server\n\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "arm\tfigure\tthrough it\t%s\tcost\n", DirectArm)
	for _, c := range list {
		fmt.Fprintln(t, strings.Join(c.cells(), "\t"))
	}
	_ = t.Flush() // a strings.Builder takes all
	for a, name := range s.Arms {
		for i, trial := range s.Trials[a] {
			s.unpaired(b, name, i, trial)
		}
	}
	if !slices.ContainsFunc(list, func(c Cost) bool { return c.Metric == "d_ttft" }) {
		b.WriteString("  nothing told the engines' own times, so what they did differently is in it: take spans (--otlp-listen) or metrics (--metrics-url)\n")
	}
}

// unpaired says of a run why its figures are of a part of the requests.
func (s *Set) unpaired(b *strings.Builder, arm string, seed int, t *Trial) {
	r := t.Report
	if c := r.Joined.Coverage(); r.Joined.Spans() && c.Known() && c.Value() < 0.99 {
		fmt.Fprintf(b, "  %s, seed %d: only %.1f %% of the successes have a span\n", arm, s.Seeds[seed], 100*c.Value())
	}
	if n := r.Failed() + r.Outcomes[record.Censored]; n > 0 {
		fmt.Fprintf(b, "  %s, seed %d: %d requests are missing in it, which did not succeed\n", arm, s.Seeds[seed], n)
	}
}

type jsonCost struct {
	Arm    string `json:"arm"`
	Metric string `json:"metric"`
	Agg    string `json:"agg"`
	Unit   string `json:"unit"`
	Via    number `json:"via"`
	Direct number `json:"direct"`
	Cost   number `json:"cost"`
	Lo     number `json:"lo"`
	Hi     number `json:"hi"`
	N      int    `json:"n"` // seeds
}

func (s *Set) costsJSON() []jsonCost {
	out := []jsonCost{}
	for _, c := range s.Costs() {
		out = append(out, jsonCost{c.Arm, c.Metric, c.Agg, "ns", number(c.Via), number(c.Direct), number(c.Value), number(c.Lo), number(c.Hi), c.N})
	}
	return out
}
