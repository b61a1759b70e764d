package server

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"goodput/fakeengine/spec"
)

// twoOfThree speculates with three drafts, of which the first two are accepted.
func twoOfThree(t testing.TB) func(*Config) {
	t.Helper()
	m, err := spec.New(spec.Acceptance{Rates: []float64{1, 1, 0}, Proposes: 1}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Step, c.Engine.Speculation.Model = evenSteps(2*time.Millisecond), m
	}
}

// R31: tokens of one step come in one event.
func TestBurstsAreEvents(t *testing.T) {
	g := start(t, twoOfThree(t))
	w := post(g.Handler(), "/v1/completions", `{"prompt":"a b c","max_tokens":9,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	body := w.Body.String()
	// One token of the prompt's step, two bursts of three, and two of three that fit.
	for _, usage := range []string{`"completion_tokens":1}`, `"completion_tokens":4}`, `"completion_tokens":7}`, `"completion_tokens":9}`} {
		if !strings.Contains(body, usage) {
			t.Errorf("no event with %s in\n%s", usage, body)
		}
	}
	if n := strings.Count(body, `"text":"`); n != 4 {
		t.Errorf("%d events with text, want 4:\n%s", n, body)
	}
}

func TestMetricsOfSpeculation(t *testing.T) {
	g := start(t, twoOfThree(t))
	if w := post(g.Handler(), "/v1/completions", `{"prompt":"a b c","max_tokens":9}`); w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	families := scrapeFamilies(t, g.Handler())
	for name, want := range map[string]float64{
		"vllm:spec_decode_num_drafts_total":          3,
		"vllm:spec_decode_num_draft_tokens_total":    9,
		"vllm:spec_decode_num_accepted_tokens_total": 6, // one of them behind the end
		"vllm:generation_tokens_total":               9,
	} {
		m := families[name].GetMetric()
		if len(m) != 1 || m[0].GetCounter().GetValue() != want {
			t.Errorf("%s: %v, want %v", name, m, want)
		}
	}
	got := map[string]float64{}
	for _, m := range families["vllm:spec_decode_num_accepted_tokens_per_pos_total"].GetMetric() {
		l := labels(m)
		if l["model_name"] != testModel || l["engine"] != "0" {
			t.Errorf("labels %v", l)
		}
		got[l["position"]] = m.GetCounter().GetValue()
	}
	if len(got) != 3 || got["0"] != 3 || got["1"] != 3 || got["2"] != 0 {
		t.Errorf("accepted by position: %v, want 3, 3, 0", got)
	}
	// One latency for each output after the first, whatever it holds (R31), and a
	// mean over tokens: the latter is 6 ms by 8, the former 2 ms.
	itl := families["vllm:inter_token_latency_seconds"].GetMetric()[0].GetHistogram()
	tpot := families["vllm:request_time_per_output_token_seconds"].GetMetric()[0].GetHistogram()
	if itl.GetSampleCount() != 3 || math.Abs(itl.GetSampleSum()-0.006) > 1e-9 {
		t.Errorf("%d latencies that sum to %v, want 3 and 6 ms", itl.GetSampleCount(), itl.GetSampleSum())
	}
	if math.Abs(tpot.GetSampleSum()-0.006/8) > 1e-9 {
		t.Errorf("%v a token, want 0.75 ms", tpot.GetSampleSum())
	}
}

func TestNoMetricsWithoutSpeculation(t *testing.T) {
	g := start(t, nil)
	for name := range scrapeFamilies(t, g.Handler()) {
		if strings.Contains(name, "spec_decode") {
			t.Errorf("%s, and nobody drafts", name)
		}
	}
}
