package render

import (
	"math"
	"strings"
	"testing"

	"goodput/loadgen/record"
	"goodput/report/query"
)

// scraped is a run of 100 successes whose engines were scraped.
func scraped(change func(*Report)) *Report {
	r := &Report{Figures: &query.Figures{}}
	r.Joined.Successes = 100
	r.Joined.PathTTFT, r.Joined.PathE2E = query.Mean{Value: 105e6, N: 100}, query.Mean{Value: 1010e6, N: 100}
	e := &r.Engines
	e.Replicas, e.Source, e.Dialects, e.Idle = 2, record.SampleScrape, []string{"vllm"}, true
	for i := range e.Delta {
		e.Delta[i] = math.NaN()
	}
	e.Delta[record.SignalTTFTSum], e.Delta[record.SignalTTFTCount] = 10, 100
	e.Delta[record.SignalE2ESum], e.Delta[record.SignalE2ECount] = 100, 100
	if change != nil {
		change(r)
	}
	return r
}

// TestMeansNeedTheSameRequests: a difference of means is shown where the counts prove that
// both are of the same requests, and quantiles never.
func TestMeansNeedTheSameRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Report)
		want   string // part of the text; "": nothing of means
	}{
		{"all count", nil, "mean d_ttft 5.000 ms, d_e2e 10.00 ms; quantiles n/a (no spans)"},
		{"other requests", func(r *Report) { r.Engines.Delta[record.SignalTTFTCount] = 103 }, "n/a: the engines count 103 first tokens, the client 100"},
		{"began anew", func(r *Report) { r.Engines.Resets = 1 }, "n/a: 1 engines began anew"},
		{"not idle", func(r *Report) { r.Engines.Idle = false }, "n/a: there were requests in the engines"},
		{"warm-up", func(r *Report) { r.Manifest.Counters = map[string]int64{record.CounterWarmups: 5} }, "n/a: the engines count the 5 requests of the warm-up"},
		{"spans are better", func(r *Report) { r.Joined.OTLP = 100 }, ""},
		{"no histograms", func(r *Report) { r.Engines.Delta[record.SignalTTFTCount] = math.NaN() }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := scraped(c.change)
			var b strings.Builder
			r.engines(&b)
			if c.want == "" && strings.Contains(b.String(), "client - server") || !strings.Contains(b.String(), c.want) {
				t.Errorf("%s", b.String())
			}
			j := r.enginesJSON()
			if told := j.DTTFTMean != nil; told != (c.name == "all count") {
				t.Errorf("d_ttft_mean %v, no_delta %v", j.DTTFTMean, j.NoDelta)
			}
		})
	}
}
