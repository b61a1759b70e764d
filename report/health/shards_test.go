package health_test

import (
	"strings"
	"testing"

	"goodput/loadgen/record"
	"goodput/report/health"
	"goodput/report/query"
)

// The worst generator decides over a merged run, however few of its requests were late. A
// part too small to say anything does not.
func TestWorstShardDecides(t *testing.T) {
	for _, c := range []struct {
		name   string
		shards []record.MergedShard
		want   health.Verdict
		why    string
	}{
		{"all well", []record.MergedShard{{Verdict: "ok"}, {Verdict: "ok"}}, health.OK, ""},
		{"one late", []record.MergedShard{{Verdict: "ok"}, {Shard: record.Shard{Index: 1, Of: 2}, Verdict: "late", Why: []string{"lag P99 is 9ms"}}}, health.Late, "shard 1 of 2 was late: lag P99 is 9ms"},
		{"one limited", []record.MergedShard{{Shard: record.Shard{Of: 2}, Verdict: "client-limited", Why: []string{"no files"}}, {Verdict: "ok"}}, health.ClientLimited, "shard 0 of 2 was client-limited: no files"},
		{"one empty", []record.MergedShard{{Verdict: "ok"}, {Verdict: "too-few-samples"}}, health.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &query.Figures{Scheduled: 100, Sent: 100}
			f.Outcomes[record.OK] = 100
			f.Manifest.Shards = c.shards
			h := health.Judge(f, 0)
			if h.Verdict != c.want || strings.Join(h.Why, "; ") != c.why {
				t.Errorf("got %s %q, want %s %q", h.Verdict, h.Why, c.want, c.why)
			}
		})
	}
}
