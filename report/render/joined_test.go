package render

import (
	"fmt"
	"strings"
	"testing"

	"goodput/loadgen/record"
)

// What makes the differences between client and server doubtful is said, and nothing is
// where all is well.
func TestWarningsOfTheServersAccount(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Report)
		want   string
	}{
		{"all joined", func(*Report) {}, ""},
		{"a few are missing", func(r *Report) { r.Joined.OTLP, r.Joined.Missing = 995, 5 }, ""},
		{"many are missing", func(r *Report) { r.Joined.OTLP, r.Joined.Missing = 900, 100 }, "10.0 % of the successes have no span (100 missing"},
		{"engines at one time", func(r *Report) { r.Joined.OTLP, r.Joined.Ambiguous = 900, 100 }, "100 of several engines at one time"},
		{"nothing fits", func(r *Report) { r.Joined.OTLP, r.Joined.Missing = 0, 1000 }, "no span of an engine could be joined"},
		{"failures", func(r *Report) { r.Outcomes[record.OK], r.Outcomes[record.HTTP5xx] = 950, 50 }, "failed requests have no span"},
		{"few failures", func(r *Report) { r.Outcomes[record.OK], r.Outcomes[record.HTTP5xx] = 995, 5 }, ""},
		{"longer than the client saw", func(r *Report) { r.Joined.Negative = 3 }, "3 answers took longer at the server or router than at the client"},
		{"not one within the other", func(r *Report) { r.Joined.Unnested = 2 }, "the spans of 2 answers are not one within the other"},
		{"traces of their own", func(r *Report) { r.Manifest.Counters["otlp_spans_by_request_id"] = 7 }, "7 spans came in traces of their own and were found by X-Request-Id"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			r.Outcomes = [record.NumOutcomes]int64{record.OK: 1000}
			r.Scheduled, r.Joined.Successes, r.Joined.OTLP = 1000, 1000, 1000
			r.Joined.InProcess = 0
			r.Manifest.Counters = map[string]int64{"otlp_spans": 1000}
			c.change(r)
			var got []string
			r.warnJoined(func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
			switch all := strings.Join(got, "\n"); {
			case c.want == "" && all != "":
				t.Errorf("warned of %s", all)
			case !strings.Contains(all, c.want) || c.want != "" && len(got) != 1:
				t.Errorf("%q, want one with %q", got, c.want)
			}
		})
	}
}
