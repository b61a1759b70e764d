package promscrape

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/record"
)

// known are the values of a worker that are not unknown, by column.
func known(w *worker) map[string]float64 {
	out := map[string]float64{}
	for i, v := range w.values {
		if !math.IsNaN(v) {
			out[record.Signal(i).String()] = v
		}
	}
	return out
}

const vllmPage = `# HELP vllm:num_requests_running Number of requests.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 1.5
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="deferred"} 0.5
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_queries_created{engine="0",model_name="m"} 1.7e+09
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 40.0
vllm:num_preemptions_total{engine="0",model_name="m"} 1.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 5.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 6.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="m"} 3.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} 1.25
vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} 11.0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 0.5
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 11.0
process_start_time_seconds 1.76e+09
python_gc_objects_collected_total{generation="0"} 1.0
`

func TestPageReadsEachDialect(t *testing.T) {
	for _, c := range []struct {
		name, page, dialect string
		role                record.SampleRole
		want                map[string]float64
	}{
		{"vllm", vllmPage, "vllm", record.SampleEngine, map[string]float64{
			"running": 3, "waiting": 2, "waiting_capacity": 1.5, "waiting_deferred": .5, "kv_usage": .25, "prefix_queries": 100, "prefix_hits": 40,
			"preemptions": 1, "requests": 11, "ttft_sum": 1.25, "ttft_count": 11, "queue_sum": .5, "queue_count": 11, "started": 1.76e9,
		}},
		{
			"vllm before 0.9, and without _total", "vllm:gpu_cache_usage_perc 0.5\nvllm:gpu_prefix_cache_queries 7\nvllm:gpu_prefix_cache_hits 3\n", "vllm", record.SampleEngine,
			map[string]float64{"kv_usage": .5, "prefix_queries": 7, "prefix_hits": 3},
		},
		{
			"old and new names together", "vllm:gpu_prefix_cache_hits_total 9\nvllm:prefix_cache_hits_total 8\nvllm:gpu_prefix_cache_hits_total{x=\"1\"} 9\n", "vllm", record.SampleEngine,
			map[string]float64{"prefix_hits": 8},
		},
		{
			"sglang", "sglang:num_running_reqs{tp_rank=\"0\"} 1\nsglang:num_queue_reqs{tp_rank=\"0\"} 2\nsglang:token_usage{tp_rank=\"0\"} 0.4\nsglang:prompt_tokens_total 10\nsglang:cached_tokens_total{cache_source=\"device\"} 3\nsglang:cached_tokens_total{cache_source=\"host\"} 1\n",
			"sglang", record.SampleEngine,
			map[string]float64{"running": 1, "waiting": 2, "kv_usage": .4, "prompt_tokens": 10, "prefix_queries": 10, "prefix_hits": 4},
		},
		{"trtllm", "trtllm_num_requests_running 4\ntrtllm_kv_cache_utilization 0.1\n", "trtllm", record.SampleEngine, map[string]float64{"running": 4, "kv_usage": .1}},
		{"trtllm below dynamo once", "trtllm:num_requests_running 4\n", "trtllm", record.SampleEngine, map[string]float64{"running": 4}},
		{
			"triton", "nv_trt_llm_request_metrics{request_type=\"waiting\"} 4\nnv_trt_llm_request_metrics{request_type=\"scheduled\"} 2\nnv_trt_llm_request_metrics{request_type=\"max\"} 9\nnv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} 0.7\n",
			"triton", record.SampleEngine,
			map[string]float64{"running": 2, "waiting": 4, "kv_usage": .7},
		},
		{
			"tgi", "tgi_batch_current_size 3\ntgi_queue_size 1\ntgi_request_queue_duration_sum 0.5\ntgi_request_queue_duration_count 2\n", "tgi", record.SampleEngine,
			map[string]float64{"running": 3, "waiting": 1, "queue_sum": .5, "queue_count": 2},
		},
		{"dynamo's front end", "dynamo_frontend_inflight_requests{model=\"m\"} 3\n", "dynamo", record.SampleRouter, map[string]float64{"running": 3}},
		{"llm-d", "llm_d_epp_request_ttft_seconds_sum 3\nllm_d_epp_request_ttft_seconds_count 2\n", "llm-d", record.SampleRouter, map[string]float64{"ttft_sum": 3, "ttft_count": 2}},
		{"production stack's router", "vllm:num_requests_running{server=\"http://e1\"} 3\n", "vllm", record.SampleRouter, map[string]float64{"running": 3}},
		{"OpenMetrics with an exemplar", "vllm:prompt_tokens_total 3 # {trace_id=\"a\"} 1.0\n# EOF\n", "vllm", record.SampleEngine, map[string]float64{"prompt_tokens": 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws, f, err := newParser().page(strings.NewReader(c.page))
			if err != nil || f.lines+f.values+f.twice != 0 || len(ws) != 1 {
				t.Fatalf("%d workers, %+v, %v", len(ws), f, err)
			}
			if w := ws[0]; w.dialect != c.dialect || w.role != c.role {
				t.Errorf("dialect %s, role %s", w.dialect, w.role)
			}
			if d := cmp.Diff(c.want, known(ws[0])); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestPageKeepsWorkersApart: what a router shows of engines is not added to what they
// show, and neither are several ranks of one replica.
func TestPageKeepsWorkersApart(t *testing.T) {
	page := `vllm:num_requests_running{engine="0"} 1
vllm:num_requests_running{engine="1"} 2
vllm:num_requests_running{server="http://a"} 5
vllm:num_requests_running{server="http://b"} 6
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 7
sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 7
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 8
`
	ws, f, err := newParser().page(strings.NewReader(page))
	if err != nil || f.twice != 1 {
		t.Fatal(f, err)
	}
	var got []string
	for _, w := range ws {
		got = append(got, fmt.Sprintf("%s %s %s %v", w.dialect, w.role, w.key, w.values[record.SignalRunning]))
	}
	want := []string{"sglang engine 0 7", "sglang engine 1 8", "vllm engine 0 1", "vllm engine 1 2", "vllm router http://a 5", "vllm router http://b 6"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPageCountsWhatItCannotRead(t *testing.T) {
	for _, c := range []struct {
		name, page    string
		lines, values int64
		want          map[string]float64
		err           error
	}{
		{"not a number", "vllm:num_requests_running NaN\nvllm:num_requests_waiting 1\n", 0, 1, map[string]float64{"waiting": 1}, nil},
		{"one series of two not a number", "vllm:request_success_total{r=\"a\"} 4\nvllm:request_success_total{r=\"b\"} NaN\nvllm:num_requests_waiting 1\n", 0, 1, map[string]float64{"waiting": 1}, nil},
		{"infinite and negative", "vllm:num_requests_running +Inf\nvllm:kv_cache_usage_perc -1\nvllm:num_requests_waiting 1\n", 0, 2, map[string]float64{"waiting": 1}, nil},
		{"garbage lines", "vllm:num_requests_running{x=} 3\nvllm:num_requests_running oops\n\x00\xff\nvllm:num_requests_waiting 1\n", 2, 0, map[string]float64{"waiting": 1}, nil},
		{"cut within a line", "vllm:num_requests_waiting 1\nvllm:num_requests_running 1", 0, 0, nil, errCut},
		{"endless line", "vllm:num_requests_running{x=\"" + strings.Repeat("y", 3*maxLine) + "\"} 1\nvllm:num_requests_waiting 1\n", 1, 0, map[string]float64{"waiting": 1}, nil},
		{"endless page", strings.Repeat("x 1\n", maxPage/4+1), 0, 0, nil, errTooLarge},
		{"too many series", strings.Repeat("vllm:num_requests_running 1\n", maxSeries+1), 0, 0, nil, errTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws, f, err := newParser().page(strings.NewReader(c.page))
			if !errors.Is(err, c.err) || f.lines != c.lines || f.values != c.values {
				t.Fatalf("%+v, %v", f, err)
			}
			if c.err == nil {
				if d := cmp.Diff(c.want, known(ws[0])); d != "" || len(ws) != 1 {
					t.Errorf("%d workers, -want +got:\n%s", len(ws), d)
				}
			}
		})
	}
}

// FuzzPage: whatever a page has, values are finite and not negative, or unknown, and the
// same page read again by the same parser gives the same.
func FuzzPage(f *testing.F) {
	f.Add([]byte(vllmPage))
	f.Add([]byte("sglang:num_running_reqs{tp_rank=\"0\"} 1 1700000000\n# EOF"))
	f.Add([]byte("vllm:kv_cache_usage_perc{a=\"\\\"\\n\"} 1e-3 # {x=\"y\"} 1\nvllm:kv_cache_usage_perc{a=\"b\"} NaN\n"))
	f.Add([]byte("process_start_time_seconds -1\nvllm:num_requests_running{engine=\"0\"} 1e999\n{\n"))
	p := newParser()
	f.Fuzz(func(t *testing.T, page []byte) {
		read := func() string {
			ws, f, err := p.page(strings.NewReader(string(page)))
			out := fmt.Sprint(f, err)
			for _, w := range ws {
				for i, v := range w.values {
					if math.IsInf(v, 0) || v < 0 {
						t.Errorf("%v is %v", record.Signal(i), v)
					}
				}
				out += fmt.Sprint(*w)
			}
			return out
		}
		if one, two := read(), read(); one != two {
			t.Errorf("first\n%s\nthen\n%s", one, two)
		}
	})
}

func BenchmarkPage(b *testing.B) {
	var page strings.Builder
	for _, line := range strings.SplitAfter(vllmPage, "\n") {
		page.WriteString(line)
	}
	for i := range 800 { // what vLLM shows besides
		fmt.Fprintf(&page, "vllm:e2e_request_latency_seconds_bucket{engine=\"0\",le=\"%d\",model_name=\"m\"} 3.0\n", i)
	}
	p := newParser()
	b.ReportAllocs()
	b.SetBytes(int64(page.Len()))
	for b.Loop() {
		if ws, _, err := p.page(strings.NewReader(page.String())); err != nil || len(ws) != 1 {
			b.Fatal(err)
		}
	}
}
