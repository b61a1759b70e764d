package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// total is the number of observations in a histogram and their sum.
type total struct{ count, sum float64 }

func (n *total) add(v int) { n.count, n.sum = n.count+1, n.sum+float64(v) }

func totals(f *dto.MetricFamily) (out total) {
	for _, m := range f.GetMetric() {
		out.count += float64(m.GetHistogram().GetSampleCount())
		out.sum += m.GetHistogram().GetSampleSum()
	}
	return out
}

func counted(f *dto.MetricFamily, label, value string) (out float64) {
	for _, m := range f.GetMetric() {
		if label == "" || labels(m)[label] == value {
			out += m.GetCounter().GetValue()
		}
	}
	return out
}

// gate is a model that waits before one of its steps. That step lasts as long as the
// wait, so that what was posted meanwhile comes before its end.
type gate struct {
	even
	at            int
	loop          *clock.Real
	reached, open chan struct{}
}

func (m *gate) Step(b *steptime.Batch) int64 {
	if m.at--; m.at == 0 {
		close(m.reached)
		<-m.open
		return m.even.Step(b) + int64(m.loop.Stamp().Sub(m.loop.Now()))*1000
	}
	return m.even.Step(b)
}

// leaving reports whether an abort is under way.
func (g *rig) leaving() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, st := range g.underWay() {
		st.mu.Lock()
		aborting := st.aborting
		st.mu.Unlock()
		if aborting {
			return true
		}
	}
	return false
}

