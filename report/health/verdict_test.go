package health

import (
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

// figures are those of a healthy run of 1000 requests in 100 s.
func figures(change func(*query.Figures)) *query.Figures {
	f := &query.Figures{
		Window: 100 * time.Second, Scheduled: 1000, Sent: 1000,
		LastSent: clock.Time(100*time.Second + time.Millisecond),
		Metrics:  []query.Metric{{Name: "lag", Summary: stats.Summary{N: 1000, P99: 2e6}}},
	}
	f.Outcomes[record.OK] = 1000
	change(f)
	return f
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*query.Figures)
		slo    time.Duration
		want   Verdict
		why    string
	}{
		{"healthy", func(*query.Figures) {}, 0, OK, ""},
		{"late", func(f *query.Figures) { f.Metrics[0].P99 = 6e6 }, 0, Late, "lag P99 is 6"},
		{"late, but little beside the SLO", func(f *query.Figures) { f.Metrics[0].P99 = 6e6 }, 2 * time.Second, OK, ""},
		{"slipped", func(f *query.Figures) { f.LastSent = clock.Time(102 * time.Second) }, 0, Late, "schedule slipped"},
		{"slipped by little in a short run", func(f *query.Figures) {
			f.Window, f.LastSent = 100*time.Millisecond, clock.Time(104*time.Millisecond)
		}, 0, OK, ""},
		{"never left", func(f *query.Figures) { f.Sent = 900 }, 0, Late, "achieved 9 of 10"},
		{"records lost", func(f *query.Figures) { f.Manifest.Counters = map[string]int64{"record_rows_dropped": 3} }, 0, ClientLimited, "3 records"},
		{"disk full", func(f *query.Figures) {
			f.Manifest.Counters, f.Manifest.Problem = map[string]int64{"record_rows_lost": 4}, "no space left"
		}, 0, ClientLimited, "up to 4 records were lost (no space left)"},
		{"recovered", func(f *query.Figures) { f.Manifest.Problem = "killed" }, 0, ClientLimited, "not whole (killed)"},
		{"all failed", func(f *query.Figures) { f.Outcomes[record.OK] = 0 }, 0, TooFewSamples, "no request completed"},
		{"nothing sent", func(f *query.Figures) { *f = query.Figures{} }, 0, TooFewSamples, "no request was scheduled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(figures(c.change), c.slo)
			if got.Verdict != c.want || !strings.Contains(strings.Join(got.Why, "\n"), c.why) || got.Valid() != (c.want == OK) {
				t.Errorf("got %+v, want %s with %q", got, c.want, c.why)
			}
		})
	}
}
