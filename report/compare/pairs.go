package compare

import (
	"errors"
	"fmt"
	"math"

	"goodput/report/gate"
	"goodput/report/stats"
)

// confidence of the intervals, and the level at which a difference is conclusive.
const (
	confidence = 0.95
	level      = 1 - confidence
)

// Set is a comparison: Trials[a][s] is the run of arm a with seed s. The first arm is
// the base.
type Set struct {
	Dir    string
	Arms   []string
	Seeds  []uint64
	Trials [][]*Trial
	// Knees are those of the arms; empty: none were searched.
	Knees []*Knee
	// Split is what a canary would have said; nil: it was not asked.
	Split *Split
}

// Check returns an error if a run is missing.
func (s *Set) Check() error {
	if len(s.Arms) == 0 || len(s.Seeds) == 0 || len(s.Trials) != len(s.Arms) {
		return errors.New("a comparison needs arms and seeds")
	}
	for a, name := range s.Arms {
		if len(s.Trials[a]) != len(s.Seeds) {
			return fmt.Errorf("arm %s has %d runs for %d seeds", name, len(s.Trials[a]), len(s.Seeds))
		}
		for i, t := range s.Trials[a] {
			if t == nil {
				return fmt.Errorf("arm %s has no run with seed %d: the arms are not paired", name, s.Seeds[i])
			}
		}
	}
	return nil
}

// measure is a figure of the table.
type measure struct {
	title  string
	metric string
	agg    gate.Agg
	// difference: arms differ by so much, not by so many times.
	difference bool
	// pool: it is of what answers, and not of what users see.
	pool bool
}

// measures are the columns of the tables.
var measures = [...]measure{
	{title: "ttft p50", metric: "ttft", agg: gate.Agg{Name: "p", Q: 0.50}},
	{title: "ttft p95", metric: "ttft", agg: gate.Agg{Name: "p", Q: 0.95}},
	{title: "ttft p99", metric: "ttft", agg: gate.Agg{Name: "p", Q: 0.99}},
	{title: "tpot p95", metric: "tpot", agg: gate.Agg{Name: "p", Q: 0.95}},
	{title: "attainment", metric: "attainment", difference: true},
	{title: "goodput", metric: "goodput"},
	{title: "knee", metric: "knee"},
	{title: "hit rate", metric: "hit_rate", difference: true},
	{title: "imbalance", metric: "imbalance", pool: true},
	{title: "skew", metric: "skew", difference: true, pool: true},
	{title: "peak skew", metric: "skew_peak", difference: true, pool: true},
	{title: "herding", metric: "herding", difference: true, pool: true},
	{title: "staleness", metric: "staleness", difference: true, pool: true},
	{title: "preemptions", metric: "preemptions", difference: true, pool: true},
	{title: "output tokens", metric: "throughput"},
	{title: "errors", metric: "error_rate", difference: true},
	{title: "retries", metric: "retries", difference: true, pool: true},
	{title: "sends", metric: "sends", pool: true},
	{title: "most sends", metric: "sends_peak", pool: true},
}

// Pair is the difference of one figure between an arm and the base.
type Pair struct {
	Metric gate.Metric
	Agg    gate.Agg
	Base   string
	Arm    string
	// BaseMean and ArmMean are means over seeds, in the unit of the metric.
	BaseMean, ArmMean float64
	// Ratio tells that Value, Lo and Hi are arm/base, the geometric mean over seeds;
	// otherwise they are arm-base. NaN: there is none, Lo and Hi also with one seed.
	Ratio         bool
	Value, Lo, Hi float64
	N             int
	// P is that of the two-sided test, Holm the same adjusted for the number of arms.
	P, Holm float64
	Title   string
}

// Conclusive reports whether the arms differ at 5 %, all arms taken together.
func (p *Pair) Conclusive() bool { return p.Holm <= level }

// Better reports whether the arm is the better one by its mean.
func (p *Pair) Better() bool { return (p.ArmMean > p.BaseMean) == p.Metric.HigherIsBetter }

// Mean is the mean over seeds of a figure of arm a; NaN if a run has none, or too few
// requests for the quantile.
func (s *Set) mean(a int, m *measure) float64 {
	sum := 0.0
	for _, t := range s.Trials[a] {
		sum += s.value(t, m)
	}
	return sum / float64(len(s.Trials[a]))
}

func (s *Set) value(t *Trial, m *measure) float64 {
	v := t.Statistic(gate.Known(m.metric), m.agg)
	if m.agg.Name == "p" && v.N < stats.MinN(m.agg.Q) {
		return math.NaN()
	}
	return v.Value
}

// Pairs compares each arm with the first in all figures that both have. Each figure is
// corrected by itself for the number of arms.
func (s *Set) Pairs() []Pair {
	var out []Pair
	for i := range measures {
		m := &measures[i]
		var row []Pair
		p := []float64{}
		for a := 1; a < len(s.Arms); a++ {
			row = append(row, s.pair(a, m))
			p = append(p, row[a-1].P)
		}
		for k, adjusted := range stats.Holm(p) {
			row[k].Holm = adjusted
		}
		for _, r := range row {
			if !math.IsNaN(r.BaseMean) || !math.IsNaN(r.ArmMean) {
				out = append(out, r)
			}
		}
	}
	return out
}

func (s *Set) pair(a int, m *measure) Pair {
	nan := math.NaN()
	out := Pair{
		Metric: gate.Known(m.metric), Agg: m.agg, Base: s.Arms[0], Arm: s.Arms[a], Title: m.title,
		BaseMean: s.mean(0, m), ArmMean: s.mean(a, m), Ratio: !m.difference, N: len(s.Seeds),
		Value: nan, Lo: nan, Hi: nan, P: nan, Holm: nan,
	}
	values := make([]float64, len(s.Seeds))
	for i := range s.Seeds {
		base, arm := s.value(s.Trials[0][i], m), s.value(s.Trials[a][i], m)
		switch {
		case m.difference:
			values[i] = arm - base
		case arm == base:
			values[i] = 0
		default:
			values[i] = math.Log(arm / base)
		}
	}
	in, err := stats.Mean(values, confidence)
	if err != nil {
		return out // a ratio to nothing
	}
	out.Value, out.Lo, out.Hi, out.P = in.Value, in.Lo, in.Hi, in.TwoSided()
	if out.Ratio {
		out.Value, out.Lo, out.Hi = math.Exp(in.Value), math.Exp(in.Lo), math.Exp(in.Hi)
	}
	return out
}
