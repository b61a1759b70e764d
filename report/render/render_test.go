package render

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a run with something to say on every line.
func sample() *Report {
	f := &query.Figures{
		Dir: "runs/a",
		Manifest: record.Manifest{
			State: record.Complete, Virtual: true, PlanHash: "0123456789ab", Seed: 7,
			Events: []record.Event{
				{At: clock.Time(20 * time.Second), Replica: "1", What: "slow 2"},
				{At: clock.Time(30 * time.Second), What: "restart"},
				{At: clock.Time(40 * time.Second), Replica: "1", What: "slow 2", Over: true},
			},
			Target: map[string]string{"text": "4 engines"}, Dataset: map[string]string{"text": "random", "cache": "cold"},
		},
		Window: 100 * time.Second, Scheduled: 1000, Sent: 1000, LastSent: clock.Time(100 * time.Second),
		SLO: true, Met: 900, Judged: 990, Span: 101 * time.Second, PromptTokens: 512000, OutputTokens: 128000,
		PlannedHit: query.Ratio{Part: 480, Whole: 1000}, PoolHit: query.Ratio{Part: 470, Whole: 1000}, MeasuredHit: query.Ratio{Part: 455, Whole: 1000},
		Preemptions: 3, Recomputed: 4096, Accounts: 980,
		Drafts:         query.Drafts{Requests: 980, Verified: 40000, Tokens: 120000, Accepted: 68000},
		PromptMismatch: query.Ratio{Part: 5, Whole: 980}, Coalesced: query.Ratio{Part: 300, Whole: 1000},
		Spent: query.Spent{
			N: 980, SlowN: 10, E2E: 1000e6, SlowE2E: 4000e6, Parts: []query.Part{
				{Name: "queue", Mean: 100e6, Slow: 1000e6},
				{Name: "decode", Mean: 900e6, Slow: 2800e6},
				{Name: "preempted", Slow: 200e6},
				{Name: "outside"},
			},
		},
		Metrics: []query.Metric{
			{Name: "ttft", Independent: 412.7, Summary: stats.Summary{N: 980, Mean: 123.456e6, P50: 100e6, P90: 200e6, P95: 250e6, P99: 900e6, P99_9: 1234e6, Max: 98765e6}},
			{Name: "tpot", Summary: stats.Summary{N: 40, Mean: 7.25e6, P50: 7e6, P90: 8e6, P95: 8.5e6, P99: 9e6, P99_9: 9e6, Max: 9e6}},
			{Name: "client_queue"},
		},
	}
	f.Outcomes[record.OK], f.Outcomes[record.Reset], f.Outcomes[record.Censored] = 980, 10, 10
	f.Reasons[record.Reset], f.Reasons[record.Censored] = "connection broken before the answer", "unfinished when the drain ended"
	return &Report{Figures: f, Health: health.Health{Verdict: health.OK}, SLO: "ttft:2000 tpot:50"}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs (run with -update if that is meant):\n%s", file, got)
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, sample()); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", b.Bytes())
	text := b.String()
	// What the golden must hold whatever its layout.
	for _, want := range []string{
		"attainment 90.00 %", "(90.91 % without the unfinished)", "goodput 9 requests/s", "reset 10", "censored 10",
		"measured 45.5 %", "ideal (one infinite cache) 48.0 %", "3 preemptions", "98765", "acceptance length 2.7, 56.7 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if want := "  -: ttft p99.9 (needs 3688 independent, have ~412), tpot p95 (needs 72 independent, have ~40)\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "tpot") && strings.Count(line, " -") != 3 {
			t.Errorf("40 values show a P95 or beyond: %s", line)
		}
		if strings.HasPrefix(line, "client_queue") {
			t.Errorf("a metric without values is shown: %s", line)
		}
	}
}

func TestMarkdown(t *testing.T) {
	r := sample()
	r.Manifest.Dataset["text"] = "a|b"
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.md", b.Bytes())
	for _, want := range []string{"attainment 90.00 %", "reset 10", "measured 45.5 %", `a\|b`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 0 && n != 3 && n != 10 {
			t.Errorf("%d bars in %q", n, line)
		}
		if strings.HasPrefix(line, "| tpot") && strings.Count(line, "| |")+strings.Count(line, " | |") == 0 {
			t.Errorf("40 values show a P95 or beyond: %s", line)
		}
	}
}

func TestJSONIsTheFigures(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", b.Bytes())
	var j struct {
		Schema     int
		Requests   int64
		Attainment *float64
		GoodputRPS *float64 `json:"goodput_rps"`
		Outcomes   map[string]int64
		Metrics    map[string]struct {
			N          int64
			Mean, P99  *float64
			Unreliable []string
		}
	}
	if err := json.Unmarshal(b.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if j.Schema != 1 || j.Requests != 1000 || *j.Attainment != 0.9 || *j.GoodputRPS != 9 || j.Outcomes["ok"] != 980 {
		t.Errorf("got %+v", j)
	}
	if m := j.Metrics["tpot"]; *m.P99 != 9 || fmt.Sprint(m.Unreliable) != "[p95 p99 p99.9]" {
		t.Errorf("tpot: %+v", m)
	}
	if m := j.Metrics["client_queue"]; m.N != 0 || m.Mean != nil || m.P99 != nil {
		t.Errorf("a metric without values has figures: %+v", m)
	}
}

func TestAnEmptyRunHasNoFigures(t *testing.T) {
	r := &Report{Figures: &query.Figures{Dir: "x", LastSent: clock.Never}, Health: health.Judge(&query.Figures{}, 0)}
	var text, js bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&js, r); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "INVALID") || strings.Contains(text.String(), "NaN") {
		t.Errorf("text:\n%s", text.String())
	}
	for _, key := range []string{"offered_rps", "attainment", "goodput_rps", "output_tok_s", "planned_hit", "preemptions"} {
		if !strings.Contains(js.String(), `"`+key+`": null`) {
			t.Errorf("%s is not null:\n%s", key, js.String())
		}
	}
}

