package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

const ms = clock.Time(time.Millisecond)

// answered is a success: sent at its intended time, first token after 50 ms,
// then one token per gap.
func answered(seq int64, intended clock.Time, gaps ...int32) record.Request {
	var r record.Request
	r.Reset()
	r.Seq, r.Final, r.Outcome = seq, true, record.OK
	r.Intended, r.Dispatched, r.Writing, r.Wrote = intended, intended+ms, intended+2*ms, intended+2*ms
	r.FirstToken = intended + 50*ms
	r.LastToken = r.FirstToken
	for _, g := range gaps {
		r.LastToken += clock.Time(g) * clock.Time(time.Microsecond)
	}
	r.TokenGapsUS = gaps
	r.Chunks, r.CoalescedTokens = int32(len(gaps)+1), 0
	r.PlannedPromptTokens, r.PromptTokens = 100, 100
	r.OutputTokens = r.Chunks
	r.PlannedCachedTokens, r.CachedTokens = 64, 32
	r.SLOMet = record.Yes
	return r
}

// write makes a run directory of the rows.
func write(t testing.TB, rows ...record.Request) string {
	t.Helper()
	dir := t.TempDir() + "/run"
	w, err := record.Create(dir, record.Meta{RunID: "test", Virtual: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		w.Write(&rows[i])
	}
	if err := w.Close(record.Final{EndedAt: clock.Never}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFigures(t *testing.T) {
	failed := answered(2, 2000*ms)
	failed.Outcome, failed.SLOMet, failed.FirstToken = record.Reset, record.No, 2900*ms
	censored := answered(3, 4000*ms)
	censored.Outcome, censored.SLOMet = record.Censored, record.Unknown
	censored.ServerSource, censored.ServerPreemptions, censored.ServerRecomputed = "inprocess", 5, 1000
	warmup := answered(4, 9000*ms)
	warmup.Phase = record.Warmup
	retried := answered(5, 9000*ms)
	retried.Final = false
	one := answered(0, 0, 10_000, 20_000)
	one.ServerSource, one.ServerPreemptions, one.ServerRecomputed = "inprocess", 2, 300
	one.ServerDrafts, one.ServerDraftTokens, one.ServerAcceptedTokens = 10, 30, 15
	censored.ServerDrafts, censored.ServerDraftTokens, censored.ServerAcceptedTokens = 2, 6, 3
	one.ServerE2E, one.ServerPreempted = int64(78*ms), int64(8*ms)
	one.ServerSpentFrontEnd, one.ServerSpentQueue, one.ServerSpentPrefill = 0, int64(20*ms), int64(20*ms)
	one.ServerSpentDecode, one.ServerSpentInterference, one.ServerSpentTransfer = int64(25*ms), int64(5*ms), 0
	two := answered(1, 1000*ms, 30_000)
	two.PromptTokens, two.CoalescedTokens = 110, 1
	two.ServerSource = "otlp" // spans say nothing of preemptions

	f, err := query.Load(write(t, one, two, failed, censored, warmup, retried))
	if err != nil {
		t.Fatal(err)
	}
	if f.Scheduled != 4 || f.Failed() != 1 || f.Window != 4*time.Second || f.Sent != 4 {
		t.Errorf("scheduled %d, failed %d, window %v, sent %d", f.Scheduled, f.Failed(), f.Window, f.Sent)
	}
	if !f.SLO || f.Met != 2 || f.Judged != 3 {
		t.Errorf("SLO %v, met %d of %d", f.SLO, f.Met, f.Judged)
	}
	if v, ok := f.Offered(); !ok || v != 1 {
		t.Errorf("offered %v", v)
	}
	if v, ok := f.Achieved(); !ok || math.Abs(v-4/4.001) > 1e-9 { // the last left 1 ms late
		t.Errorf("achieved %v", v)
	}
	if f.PromptTokens != 210 || f.OutputTokens != 5 || f.Span != 1080*time.Millisecond {
		t.Errorf("tokens %d %d, span %v", f.PromptTokens, f.OutputTokens, f.Span)
	}
	want := map[string]query.Ratio{
		"planned": {Part: 128, Whole: 200}, "measured": {Part: 64, Whole: 210},
		"mismatch": {Part: 1, Whole: 2}, "coalesced": {Part: 1, Whole: 5},
	}
	got := map[string]query.Ratio{
		"planned": f.PlannedHit, "measured": f.MeasuredHit, "mismatch": f.PromptMismatch, "coalesced": f.Coalesced,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("ratios (-want +got):\n%s", d)
	}
	if f.Accounts != 2 || f.Preemptions != 7 || f.Recomputed != 1300 {
		t.Errorf("engine accounts %d, preemptions %d, recomputed %d", f.Accounts, f.Preemptions, f.Recomputed)
	}
	if want := (query.Drafts{Requests: 2, Verified: 12, Tokens: 36, Accepted: 18}); f.Drafts != want {
		t.Errorf("drafts %+v, want %+v", f.Drafts, want)
	}
	if length, ok := f.Drafts.Length(); !ok || length != 2.5 {
		t.Errorf("acceptance length %v, want 2.5", length)
	}
	if rate, ok := f.Drafts.Rate(); !ok || rate != 0.5 {
		t.Errorf("acceptance rate %v, want 0.5", rate)
	}
	wantSpent := query.Spent{
		N: 1, SlowN: 1, E2E: 80e6, SlowE2E: 80e6, Parts: []query.Part{
			{Name: "front end"},
			{Name: "queue", Mean: 20e6, Slow: 20e6},
			{Name: "prefill", Mean: 20e6, Slow: 20e6},
			{Name: "decode", Mean: 25e6, Slow: 25e6},
			{Name: "interference", Mean: 5e6, Slow: 5e6},
			{Name: "transfer"},
			{Name: "preempted", Mean: 8e6, Slow: 8e6},
			{Name: "outside", Mean: 2e6, Slow: 2e6},
		},
	}
	if d := cmp.Diff(wantSpent, f.Spent); d != "" {
		t.Errorf("where the time went (-want +got):\n%s", d)
	}
	checkMetrics(t, f)
}

// checkMetrics: latencies are those of the two successes, lag of all four.
func checkMetrics(t *testing.T, f *query.Figures) {
	t.Helper()
	for _, c := range []struct {
		name      string
		n         int64
		mean, max float64 // ms
	}{
		{"ttft", 2, 50, 50},
		{"ttft_send", 2, 48, 48},
		{"tpot", 2, 22.5, 30}, // 15 and 30
		{"itl", 3, 20, 30},
		{"e2e", 2, 80, 80},
		{"lag", 4, 1, 1},
		{"client_queue", 0, 0, 0},
	} {
		m, ok := f.Metric(c.name)
		if !ok || m.N != c.n || math.Abs(m.Mean/1e6-c.mean) > 1e-9 || math.Abs(m.Max/1e6-c.max) > 1e-9 {
			t.Errorf("%s: %+v, want n %d, mean %v ms, max %v ms", c.name, m, c.n, c.mean, c.max)
		}
	}
}

// The reason shown for a kind of failure is that of its first request, in
// whatever order the rows come.
func TestReasons(t *testing.T) {
	fail := func(seq int64, o record.Outcome, why string) record.Request {
		r := answered(seq, ms)
		r.Outcome, r.Error = o, why
		return r
	}
	f, err := query.Load(write(t, fail(3, record.Reset, "third"), fail(1, record.Reset, "first"),
		fail(2, record.Reset, "second"), fail(0, record.Connect, ""), fail(4, record.Connect, "refused")))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Reasons; got[record.Reset] != "first" || got[record.Connect] != "refused" || got[record.OK] != "" {
		t.Errorf("got %q", got)
	}
}

func TestNothingIsNotZero(t *testing.T) {
	var lost record.Request
	lost.Reset()
	lost.Final, lost.Outcome, lost.Intended = true, record.Connect, 0
	f, err := query.Load(write(t, lost))
	if err != nil {
		t.Fatal(err)
	}
	lost.Intended = ms // also if it is not due at once
	g, err := query.Load(write(t, lost))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := g.Offered(); ok || g.Rated() {
		t.Error("one request has a rate")
	}
	if _, ok := f.Offered(); ok {
		t.Error("one request at once has a rate")
	}
	if _, ok := f.Achieved(); ok {
		t.Error("a request that never left has an achieved rate")
	}
	if f.Spent.N != 0 || f.SLO || f.MeasuredHit.Known() || f.PlannedHit.Known() {
		t.Errorf("figures out of nothing: %+v", f)
	}
	for _, m := range f.Metrics {
		if m.N != 0 {
			t.Errorf("%s has %d values", m.Name, m.N)
		}
	}
}

func TestNoRun(t *testing.T) {
	if _, err := query.Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "manifest.json") {
		t.Errorf("got %v", err)
	}
}

func ExampleLoad() {
	_, err := query.Load("no/such/run")
	fmt.Println(err != nil)
	// Output: true
}
