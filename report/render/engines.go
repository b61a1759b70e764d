package render

import (
	"fmt"
	"math"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/query"
)

// engines writes what the engines told of themselves, if that was over the network: of
// those in process the rows tell more.
func (r *Report) engines(b *strings.Builder) {
	e := &r.Engines
	if !e.Known() || e.Source == record.SampleInProcess {
		return
	}
	head := fmt.Sprintf("%d by their metrics (%s), %d samples", e.Replicas, strings.Join(e.Dialects, ", "), e.Samples)
	if e.Source == record.SampleORCA {
		head = fmt.Sprintf("%d by their answers (ORCA), %d samples", e.Replicas, e.Samples)
	}
	if e.Routers > 0 {
		head += fmt.Sprintf("; %d that routers show are not added", e.Routers)
	}
	fmt.Fprintf(b, "engines    %s\n", head)
	var parts []string
	if share, ok := e.HitRate(); ok {
		parts = append(parts, fmt.Sprintf("prefix hits %.1f %%", 100*share))
	}
	if n, ok := e.Of(record.SignalPreemptions); ok {
		parts = append(parts, fmt.Sprintf("preemptions %.0f", n))
	}
	if l := &e.KVUsage; l.N > 0 {
		parts = append(parts, fmt.Sprintf("KV usage mean %.1f %%, max %.1f %%", 100*l.Mean, 100*l.Max))
	}
	for _, l := range []struct {
		name string
		of   *query.Level
	}{{"running", &e.Running}, {"waiting", &e.Waiting}} {
		if l.of.N > 0 {
			parts = append(parts, fmt.Sprintf("%s mean %.3g, max %.0f", l.name, l.of.Mean, l.of.Max))
		}
	}
	wrap(b, "           ", parts)
	parts = nil
	for _, t := range timings {
		if s, n, ok := e.MeanOf(t.sum, t.count); ok {
			parts = append(parts, fmt.Sprintf("%s %s %s (%.0f)", t.name, cell(1e3*s), unitName, n))
		}
	}
	wrap(b, "  means of ", parts)
	if m := r.Means(); m.Asked {
		fmt.Fprintf(b, "  %s\n", m.text())
	}
}

// timings are the histograms whose means are shown.
var timings = [...]struct {
	name       string
	sum, count record.Signal
}{
	{"ttft", record.SignalTTFTSum, record.SignalTTFTCount},
	{"queue", record.SignalQueueSum, record.SignalQueueCount},
	{"prefill", record.SignalPrefillSum, record.SignalPrefillCount},
	{"decode", record.SignalDecodeSum, record.SignalDecodeCount},
	{"e2e", record.SignalE2ESum, record.SignalE2ECount},
}

// Means are the mean differences between client and engines by the sums of histograms,
// where there are no spans. A difference of means is the mean of the differences if both
// are over the same requests, which the counts prove; a difference of quantiles is nothing.
type Means struct {
	// Asked: there are metrics, and nothing better.
	Asked bool
	// Why there is none; "": there is.
	Why string
	// DTTFT and DE2E are in milliseconds; NaN: not told.
	DTTFT, DE2E float64
	N           int64
}

// Means works out the differences of means, where there are no spans.
func (r *Report) Means() Means {
	e, j := &r.Engines, &r.Joined
	m := Means{DTTFT: math.NaN(), DE2E: math.NaN(), N: j.Successes}
	_, told := e.Of(record.SignalTTFTCount)
	m.Asked = e.Known() && e.Source == record.SampleScrape && told && j.Successes > 0 && j.OTLP+j.InProcess == 0
	if !m.Asked {
		return m
	}
	warmups := r.Manifest.Counters[record.CounterWarmups]
	switch {
	case e.Resets > 0:
		m.Why = fmt.Sprintf("%d engines began anew during the run", e.Resets)
	case warmups > 0:
		m.Why = fmt.Sprintf("the engines count the %d requests of the warm-up, too", warmups)
	case r.Manifest.Counters[record.CounterProbes] > 0:
		m.Why = fmt.Sprintf("the engines count the %d probes, too", r.Manifest.Counters[record.CounterProbes])
	case !e.Idle:
		m.Why = "there were requests in the engines before the run or after it"
	}
	if m.Why != "" {
		return m
	}
	for _, d := range []struct {
		to         *float64
		name       string
		client     query.Mean
		sum, count record.Signal
	}{
		{&m.DTTFT, "first tokens", j.PathTTFT, record.SignalTTFTSum, record.SignalTTFTCount},
		{&m.DE2E, "answers", j.PathE2E, record.SignalE2ESum, record.SignalE2ECount},
	} {
		mean, n, ok := e.MeanOf(d.sum, d.count)
		switch {
		case !ok:
		case int64(n) != d.client.N:
			m.Why = fmt.Sprintf("the engines count %.0f %s, the client %d: other requests, retries or failures are among them", n, d.name, d.client.N)
			m.DTTFT, m.DE2E = math.NaN(), math.NaN()
			return m
		default:
			*d.to = (d.client.Value - 1e9*mean) / unitNS
		}
	}
	return m
}

