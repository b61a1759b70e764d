package vllm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/report/vllm"
)

const ms = clock.Time(1e6)

// answered is a success: sent when it was due plus 1 ms, with a role-only chunk after
// 20 ms, a token after 30, and then one after each gap.
func answered(seq int64, at clock.Time, gaps ...int32) record.Request {
	var r record.Request
	r.Reset()
	r.Seq, r.Final, r.Outcome = seq, true, record.OK
	r.Intended, r.Dispatched, r.Writing, r.Wrote = at, at+ms, at+2*ms, at+2*ms
	r.FirstRole, r.FirstContent, r.FirstToken = at+21*ms, at+31*ms, at+31*ms
	r.LastToken = r.FirstToken
	for _, us := range gaps {
		r.LastToken += clock.Time(us) * 1000
	}
	r.Done, r.Closed = r.LastToken+ms, r.LastToken+ms
	r.TokenGapsUS, r.Chunks, r.CoalescedTokens = gaps, int32(len(gaps)+1), 0
	r.OutputTokens, r.PromptTokens, r.PlannedPromptTokens = r.Chunks, 100, 90
	return r
}

// write makes a run directory of the rows.
func write(t interface {
	Fatal(...any)
}, dir string, rows ...record.Request,
) string {
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

func setup() *vllm.Setup {
	return &vllm.Setup{
		Backend: "vllm", Model: "m", NumPrompts: 4, RequestRate: math.Inf(1), Burstiness: 1,
		Metadata: []string{"gpu=h100", "tp = 2"}, Metrics: []string{"ttft", "tpot", "itl", "e2el"}, Percentiles: []float64{50, 99, 99.9},
	}
}

// read writes the JSON of a run and reads it back.
func read(t interface{ Fatal(...any) }, dir string, detailed bool, s *vllm.Setup) map[string]any {
	r, err := vllm.Load(dir, detailed)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := vllm.JSON(&b, r, s); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err, b.String())
	}
	return out
}

// Keys that readers of vLLM's result files use, by the public source of the program
// (main_async and benchmark in vllm/benchmarks/serve.py).
var (
	plainKeys = strings.Fields(`date endpoint_type backend label model_id tokenizer_id num_prompts request_rate burstiness max_concurrency
		duration completed failed total_input_tokens total_output_tokens request_throughput request_goodput output_throughput
		total_token_throughput max_output_tokens_per_s max_concurrent_requests`)
	detailedKeys = strings.Fields("input_lens output_lens start_times ttfts itls generated_texts errors latencies queue_times")
	draftKeys    = strings.Fields("spec_decode_acceptance_rate spec_decode_acceptance_length spec_decode_num_drafts spec_decode_draft_tokens spec_decode_accepted_tokens")
)

func TestKeys(t *testing.T) {
	one := answered(0, 0, 10_000, 20_000)
	one.ServerDrafts, one.ServerDraftTokens, one.ServerAcceptedTokens = 10, 30, 15
	capped := answered(1, 0, 5_000)
	capped.Permitted = capped.Dispatched + 4*ms
	dir := write(t, t.TempDir()+"/run", one, capped)
	s := setup()
	s.Metrics, s.MaxConcurrency = vllm.Metrics(), 8
	want := slices.Concat(plainKeys, detailedKeys, draftKeys, []string{"gpu", "tp"})
	for _, m := range vllm.Metrics() {
		for _, stat := range []string{"mean", "median", "std", "p50", "p99", "p99.9"} {
			want = append(want, stat+"_"+m+"_ms")
		}
	}
	got := read(t, dir, true, s)
	keys := []string{}
	for k := range got {
		keys = append(keys, k)
	}
	slices.Sort(want)
	slices.Sort(keys)
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	for k, v := range map[string]any{
		"request_rate": "inf", "gpu": "h100", "tp": "2", "max_concurrency": 8.0, "label": nil, "tokenizer_id": nil, "request_goodput": nil,
		"spec_decode_acceptance_rate": 50.0, "spec_decode_acceptance_length": 2.5,
		"mean_client_queue_time_ms": 4.0, "p50_e2el_including_client_queue_ms": 35.0,
	} {
		if got[k] != v {
			t.Errorf("%s is %v, want %v", k, got[k], v)
		}
	}
	one.ServerDrafts = record.Null32
	got = read(t, write(t, t.TempDir()+"/run", one), false, setup())
	for _, k := range slices.Concat(detailedKeys, draftKeys) {
		if _, there := got[k]; there {
			t.Errorf("%s is there though nobody asked for it", k)
		}
	}
}

// What has no value is null, never 0.
func TestAllFailed(t *testing.T) {
	failed := answered(0, 0)
	failed.Outcome, failed.Error = record.HTTP5xx, "HTTP status 500"
	got := read(t, write(t, t.TempDir()+"/run", failed), true, setup())
	for _, k := range []string{"mean_ttft_ms", "p99_tpot_ms", "std_itl_ms", "median_e2el_ms"} {
		if v, there := got[k]; v != nil || !there {
			t.Errorf("%s is %v", k, v)
		}
	}
	if got["failed"] != 1.0 || got["completed"] != 0.0 || fmt.Sprint(got["errors"]) != "[HTTP status 500]" || fmt.Sprint(got["output_lens"]) != "[0]" {
		t.Errorf("got %v", got)
	}
}

