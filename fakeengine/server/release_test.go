package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

func TestParseRelease(t *testing.T) {
	for _, r := range []Release{V019, V015, V010} {
		if got, err := ParseRelease(r.String()); got != r || err != nil {
			t.Errorf("%v is read as %v, %v", r, got, err)
		}
	}
	for _, name := range []string{"", "vllm", "vllm@0.1", "sglang@0.5"} {
		if r, err := ParseRelease(name); err == nil || !strings.Contains(err.Error(), "vllm@0.19") {
			t.Errorf("%q is read as %v, %v", name, r, err)
		}
	}
}

// What all releases have, with its type; names without _total are those of
// prometheus_client's exposition.
func lasting() map[string]dto.MetricType {
	const g, c, h = dto.MetricType_GAUGE, dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM
	return map[string]dto.MetricType{
		"vllm:num_requests_running": g, "vllm:num_requests_waiting": g, "vllm:kv_cache_usage_perc": g, "vllm:cache_config_info": g,
		"vllm:prefix_cache_queries_total": c, "vllm:prefix_cache_hits_total": c, "vllm:num_preemptions_total": c,
		"vllm:prompt_tokens_total": c, "vllm:generation_tokens_total": c, "vllm:request_success_total": c,
		"vllm:iteration_tokens_total": h, "vllm:time_to_first_token_seconds": h, "vllm:e2e_request_latency_seconds": h,
		"vllm:request_queue_time_seconds": h, "vllm:request_inference_time_seconds": h,
		"vllm:request_prefill_time_seconds": h, "vllm:request_decode_time_seconds": h,
		"vllm:request_prompt_tokens": h, "vllm:request_generation_tokens": h, "vllm:request_max_num_generation_tokens": h,
		"vllm:request_params_max_tokens": h, "vllm:request_params_n": h,
	}
}

// Each release has its names, with its types and labels, and no others; those that
// count have the instant since when, too.
func TestNamesOfReleases(t *testing.T) {
	const g, c, h = dto.MetricType_GAUGE, dto.MetricType_COUNTER, dto.MetricType_HISTOGRAM
	for _, tt := range []struct {
		release Release
		own     map[string]dto.MetricType
		reasons []string
	}{
		{V010, map[string]dto.MetricType{
			"vllm:time_per_output_token_seconds": h, "vllm:gpu_cache_usage_perc": g,
			"vllm:gpu_prefix_cache_queries_total": c, "vllm:gpu_prefix_cache_hits_total": c,
		}, []string{"abort", "length", "stop"}},
		{V015, map[string]dto.MetricType{
			"vllm:inter_token_latency_seconds": h, "vllm:request_time_per_output_token_seconds": h, "vllm:request_prefill_kv_computed_tokens": h,
		}, []string{"abort", "error", "length", "stop"}},
		{V019, map[string]dto.MetricType{
			"vllm:inter_token_latency_seconds": h, "vllm:request_time_per_output_token_seconds": h, "vllm:request_prefill_kv_computed_tokens": h,
			"vllm:prompt_tokens_by_source_total": c, "vllm:prompt_tokens_cached_total": c, "vllm:prompt_tokens_recomputed_total": c,
		}, []string{"abort", "error", "length", "repetition", "stop"}},
	} {
		t.Run(tt.release.String(), func(t *testing.T) {
			s := start(t, func(c *Config) { c.Release = tt.release })
			got := scrapeFamilies(t, s.Handler())
			want := lasting()
			for name, kind := range tt.own {
				want[name] = kind
			}
			for name, kind := range want {
				if got[name] == nil || got[name].GetType() != kind {
					t.Errorf("%s: %v, want %v", name, got[name], kind)
					continue
				}
				checkLabels(t, got[name])
				if kind != g {
					since := createdName(name, kind)
					f := got[since]
					if f.GetType() != g || len(f.GetMetric()) != len(got[name].GetMetric()) || !(f.GetMetric()[0].GetGauge().GetValue() > 1.7e9) {
						t.Errorf("%s: %v", since, f)
					}
					delete(got, since)
				}
			}
			for name := range got {
				if _, ok := want[name]; !ok {
					t.Errorf("%s is not of this release", name)
				}
			}
			var reasons []string
			for _, m := range got["vllm:request_success_total"].GetMetric() {
				reasons = append(reasons, labels(m)["finished_reason"])
			}
			if slices.Sort(reasons); !slices.Equal(reasons, tt.reasons) {
				t.Errorf("finish reasons %v, want %v", reasons, tt.reasons)
			}
		})
	}
}

// createdName is what prometheus_client makes of a name: only counters lose their
// _total.
func createdName(name string, kind dto.MetricType) string {
	if kind == dto.MetricType_COUNTER {
		name = strings.TrimSuffix(name, "_total")
	}
	return name + "_created"
}

func checkLabels(t *testing.T, f *dto.MetricFamily) {
	t.Helper()
	want := []string{"engine", "model_name"}
	switch f.GetName() {
	case "vllm:request_success_total":
		want = []string{"engine", "finished_reason", "model_name"}
	case "vllm:prompt_tokens_by_source_total":
		want = []string{"engine", "model_name", "source"}
	case "vllm:cache_config_info":
		want = []string{"block_size", "enable_prefix_caching", "engine", "num_gpu_blocks"}
	}
	for _, m := range f.GetMetric() {
		var got []string
		for name := range labels(m) {
			got = append(got, name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has labels %v, want %v", f.GetName(), got, want)
		}
	}
}

// The bounds are those of build_1_2_5_buckets in vLLM, whose example 100 is.
func TestLengthBounds(t *testing.T) {
	for most, want := range map[int][]float64{
		0: nil, 1: {1}, 7: {1, 2, 5}, 100: {1, 2, 5, 10, 20, 50, 100},
		8192: {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000},
	} {
		if got := lengthBounds(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	}
}

// The label le is text, and dashboards compare it as such: it is as Python's client
// writes it.
func TestBoundsAreWrittenAsInPython(t *testing.T) {
	g := start(t, func(c *Config) { c.Engine.MaxModelLen = 3_000_000; c.Engine.MaxNumBatchedTokens = 16 })
	w := get(t, g.Handler(), "/metrics")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	for _, want := range []string{
		`vllm:time_to_first_token_seconds_bucket{model_name="` + testModel + `",engine="0",le="0.001"} 0`,
		`vllm:time_to_first_token_seconds_bucket{model_name="` + testModel + `",engine="0",le="1.0"} 0`,
		`vllm:iteration_tokens_total_bucket{model_name="` + testModel + `",engine="0",le="16384.0"} 0`,
		`vllm:request_prompt_tokens_bucket{model_name="` + testModel + `",engine="0",le="500000.0"} 0`,
		`vllm:request_prompt_tokens_bucket{model_name="` + testModel + `",engine="0",le="2e+06"} 0`,
		`vllm:request_prompt_tokens_bucket{model_name="` + testModel + `",engine="0",le="+Inf"} 0`,
	} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}