func (m *Means) text() string {
	if m.Why != "" {
		return "client - server n/a: " + m.Why
	}
	out := fmt.Sprintf("client - server by the sums of %d requests: mean d_ttft %s %s", m.N, signed(m.DTTFT), unitName)
	if !math.IsNaN(m.DE2E) {
		out += fmt.Sprintf(", d_e2e %s %s", signed(m.DE2E), unitName)
	}
	return out + "; quantiles n/a (no spans)"
}

// warnEngines warns of what spoils the engines' own figures.
func (r *Report) warnEngines(warn func(format string, args ...any)) {
	e := &r.Engines
	if len(e.Doubles) > 0 {
		warn("%s shows the counters of an engine that another page shows, too, and was not added: name each engine once as --metrics-url", strings.Join(e.Doubles, ", "))
	}
	if e.Resets > 0 {
		warn("counters of %d engines fell during the run: they began anew, and what they counted before is lost; or the address is that of a router, which asks one engine after the other: name each engine as --metrics-url", e.Resets)
	}
	c := r.Manifest.Counters
	if n := c["scrapes_failed"] + c["scrapes_skipped"] + c["engine_samples_dropped"]; n > 0 {
		warn("%d samples of the engines' metrics are missing: means and maxima of levels are of the others", n)
	}
	if n := c["scrape_lines_bad"] + c["scrape_values_bad"]; n > 0 {
		warn("%d figures in the engines' metrics could not be read, and are unknown", n)
	}
}

// jsonEngines is what the engines told.
type jsonEngines struct {
	Replicas    int                 `json:"replicas"`
	Routers     int                 `json:"routers"`
	Doubles     []string            `json:"doubles"`
	Samples     int64               `json:"samples"`
	Source      string              `json:"source"`
	Dialects    []string            `json:"dialects"`
	HitRate     *float64            `json:"hit_rate"`
	Preemptions *float64            `json:"preemptions"`
	KVUsageMean *float64            `json:"kv_usage_mean"`
	KVUsageMax  *float64            `json:"kv_usage_max"`
	RunningMean *float64            `json:"running_mean"`
	RunningMax  *float64            `json:"running_max"`
	WaitingMean *float64            `json:"waiting_mean"`
	WaitingMax  *float64            `json:"waiting_max"`
	Means       map[string]*float64 `json:"means"` // by histogram
	DTTFTMean   *float64            `json:"d_ttft_mean"`
	DE2EMean    *float64            `json:"d_e2e_mean"`
	NoDelta     *string             `json:"no_delta"` // why d_ttft_mean is null
	Resets      int                 `json:"resets"`
	Unit        string              `json:"unit"` // of times
}

// enginesJSON is nil if nobody was asked.
func (r *Report) enginesJSON() *jsonEngines {
	e := &r.Engines
	if !e.Known() && e.Routers == 0 {
		return nil
	}
	level := func(l *query.Level) (mean, highest *float64) { return maybe(l.Mean, l.N > 0), maybe(l.Max, l.N > 0) }
	out := &jsonEngines{
		Replicas: e.Replicas, Routers: e.Routers, Doubles: some(e.Doubles), Samples: e.Samples, Source: string(e.Source), Dialects: some(e.Dialects),
		HitRate: maybe(e.HitRate()), Preemptions: maybe(e.Of(record.SignalPreemptions)), Means: map[string]*float64{}, Resets: e.Resets, Unit: unitName,
	}
	out.KVUsageMean, out.KVUsageMax = level(&e.KVUsage)
	out.RunningMean, out.RunningMax = level(&e.Running)
	out.WaitingMean, out.WaitingMax = level(&e.Waiting)
	for _, t := range timings {
		s, _, ok := e.MeanOf(t.sum, t.count)
		out.Means[t.name] = maybe(1e3*s, ok)
	}
	if m := r.Means(); m.Asked {
		out.DTTFTMean, out.DE2EMean = maybe(m.DTTFT, true), maybe(m.DE2E, true)
		if m.Why != "" {
			out.NoDelta = &m.Why
		}
	}
	return out
}