// The figures are those that the definitions give when computed anew from the rows, as
// numpy does: keys in ms, lists in s.
func TestValues(t *testing.T) {
	for seed := range uint64(20) {
		draw := rng.New(seed, "rows", 0)
		var rows []record.Request
		for i := range 1 + draw.IntN(12) {
			var us []int32
			for range draw.IntN(7) {
				us = append(us, 1000*int32(draw.IntN(900)))
			}
			rows = append(rows, answered(int64(i), clock.Time(draw.IntN(3000))*ms, us...))
		}
		draw.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		got := read(t, write(t, t.TempDir()+"/run", rows...), true, setup())
		want := expected(rows)
		for k, v := range want {
			if diff := cmp.Diff(v, got[k], cmpopts.EquateApprox(1e-9, 2e-6)); diff != "" {
				t.Errorf("seed %d, %s (-want +got):\n%s", seed, k, diff)
			}
		}
	}
}

// expected computes from rows what TestValues compares.
func expected(rows []record.Request) map[string]any {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b record.Request) int { return int(a.Seq - b.Seq) })
	out := map[string]any{}
	var ttfts, tpots, itls, e2els, starts, perRequestITL []any
	tokens, last := 0.0, 0.0
	for _, r := range rows {
		start := float64(r.Intended+ms) / 1e9 // dispatched
		ttft := float64(r.FirstRole-r.Intended-ms) / 1e9
		e2el := float64(r.LastToken-r.Intended-ms) / 1e9
		gaps := []any{0.01} // the role, then the token
		for _, us := range r.TokenGapsUS {
			gaps = append(gaps, float64(us)/1e6)
		}
		starts, ttfts, e2els = append(starts, start), append(ttfts, ttft), append(e2els, e2el)
		perRequestITL, itls = append(perRequestITL, gaps), append(itls, gaps...)
		n := float64(len(r.TokenGapsUS) + 1)
		if n > 1 {
			tpots = append(tpots, (e2el-ttft)/(n-1))
		}
		tokens += n
		last = max(last, float64(r.Closed)/1e9)
	}
	out["start_times"], out["ttfts"], out["itls"], out["latencies"] = starts, ttfts, perRequestITL, e2els
	out["duration"], out["completed"], out["total_output_tokens"] = last, float64(len(rows)), tokens
	out["total_input_tokens"], out["output_throughput"] = 100*float64(len(rows)), tokens/last
	out["request_throughput"], out["total_token_throughput"] = float64(len(rows))/last, (tokens+100*float64(len(rows)))/last
	for name, values := range map[string][]any{"ttft": ttfts, "tpot": tpots, "itl": itls, "e2el": e2els} {
		statistics(out, name, values)
	}
	return out
}

// statistics adds those of one metric.
func statistics(out map[string]any, name string, values []any) {
	if len(values) == 0 {
		out["mean_"+name+"_ms"] = nil
		return
	}
	sorted := make([]float64, len(values))
	mean, std := 0.0, 0.0
	for i, v := range values {
		sorted[i] = v.(float64) * 1000
		mean += sorted[i] / float64(len(values))
	}
	for _, v := range sorted {
		std += (v - mean) * (v - mean) / float64(len(values))
	}
	slices.Sort(sorted)
	out["mean_"+name+"_ms"], out["std_"+name+"_ms"] = mean, math.Sqrt(std)
	for key, p := range map[string]float64{"median": 50, "p50": 50, "p99": 99, "p99.9": 99.9} {
		at := p / 100 * float64(len(sorted)-1)
		low := int(at)
		high := min(low+1, len(sorted)-1)
		out[key+"_"+name+"_ms"] = sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
	}
}

func TestPeaks(t *testing.T) {
	// Two requests under way at once, and a third that starts as the first ends.
	a, b := answered(0, 0, 500_000), answered(1, 100*ms, 1_500_000)
	c := answered(2, a.LastToken-ms)
	b.ChunkTokens = []int32{1, 5} // the second chunk is of the second 1
	r, err := vllm.Load(write(t, t.TempDir()+"/run", a, b, c), false)
	if err != nil {
		t.Fatal(err)
	}
	if r.PeakRequests != 2 || r.PeakTokens != 5 {
		t.Errorf("peaks are %d requests and %d tokens", r.PeakRequests, r.PeakTokens)
	}
}

// Warm-ups and attempts that decide nothing are left out, and the window's start is 0.
func TestOnlyTheWindowCounts(t *testing.T) {
	warm, retried := answered(5, 0), answered(6, 0)
	warm.Phase, retried.Final = record.Warmup, false
	r, err := vllm.Load(write(t, t.TempDir()+"/run", answered(0, 1000*ms), warm, retried), true)
	if err != nil {
		t.Fatal(err)
	}
	if r.Completed != 1 || len(r.Detailed) != 1 || r.Duration != int64(1032*ms) {
		t.Errorf("%d completed, %d detailed, in %d ns", r.Completed, len(r.Detailed), r.Duration)
	}
}

func TestParse(t *testing.T) {
	if got, err := vllm.ParsePercentiles("50, 99.9"); err != nil || fmt.Sprint(got) != "[50 99.9]" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := vllm.ParseMetrics("ttft, e2el"); err != nil || fmt.Sprint(got) != "[ttft e2el]" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "x", "101", "-1", "nan", "50;99"} {
		if _, err := vllm.ParsePercentiles(bad); err == nil {
			t.Errorf("percentiles %q were accepted", bad)
		}
		if _, err := vllm.ParseMetrics(bad); err == nil {
			t.Errorf("metrics %q were accepted", bad)
		}
	}
}

// No figure is defined without a name that our own definitions have.
func TestDefinitionsNameOurMetrics(t *testing.T) {
	for _, d := range vllm.Definitions() {
		if !slices.ContainsFunc(record.Definitions(), func(o record.Definition) bool { return o.Name == d.Ours }) {
			t.Errorf("%s is compared with %q, which is not defined", d.Name, d.Ours)
		}
	}
}
