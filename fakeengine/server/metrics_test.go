package server

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"goodput/fakeengine/engine"
)

// scrapeFamilies reads /metrics as Prometheus does.
func scrapeFamilies(t *testing.T, h http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if format := expfmt.ResponseFormat(w.Header()); format.FormatType() != expfmt.TypeTextPlain {
		t.Fatalf("content type %q", w.Header().Get("Content-Type"))
	}
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return families
}

func labels(m *dto.Metric) map[string]string {
	out := map[string]string{}
	for _, l := range m.GetLabel() {
		out[l.GetName()] = l.GetValue()
	}
	return out
}

func TestMetrics(t *testing.T) {
	const name = "fake/\"llama\"\\3"
	g := start(t, func(c *Config) {
		c.Model, c.Replicas, c.Step = name, 2, evenSteps(2*time.Millisecond)
	})
	h := g.Handler()
	for range 4 { // two each: eight prompt tokens, of which the second finds four
		if w := post(h, "/v1/completions", `{"prompt":"a b c d e f g h","max_tokens":5}`); w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	families := scrapeFamilies(t, h)

	values := []struct {
		name  string
		kind  dto.MetricType
		value float64
	}{
		{"vllm:num_requests_running", dto.MetricType_GAUGE, 0},
		{"vllm:num_requests_waiting", dto.MetricType_GAUGE, 0},
		{"vllm:kv_cache_usage_perc", dto.MetricType_GAUGE, 0},
		{"vllm:prefix_cache_queries_total", dto.MetricType_COUNTER, 16},
		{"vllm:prefix_cache_hits_total", dto.MetricType_COUNTER, 4},
		{"vllm:num_preemptions_total", dto.MetricType_COUNTER, 0},
		{"vllm:prompt_tokens_total", dto.MetricType_COUNTER, 16},
		{"vllm:generation_tokens_total", dto.MetricType_COUNTER, 10},
	}
	for _, v := range values {
		f := families[v.name]
		if f == nil || f.GetType() != v.kind || len(f.GetMetric()) != 2 {
			t.Errorf("%s: %v", v.name, f)
			continue
		}
		for i, m := range f.GetMetric() {
			if l := labels(m); l["model_name"] != name || l["engine"] != fmt.Sprint(i) {
				t.Errorf("%s: labels %v", v.name, l)
			}
			if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != v.value {
				t.Errorf("%s is %v, want %v", v.name, got, v.value)
			}
		}
	}
	checkSuccesses(t, families["vllm:request_success_total"])
	config := labels(families["vllm:cache_config_info"].GetMetric()[0])
	if config["block_size"] != "4" || config["num_gpu_blocks"] != "4097" {
		t.Errorf("cache config %v", config)
	}
}

func checkSuccesses(t *testing.T, f *dto.MetricFamily) {
	t.Helper()
	got := map[string]float64{}
	for _, m := range f.GetMetric() {
		got[labels(m)["finished_reason"]] += m.GetCounter().GetValue()
	}
	if got["length"] != 4 || got["stop"] != 0 || got["abort"] != 0 || got["error"] != 0 || got["repetition"] != 0 || len(got) != 5 {
		t.Errorf("finished requests %v", got)
	}
}

func TestMetricHistograms(t *testing.T) {
	g := start(t, func(c *Config) { c.Step = evenSteps(2 * time.Millisecond) })
	h := g.Handler()
	post(h, "/v1/completions", `{"prompt":"a b c d e f g h","max_tokens":6}`)
	post(h, "/v1/completions", `{"prompt":"a b","max_tokens":1}`)
	families := scrapeFamilies(t, h)
	tests := []struct {
		name    string
		count   uint64
		sum     float64 // seconds, or tokens
		buckets []float64
	}{
		{"vllm:time_to_first_token_seconds", 2, 0.004, firstTokenBounds()},
		{"vllm:inter_token_latency_seconds", 5, 0.010, tokenBounds()},
		{"vllm:request_time_per_output_token_seconds", 2, 0.002, tokenBounds()},
		{"vllm:e2e_request_latency_seconds", 2, 0.014, requestBounds()},
		{"vllm:request_queue_time_seconds", 2, 0, requestBounds()},
		{"vllm:request_inference_time_seconds", 2, 0.014, requestBounds()},
		{"vllm:request_prefill_time_seconds", 2, 0.004, requestBounds()},
		{"vllm:request_decode_time_seconds", 2, 0.010, requestBounds()},
		{"vllm:request_prompt_tokens", 2, 10, lengthBounds(1024)},
		{"vllm:request_generation_tokens", 2, 7, lengthBounds(1024)},
		{"vllm:request_max_num_generation_tokens", 2, 7, lengthBounds(1024)},
		{"vllm:request_params_max_tokens", 2, 7, lengthBounds(1024)},
		{"vllm:request_params_n", 2, 2, choicesBounds()},
		{"vllm:request_prefill_kv_computed_tokens", 2, 10, lengthBounds(1024)},
		{"vllm:iteration_tokens_total", 7, 17, iterationBounds()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := families[tt.name]
			if f.GetType() != dto.MetricType_HISTOGRAM {
				t.Fatalf("family %v", f)
			}
			hist := f.GetMetric()[0].GetHistogram()
			if hist.GetSampleCount() != tt.count {
				t.Errorf("%d observations, want %d", hist.GetSampleCount(), tt.count)
			}
			// The engine's clock is exact: it does not matter how late anything was.
			if d := hist.GetSampleSum() - tt.sum; d > 1e-9 || d < -1e-9 {
				t.Errorf("sum %v, want %v", hist.GetSampleSum(), tt.sum)
			}
			var bounds []float64
			last := uint64(0)
			for _, b := range hist.GetBucket() {
				bounds = append(bounds, b.GetUpperBound())
				if b.GetCumulativeCount() < last {
					t.Errorf("bucket %v counts down", b)
				}
				last = b.GetCumulativeCount()
			}
			if n := len(bounds) - 1; !slices.Equal(bounds[:n], tt.buckets) || last != tt.count {
				t.Errorf("bounds %v", bounds)
			}
		})
	}
}

