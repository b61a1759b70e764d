package query

import (
	"cmp"
	"slices"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// quantiler finds a quantile among values; both stats.Sample and stats.Hist do.
type quantiler interface {
	Quantile(q float64) (v int64, ok bool)
	Summary() stats.Summary
}

var (
	_ quantiler = (*stats.Sample)(nil)
	_ quantiler = (*stats.Hist)(nil)
)

// values are those of one metric.
type values struct {
	name string
	unit float64 // ns of one
	of   quantiler
}

// Quantile is the nearest-rank quantile of the named metric in nanoseconds, above 0 and
// below 1; ok is false if the metric has no values. It is not for several goroutines at
// once.
func (f *Figures) Quantile(metric string, q float64) (ns float64, ok bool) {
	for _, v := range f.values {
		if v.name == metric {
			x, ok := v.of.Quantile(q)
			return float64(x) * v.unit, ok
		}
	}
	return 0, false
}

// Summary is that of the named metric, which may be queue, the time in the engine's
// queue by its own account, besides those of Metrics. N is 0 if there is none.
func (f *Figures) Summary(metric string) stats.Summary {
	if m, ok := f.Metric(metric); ok {
		return m.Summary
	}
	for _, v := range f.values {
		if v.name == metric {
			return scale(v.of.Summary(), v.unit)
		}
	}
	return stats.Summary{}
}

// Goodput is requests that met the objective per second of the window.
func (f *Figures) Goodput() (rate float64, ok bool) {
	if !f.SLO || !f.Rated() {
		return 0, false
	}
	return float64(f.Met) / f.Window.Seconds(), true
}

// Attainment is the share of requests that met the objective. A request that was cut off
// is a miss; one that was given up on purpose was promised nothing any more, and one of a
// class without an SLO nothing at all.
func (f *Figures) Attainment() (share float64, ok bool) {
	promised := f.Promised()
	if !f.SLO || promised == 0 || f.Judged == 0 {
		return 0, false
	}
	return float64(f.Met) / float64(promised), true
}

// Promised is the number of requests that an SLO was for to the end.
func (f *Figures) Promised() int64 { return f.Scheduled - f.Outcomes[record.Canceled] - f.Free }

// Throughput is output tokens of successes per second, from the start of the window to
// the last token.
func (f *Figures) Throughput() (rate float64, ok bool) {
	if f.Span <= 0 {
		return 0, false
	}
	return float64(f.OutputTokens) / f.Span.Seconds(), true
}

// Assigned is the number of requests that a replica decided.
type Assigned struct {
	Replica string
	N       int64
}

// assigned collects them.
type assigned map[string]*Assigned

func (a assigned) add(r *record.Request) {
	if r.Replica == "" {
		return
	}
	if x := a[r.Replica]; x != nil {
		x.N++
		return
	}
	if len(a) < mostReplicas {
		name := string([]byte(r.Replica))
		a[name] = &Assigned{name, 1}
	}
}

// mostReplicas bounds what a file of other origin can make of memory.
const mostReplicas = 1 << 16

func (a assigned) finish() []Assigned {
	out := make([]Assigned, 0, len(a))
	for _, x := range a {
		out = append(out, *x)
	}
	slices.SortFunc(out, func(x, y Assigned) int {
		return cmp.Or(cmp.Compare(len(x.Replica), len(y.Replica)), cmp.Compare(x.Replica, y.Replica))
	})
	return out
}

// Imbalance is the most requests of a replica over the mean of all replicas, of which
// there are total; 0: only those count that had a request. ok is false if no request
// says which replica it had.
func (f *Figures) Imbalance(total int) (ratio float64, ok bool) {
	var sum, most int64
	for _, a := range f.Assigned {
		sum += a.N
		most = max(most, a.N)
	}
	if sum == 0 {
		return 0, false
	}
	return float64(most) * float64(max(total, len(f.Assigned))) / float64(sum), true
}

// Retries is the number of attempts beyond the first at each request, hedges included.
func (f *Figures) Retries() int64 { return max(0, f.Attempts.N-f.Sent) }
