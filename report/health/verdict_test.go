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
		{"waiting under a cap to the end", func(f *query.Figures) {
			f.Sent, f.Manifest.Counters = 100, map[string]int64{record.CounterCapQueued: 950}
		}, 0, OK, ""},
		{"never left beside a cap", func(f *query.Figures) {
			f.Sent, f.Manifest.Counters = 900, map[string]int64{record.CounterCapQueued: 10}
		}, 0, Late, "achieved 9 of 9.9"},
		{"records lost", func(f *query.Figures) { f.Manifest.Counters = map[string]int64{"record_rows_dropped": 3} }, 0, ClientLimited, "3 records"},
		{"disk full", func(f *query.Figures) {
			f.Manifest.Counters, f.Manifest.Problem = map[string]int64{"record_rows_lost": 4}, "no space left"
		}, 0, ClientLimited, "up to 4 records were lost (no space left)"},
		{"recovered", func(f *query.Figures) { f.Manifest.Problem = "killed" }, 0, ClientLimited, "not whole (killed)"},
		{"all failed", func(f *query.Figures) { f.Outcomes[record.OK] = 0 }, 0, TooFewSamples, "no request completed"},
		{"nothing sent", func(f *query.Figures) { *f = query.Figures{} }, 0, TooFewSamples, "no request was scheduled"},
		{"late, processors used up", func(f *query.Figures) {
			f.Metrics[0].P99 = 6e6
			f.Manifest.Generator = generator(1, 99*time.Second)
		}, 0, ClientLimited, "used 99 % of 1 processor:"},
		{"late in its busiest second", func(f *query.Figures) {
			f.Metrics[0].P99 = 6e6
			g := generator(2, 20*time.Second)
			g.Busiest, f.Manifest.Generator = ptr(0.97), g
		}, 0, ClientLimited, "used 97 % of 2 processors in its busiest second"},
		{"late, others on the machine", func(f *query.Figures) {
			f.Metrics[0].P99 = 6e6
			g := generator(2, 20*time.Second)
			g.MachineBusy, f.Manifest.Generator = ptr(0.99), g
		}, 0, Late, "end what else runs there"},
		{"late after collections", func(f *query.Figures) {
			f.Metrics[0].P99 = 6e6
			g := generator(2, 20*time.Second)
			g.GCPauseMax, f.Manifest.Generator = ptr(20*time.Millisecond), g
		}, 0, Late, "stopped the generator for up to 20ms"},
		{"late, and left together", func(f *query.Figures) {
			f.Metrics[0].P99 = 6e6
			f.Arrivals = query.Arrivals{N: 1000, Bursts: 2, InBursts: 40, Largest: 30}
		}, 0, Late, "40 of 1000 in catch-up bursts of up to 30"},
		{"processors used up, and nothing late", func(f *query.Figures) {
			f.Manifest.Generator = generator(1, 99*time.Second)
		}, 0, OK, ""},
		{"stamps of a server late", func(f *query.Figures) {
			g := generator(2, 20*time.Second)
			g.SchedP99, g.Waits, f.Manifest.Generator = ptr(9*time.Millisecond), 1000, g
			f.Manifest.Target = map[string]string{record.TargetModel: "m"}
		}, 0, ClientLimited, "waited up to 9ms"},
		{"few waits", func(f *query.Figures) {
			g := generator(2, 20*time.Second)
			g.SchedP99, g.Waits, f.Manifest.Generator = ptr(9*time.Millisecond), 100, g
			f.Manifest.Target = map[string]string{record.TargetModel: "m"}
		}, 0, OK, ""},
		{"waits of a run without a server", func(f *query.Figures) {
			g := generator(2, 20*time.Second)
			g.SchedP99, g.Waits, f.Manifest.Generator = ptr(9*time.Millisecond), 1000, g
		}, 0, OK, ""},
		{"out of files", func(f *query.Figures) {
			f.Manifest.Counters = map[string]int64{record.CounterNoFiles: 3}
			f.Manifest.Generator = &record.Generator{FileLimit: ptr(int64(64))}
		}, 0, ClientLimited, "(64 are allowed): raise the limit"},
		{"out of ports", func(f *query.Figures) {
			f.Manifest.Counters = map[string]int64{record.CounterNoPorts: 3}
		}, 0, ClientLimited, "3 attempts failed for want of a local port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(figures(c.change), c.slo)
			if got.Verdict != c.want || !strings.Contains(strings.Join(got.Why, "\n"), c.why) || got.Valid() != (c.want == OK) {
				t.Errorf("got %+v, want %s with %q", got, c.want, c.why)
			}
		})
	}
}

// generator is that of a run of 100 s.
func generator(procs int, cpu time.Duration) *record.Generator {
	return &record.Generator{Watched: 100 * time.Second, Procs: procs, CPU: &cpu}
}

func ptr[T any](v T) *T { return &v }