// A port of its own looks like a server of its own.
func TestMetricsOfOneReplica(t *testing.T) {
	g := start(t, func(c *Config) { c.Replicas = 3 })
	post(g.Replica(2), "/v1/completions", `{"prompt":"a","max_tokens":5}`)
	m := scrapeFamilies(t, g.Replica(2))["vllm:generation_tokens_total"].GetMetric()
	if len(m) != 1 || labels(m[0])["engine"] != "0" || m[0].GetCounter().GetValue() != 5 {
		t.Errorf("replica 2: %v", m)
	}
	if m := scrapeFamilies(t, g.Replica(1))["vllm:generation_tokens_total"].GetMetric(); m[0].GetCounter().GetValue() != 0 {
		t.Errorf("replica 1: %v", m)
	}
}

func TestHistogramEdges(t *testing.T) {
	var h histogram
	bounds := []float64{0.001, 0.1, 2}
	for _, d := range []time.Duration{0, time.Millisecond, time.Millisecond + 1, 2 * time.Second, time.Hour} {
		h.observe(bounds, int64(d), 1e9)
	}
	if got, want := h.counts[:4], []uint64{2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}

func TestBoundsFit(t *testing.T) {
	for _, f := range families(V019, math.MaxInt) {
		if len(f.bounds) > maxBounds || !slices.IsSorted(f.bounds) || !strings.HasPrefix(f.name, "vllm:") {
			t.Errorf("%s has %d bounds", f.name, len(f.bounds))
		}
	}
}

// The metrics of host memory are there with it, in bytes.
func TestHostMemoryMetrics(t *testing.T) {
	scrape := func(h http.Handler) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return w.Body.String()
	}
	if g := start(t, nil); strings.Contains(scrape(g.Handler()), "kv_offload") {
		t.Error("an engine without host memory has its metrics")
	}
	g := start(t, func(c *Config) {
		c.Engine.NumGPUBlocks, c.Engine.Offload, c.BlockBytes = 4, engine.Offload{Blocks: 100, Copy: 1e6}, 1000
	})
	h := g.Handler()
	for _, prompt := range []string{"a b c d e f g h i", "1 2 3 4 5 6 7 8 9", "a b c d e f g h i"} {
		if w := post(h, "/v1/completions", `{"max_tokens":2,"prompt":"`+prompt+`"}`); w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		g.settle(5 * time.Millisecond)
	}
	text := scrape(h)
	for _, want := range []string{
		`vllm:external_prefix_cache_hits_total{model_name="` + testModel + `",engine="0"} 8`,
		`vllm:kv_offload_load_bytes_total{model_name="` + testModel + `",engine="0"} 2000`,
		`vllm:kv_offload_load_time_total{model_name="` + testModel + `",engine="0"} 2e-06`,
		`vllm:kv_offload_store_bytes_total{model_name="` + testModel + `",engine="0"} 4000`,
		`vllm:kv_offload_allocation_failure_total{model_name="` + testModel + `",engine="0"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