// mixed runs chunked prefill, preemptions, drafts, cached prompts, two choices,
// different lengths and an abort.
func mixed(t *testing.T) *rig {
	t.Helper()
	gate := &gate{even: even(200 * time.Microsecond), at: 5, reached: make(chan struct{}), open: make(chan struct{})}
	g := start(t, func(c *Config) {
		twoOfThree(t)(c)
		c.Step = steptime.Shared(gate)
		c.Engine.MaxNumBatchedTokens, c.Engine.NumGPUBlocks, c.Engine.ReserveFullISL = 24, 40, false
	})
	gate.loop = g.loop
	h := g.Handler()
	ctx, leave := context.WithCancel(t.Context())
	var asked sync.WaitGroup
	asked.Go(func() { postContext(ctx, h, "/v1/completions", `{"prompt":"gone","max_tokens":150,"n":2}`) })
	<-gate.reached
	leave()
	for !g.leaving() {
		runtime.Gosched()
	}
	for i := range 24 {
		prompt := strings.Repeat(fmt.Sprintf("w%d ", i%5), 9+3*i)
		body := fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"n":%d,"stream":%v}`, prompt, 1+3*i, 1+i%2, i%3 == 0)
		asked.Go(func() { post(h, "/v1/completions", body) })
	}
	close(gate.open)
	asked.Wait()
	s := g.state(0)
	if s.Preemptions == 0 || s.Aborted == 0 || s.PrefixHits == 0 {
		t.Fatalf("no preemption, abort or hit: %+v", s)
	}
	return g
}

// After a mixed run the metrics are what the ground-truth log adds up to.
func TestMetricsAreTheTruth(t *testing.T) {
	g := mixed(t)
	truth := g.truth.facts(t)
	want := map[string]*total{}
	of := func(name string) *total {
		if want[name] == nil {
			want[name] = &total{}
		}
		return want[name]
	}
	longest, choices := map[string]int{}, map[string]int{}
	var prompts, outputs, cached int
	for _, f := range truth {
		outputs += *f.Output
		if f.FirstToken != nil {
			prompts, cached = prompts+*f.Prompt, cached+*f.Cached
		}
		if *f.Finish == "abort" {
			continue
		}
		of("vllm:request_prompt_tokens").add(*f.Prompt)
		of("vllm:request_generation_tokens").add(*f.Output)
		of("vllm:request_params_max_tokens").add(*f.MaxTokens)
		of("vllm:request_prefill_kv_computed_tokens").add(*f.Prompt - *f.Cached)
		longest[f.RequestID] = max(longest[f.RequestID], *f.Output)
		choices[f.RequestID]++
	}
	for id, n := range choices {
		of("vllm:request_params_n").add(n)
		of("vllm:request_max_num_generation_tokens").add(longest[id])
	}
	got := scrapeFamilies(t, g.Handler())
	for name, w := range want {
		if have := totals(got[name]); have != *w {
			t.Errorf("%s: %+v, want %+v", name, have, *w)
		}
	}
	checkIterations(t, got, prompts+outputs, g.state(0))
	bySource := got["vllm:prompt_tokens_by_source_total"]
	again := counted(got["vllm:prompt_tokens_recomputed_total"], "", "")
	for source, w := range map[string]float64{
		"local_compute": float64(prompts - cached), "local_cache_hit": float64(cached) + again, "external_kv_transfer": 0,
	} {
		if have := counted(bySource, "source", source); have != w {
			t.Errorf("%s: %v tokens, want %v", source, have, w)
		}
	}
	if have := counted(got["vllm:prompt_tokens_cached_total"], "", ""); have != float64(cached) {
		t.Errorf("%v cached tokens, want %d", have, cached)
	}
}

func checkIterations(t *testing.T, got map[string]*dto.MetricFamily, tokens int, s engine.Stats) {
	t.Helper()
	have := totals(got["vllm:iteration_tokens_total"])
	outputs := totals(got["vllm:time_to_first_token_seconds"]).count + totals(got["vllm:inter_token_latency_seconds"]).count
	if have.sum != float64(tokens) || have.sum != counted(got["vllm:prompt_tokens_total"], "", "")+counted(got["vllm:generation_tokens_total"], "", "") {
		t.Errorf("steps of %v tokens, want %d", have.sum, tokens)
	}
	// Steps with parts of prompts only have no output, and are not seen.
	if !(have.count < float64(s.Steps) && have.count < outputs && have.count > outputs/64) {
		t.Errorf("%v steps with output of %d, with %v outputs", have.count, s.Steps, outputs)
	}
}

// A step counts the whole prompt when it gives the first token, however many steps
// and cached tokens were before, as in vLLM up to 0.20; and each choice its own.
func TestIterationTokens(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		body   string
		want   map[float64]uint64 // cumulative
		total  total
	}{
		{
			"chunks", func(c *Config) { c.Engine.MaxNumBatchedTokens = 4 }, `{"prompt":"a b c d e f g h i j","max_tokens":4}`,
			map[float64]uint64{1: 3, 8: 3, 16: 4},
			total{4, 14},
		},
		{
			"speculation", twoOfThree(t), `{"prompt":"a b c","max_tokens":9}`,
			map[float64]uint64{1: 0, 8: 4},
			total{4, 12},
		},
		{
			"choices", nil, `{"prompt":"a b c d e f g h i","max_tokens":3,"n":2}`,
			map[float64]uint64{1: 0, 8: 2, 16: 2, 32: 3},
			total{3, 24},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := start(t, tt.change)
			if w := post(g.Handler(), "/v1/completions", tt.body); w.Code != http.StatusOK {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			f := scrapeFamilies(t, g.Handler())["vllm:iteration_tokens_total"]
			if got := totals(f); got != tt.total {
				t.Errorf("%+v, want %+v", got, tt.total)
			}
			for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
				if want, ok := tt.want[b.GetUpperBound()]; ok && b.GetCumulativeCount() != want {
					t.Errorf("%d steps of up to %v tokens, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
				}
			}
		})
	}
}

// Nine words in blocks of four: eight tokens are cached, the ninth is what vLLM
// takes for one cached and computed again.
func TestPromptTokensBySource(t *testing.T) {
	g := start(t, nil)
	for range 2 {
		post(g.Handler(), "/v1/completions", `{"prompt":"a b c d e f g h i","max_tokens":1}`)
	}
	checkSources(t, g.Handler(), map[string]float64{"local_compute": 10, "local_cache_hit": 9, "external_kv_transfer": 0}, 8, 1)
}

// What is loaded from host memory is external to the engine's own cache.
func TestPromptTokensFromHostMemory(t *testing.T) {
	g := start(t, func(c *Config) {
		c.Engine.NumGPUBlocks, c.Engine.Offload = 4, engine.Offload{Blocks: 100, Copy: 1e6}
	})
	h := g.Handler()
	for _, prompt := range []string{"a b c d e f g h i j", "1 2 3 4 5 6 7 8 9 0", "a b c d e f g h i j"} {
		post(h, "/v1/completions", `{"max_tokens":2,"prompt":"`+prompt+`"}`)
		g.settle(time.Millisecond)
	}
	checkSources(t, h, map[string]float64{"local_compute": 22, "local_cache_hit": 0, "external_kv_transfer": 8}, 8, 0)
}

func checkSources(t *testing.T, h http.Handler, want map[string]float64, cached, again float64) {
	t.Helper()
	got := scrapeFamilies(t, h)
	all := -again
	for source, w := range want {
		v := counted(got["vllm:prompt_tokens_by_source_total"], "source", source)
		if v != w {
			t.Errorf("%s: %v tokens, want %v", source, v, w)
		}
		all += v
	}
	if v := counted(got["vllm:prompt_tokens_total"], "", ""); all != v {
		t.Errorf("the sources add up to %v tokens of %v", all, v)
	}
	if v := counted(got["vllm:prompt_tokens_cached_total"], "", ""); v != cached {
		t.Errorf("%v cached tokens, want %v", v, cached)
	}
	if v := counted(got["vllm:prompt_tokens_recomputed_total"], "", ""); v != again {
		t.Errorf("%v tokens computed again, want %v", v, again)
	}
}

// A server that takes a request's tokens has nothing to allocate for its metrics.
func TestTallyDoesNotAllocate(t *testing.T) {
	fam := families(V019, 1024)
	l := tally{families: &fam}
	s := engine.Seq{Prompt: 100, MaxTokens: 10, Output: 10, Cached: 96}
	if n := testing.AllocsPerRun(1000, func() {
		l.Step(100, 3)
		l.output(&s, 5, 4, 1)
		l.end(&s, engine.Length)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if h := l.hist[histIteration]; h.sum != 103*1001 || math.Abs(float64(h.counts[5])-1001) > 0 {
		t.Errorf("steps %+v", h)
	}
}
