package compare

import (
	"math"

	"goodput/loadgen/record"
	"goodput/report/gate"
	"goodput/report/query"
	"goodput/report/render"
)

// Trial is one finished run.
type Trial struct {
	Arm    string
	Seed   uint64
	Report *render.Report
	// Replicas is the size of the pool that answered; 0: not known.
	Replicas int
	// Knee is that of the run's arm and seed, in requests per second; nil: not known.
	Knee *float64
	// Balance is how the load lay on the replicas; nil: not known, as of a part of a run.
	Balance *query.Balance
}

// balance is a figure of it.
func (t *Trial) balance(name string) (v float64, ok bool) {
	b := t.Balance
	if b == nil {
		return 0, false
	}
	switch name {
	case "skew":
		v = b.Mean
	case "skew_peak":
		v = b.Peak
	case "herding":
		v = b.Herding
	case "sends":
		v = b.Sends
	case "sends_peak":
		v = b.MostSends
	}
	return v, !math.IsNaN(v)
}

// tiny is a quantile below that of any value.
const tiny = 1e-300

// Statistic is the value of a metric in the run. NaN: it has none.
func (t *Trial) Statistic(m gate.Metric, a gate.Agg) gate.Statistic {
	if m.Kind == gate.Latency || a.Name == "count" {
		return t.latency(m.Name, a)
	}
	v, ok := t.single(m.Name)
	if !ok {
		v = math.NaN()
	}
	return gate.Statistic{Value: v}
}

func (t *Trial) latency(name string, a gate.Agg) gate.Statistic {
	none := gate.Statistic{Value: math.NaN()}
	q := a.Q
	if a.Name == "min" {
		q = tiny
	}
	s := t.Report.Summary(name)
	if s.N == 0 {
		return none
	}
	switch a.Name {
	case "count":
		return gate.Statistic{Value: float64(s.N), N: s.N}
	case "mean":
		return gate.Statistic{Value: s.Mean, N: s.N}
	case "max":
		return gate.Statistic{Value: s.Max, N: s.N}
	}
	v, ok := t.Report.Quantile(name, q)
	if !ok {
		return none
	}
	return gate.Statistic{Value: v, N: s.N}
}

// single finds the metrics of one value a run.
func (t *Trial) single(name string) (v float64, ok bool) {
	r := t.Report
	switch name {
	case "attainment":
		return r.Attainment()
	case "error_rate":
		return float64(r.Failed()) / float64(r.Scheduled), r.Scheduled > 0
	case "hit_rate":
		return r.MeasuredHit.Value(), r.MeasuredHit.Known()
	case "knee":
		if t.Knee == nil {
			return 0, false
		}
		return *t.Knee, true
	case "goodput":
		return r.Goodput()
	case "throughput":
		return r.Throughput()
	case "tokens_out":
		return float64(r.OutputTokens), r.Scheduled > 0
	case "truncated":
		return float64(r.Outcomes[record.Truncated]), r.Scheduled > 0
	case "shed":
		return float64(r.Refused), r.Scheduled > 0
	case "preemptions":
		return float64(r.Preemptions), r.Accounts > 0
	case "retries":
		return float64(r.Retries()), r.Sent > 0
	case "imbalance":
		return r.Imbalance(t.Replicas)
	case "staleness":
		n := r.Manifest.Counters[record.CounterReportPicks]
		return 1e3 * float64(r.Manifest.Counters[record.CounterReportAge]) / float64(n), n > 0
	case "skew", "skew_peak", "herding", "sends", "sends_peak":
		return t.balance(name)
	}
	return 0, false
}
