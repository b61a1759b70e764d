package render

import (
	"strings"
	"testing"
	"time"

	"goodput/loadgen/record"
	"goodput/report/health"
)

func TestGeneratorText(t *testing.T) {
	cpu, busy, wait := 40*time.Second, 0.5, 1234*time.Microsecond
	for _, c := range []struct {
		name    string
		g       *record.Generator
		verdict health.Verdict
		want    string
	}{
		{"not watched", nil, health.OK, "generator  ok\n"},
		{
			"watched", &record.Generator{Watched: 100 * time.Second, Procs: 2, CPU: &cpu, MachineBusy: &busy, SchedP99: &wait}, health.OK,
			"generator  ok: CPU 20 % of 2, 20 ms CPU a request, machine busy 50 %, goroutines wait 1.23ms (P99)\n",
		},
		{"nothing known", &record.Generator{Watched: time.Second, Procs: 2}, health.Late, "generator  late\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			r.Manifest.Generator, r.Manifest.Counts, r.Health.Verdict = c.g, &record.Counts{Scheduled: 2000}, c.verdict
			var b strings.Builder
			r.generator(&b)
			if b.String() != c.want {
				t.Errorf("got %q, want %q", b.String(), c.want)
			}
			j := generatorJSON(c.g, r.taken())
			if (j == nil) != (c.g == nil) {
				t.Errorf("JSON %+v of %+v", j, c.g)
			}
			if j != nil && (j.CPUMS == nil) != (c.g.CPU == nil) {
				t.Errorf("a figure that nobody knows: %+v", j)
			}
		})
	}
}