func TestDefinitionsCoverTheTable(t *testing.T) {
	var b bytes.Buffer
	if err := Definitions(&b); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"ttft", "ttft_send", "tpot", "itl", "e2e", "normalized", "lag", "client_queue", "d_ttft"} {
		if !strings.Contains("\n"+b.String(), "\n"+m+" ") {
			t.Errorf("%s is printed but not defined", m)
		}
	}
}

func TestCell(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000", 1.23456: "1.235", 12.3456: "12.35", 999.96: "1000.0", 123456.7: "123457"} {
		if got := cell(v); got != want {
			t.Errorf("cell(%v) = %s, want %s", v, got, want)
		}
	}
}

// Correlated values are worth fewer: what they can't tell is not printed, and named in
// the JSON, which keeps it.
func TestQuantilesOfCorrelatedValues(t *testing.T) {
	r := sample()
	r.Metrics[0].Independent = 52
	var text, js bytes.Buffer
	if err := Text(&text, r); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&js, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "ttft p95 (needs 72 independent, have ~52)") || strings.Contains(text.String(), "250.0") {
		t.Errorf("text:\n%s", text.String())
	}
	var j struct {
		Metrics map[string]struct {
			NEff       *float64 `json:"n_eff"`
			P99        *float64
			Unreliable []string
		}
	}
	if err := json.Unmarshal(js.Bytes(), &j); err != nil {
		t.Fatal(err)
	}
	if m := j.Metrics["ttft"]; m.NEff == nil || *m.NEff != 52 || m.P99 == nil || *m.P99 != 900 || fmt.Sprint(m.Unreliable) != "[p95 p99 p99.9]" {
		t.Errorf("ttft: %+v", m)
	}
	if m := j.Metrics["tpot"]; m.NEff != nil {
		t.Errorf("an unknown number of independent values is %v", *m.NEff)
	}
}

// A check is only printed when it does not hold.
func TestChecksThatDoNotHold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Report)
		want   string
	}{
		"all hold":         {func(*Report) {}, ""},
		"rows are missing": {func(r *Report) { r.Checks.Decided = 990 }, "10 of 1000 scheduled requests have no row"},
		"rows are missing, and known to be lost": {func(r *Report) {
			r.Checks.Decided = 990
			r.Manifest.Counters = map[string]int64{record.CounterDropped: 10}
		}, ""},
		"the account is off": {func(r *Report) { r.Manifest.Counts.Failed++ }, "off by -1"},
		"a load that grows":  {func(r *Report) { r.Checks.Little.InFlight = 50 }, "Little's law"},
		"a short window":     {func(r *Report) { r.Checks.Little = query.Little{InFlight: 50, Product: 100} }, ""},
		"a transient": {func(r *Report) {
			r.Checks.Settled, r.Checks.SettledKnown, r.Checks.Before, r.Checks.After = 30*time.Second, true, 10, 20
		}, "MSER-5"},
		"a burst": {func(r *Report) {
			r.Checks.Settled, r.Checks.SettledKnown, r.Checks.Before, r.Checks.After = 30*time.Second, true, 19, 20
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			r.Manifest.Counts = &record.Counts{Scheduled: 1000, Completed: 980, Failed: 10, Censored: 10}
			r.Checks = query.Checks{Decided: 1000, Little: query.Little{InFlight: 95, Product: 100, Known: true}}
			c.change(r)
			got := strings.Join(r.violated(), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Only a size that nobody has measured, and that was too small, is warned of.
func TestWarningOfAFullKVCache(t *testing.T) {
	for name, c := range map[string]struct {
		from        string
		waits, rows int64
		counted     int64
		want        bool
	}{
		"derived and full":            {from: record.KVDerived, waits: 2, want: true},
		"derived, preemptions of all": {from: record.KVDerived, counted: 1, want: true},
		"derived, cut by a crash":     {from: record.KVDerived, rows: 1, want: true},
		"derived and large enough":    {from: record.KVDerived},
		"given and full":              {from: record.KVGiven, waits: 2, rows: 3},
		"another server":              {rows: 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			r.Preemptions = c.rows
			if c.from != "" {
				r.Manifest.Target[record.TargetKVFrom], r.Manifest.Target[record.TargetKVBlocks] = c.from, "77"
			}
			r.Manifest.Counters = map[string]int64{record.CounterKVWaits: c.waits, record.CounterPreemptions: c.counted}
			got := slices.ContainsFunc(r.Warnings(), func(w string) bool {
				return strings.Contains(w, "77 blocks") && strings.Contains(w, "--engine.num-gpu-blocks")
			})
			if got != c.want {
				t.Errorf("warned %v, want %v: %q", got, c.want, r.Warnings())
			}
		})
	}
}

// Servers whose usage is not what they stream are named, from one in a hundred on.
func TestWarnsOfUsageThatDiffers(t *testing.T) {
	for _, c := range []struct {
		differ int64
		want   bool
	}{{0, false}, {10, false}, {11, true}} {
		r := sample()
		r.Outcomes[record.OK], r.Outcomes[record.HTTP5xx] = 1000, 5000
		r.Manifest.Counters = map[string]int64{record.CounterUsageDiffers: c.differ}
		got := slices.ContainsFunc(r.Warnings(), func(w string) bool { return strings.Contains(w, "usage") })
		if got != c.want {
			t.Errorf("%d of 1000 differ: warned %v: %q", c.differ, got, r.Warnings())
		}
	}
}
