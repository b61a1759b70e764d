package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// split runs a test in a bubble on one prefill and two decode replicas, with steps
// of a tick and a link that takes a tick for six tokens.
func split(t *testing.T, script string, mostLocal int, test func(t *testing.T, g *rig)) {
	s, err := fault.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	rule, err := router.New("round-robin", 1)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		test(t, start(t, func(c *Config) {
			c.Step, c.Faults, c.Replicas = evenSteps(tick), s, 2
			c.Prefill = &disagg.Config{
				Replicas: 1, Policy: rule, MaxLocalPrefill: mostLocal,
				Link: disagg.Link{BytesPerToken: 1000, Bandwidth: 1e6, Latency: 4 * time.Millisecond},
			}
		}, clock.Portable()))
	})
}

// idle fails unless no replica holds anything.
func (g *rig) idle(t *testing.T) {
	t.Helper()
	for i := range g.replicas {
		if s := g.state(i); s.Arriving+s.Waiting+s.Running != 0 || s.KVUsed != 0 {
			t.Errorf("replica %d is not idle: %+v", i, s)
		}
	}
}

func TestHandedOverStream(t *testing.T) {
	split(t, "[]", 0, func(t *testing.T, g *rig) {
		c, _ := streamOf(t, g.Handler(), g, 3)
		// The prompt takes until 10 ms, the link until 20, its last token until 30.
		if want := ticks(0, 3, 4, 5); !slices.Equal(c.flushes[:4], want) || c.tokens() != 3 {
			t.Errorf("%d tokens, flushes at %v, want %v", c.tokens(), c.flushes, want)
		}
		if a, b := c.header.Get(headerReplica), c.header.Get(headerPrefillReplica); a != "1" || b != "0" {
			t.Errorf("replica %q, prefill replica %q", a, b)
		}
		f := g.truth.facts(t)[0]
		if *f.Replica != 1 || f.Source == nil || *f.Source != 0 || *f.Cached != 0 || *f.Arrival != 0 || *f.FirstToken != 30e6 || *f.LastToken != 50e6 {
			t.Errorf("truth %+v", f)
		}
		if *f.Transfer != 10e6 || *f.Prefill != 20e6 || *f.Decode != 20e6 || *f.FrontEnd+*f.Queue+*f.Interference != 0 {
			t.Errorf("the parts of its time: transfer %d, prefill %d, decode %d", *f.Transfer, *f.Prefill, *f.Decode)
		}
		for i, want := range []string{"1", "3", "0"} {
			m := scrapeFamilies(t, g.Handler())["vllm:generation_tokens_total"].GetMetric()[i]
			if got := fmt.Sprint(m.GetCounter().GetValue()); got != want {
				t.Errorf("replica %d made %s tokens, want %s", i, got, want)
			}
		}
		for i, want := range []uint64{1, 1, 0} {
			m := scrapeFamilies(t, g.Handler())["vllm:time_to_first_token_seconds"].GetMetric()[i]
			if got := m.GetHistogram().GetSampleCount(); got != want {
				t.Errorf("replica %d counts %d first tokens, want %d", i, got, want)
			}
		}
		// Both have the prompt: one computes it, the other gets it, and its last token
		// again, as vLLM does.
		for i, want := range [][4]float64{{6, 0, 0, 0}, {1, 0, 6, 1}, {0, 0, 0, 0}} {
			if got := promptSources(t, g, i); got != want {
				t.Errorf("replica %d: prompt tokens computed, local, external and again %v, want %v", i, got, want)
			}
		}
		g.idle(t)
	})
}

// promptSources are the counters of prompt tokens of a replica.
func promptSources(t *testing.T, g *rig, replica int) (out [4]float64) {
	families := scrapeFamilies(t, g.Handler())
	for i, source := range []string{"local_compute", "local_cache_hit", "external_kv_transfer"} {
		out[i] = families["vllm:prompt_tokens_by_source_total"].GetMetric()[3*replica+i].GetCounter().GetValue()
		if got := labels(families["vllm:prompt_tokens_by_source_total"].GetMetric()[3*replica+i])["source"]; got != source {
			t.Errorf("source %s, want %s", got, source)
		}
	}
	out[3] = families["vllm:prompt_tokens_recomputed_total"].GetMetric()[replica].GetCounter().GetValue()
	return out
}

func TestHandedOverChoicesAndUsage(t *testing.T) {
	split(t, "[]", 0, func(t *testing.T, g *rig) {
		body := `{"prompt":"a b c d e f g h i","max_tokens":2,"n":3}`
		first, second := post(g.Handler(), "/v1/completions", body), post(g.Handler(), "/v1/completions", body)
		for i, want := range []string{`"cached_tokens":0`, `"cached_tokens":8`} {
			w := []interface{ String() string }{first.Body, second.Body}[i]
			if s := w.String(); !strings.Contains(s, want) || !strings.Contains(s, `"completion_tokens":6`) || strings.Count(s, `"finish_reason":"length"`) != 3 {
				t.Errorf("request %d: %s", i, s)
			}
		}
		g.idle(t)
	})
}

func TestShortPromptsStayLocal(t *testing.T) {
	split(t, "[]", 6, func(t *testing.T, g *rig) {
		c, _ := streamOf(t, g.Handler(), g, 2)
		if want := ticks(0, 1, 2); !slices.Equal(c.flushes[:3], want) || c.header.Get(headerPrefillReplica) != "" {
			t.Errorf("flushes at %v, want %v; header %v", c.flushes, want, c.header)
		}
		if f := g.truth.facts(t)[0]; f.Source != nil || *f.Transfer != 0 {
			t.Errorf("truth %+v", f)
		}
	})
}

// TestClientLeavesAHandedOverRequest at each stage: nothing stays anywhere.
func TestClientLeavesAHandedOverRequest(t *testing.T) {
	for _, after := range []int{5, 12, 17, 25, 35} { // ms
		split(t, "[]", 0, func(t *testing.T, g *rig) {
			ctx, leave := context.WithTimeout(t.Context(), time.Duration(after)*time.Millisecond)
			defer leave()
			c := newClient(g)
			g.streamTo(ctx, g.Handler(), c, 50)
			g.idle(t)
			if f := g.truth.facts(t)[0]; *f.Finish != "abort" || *f.Prefill+*f.Transfer+*f.Decode+*f.Queue != int64(after)*1e6 {
				t.Errorf("left after %d ms: truth %+v", after, f)
			}
			if c, _ := streamOf(t, g.Handler(), g, 2); c.tokens() != 2 {
				t.Errorf("the next one got %d tokens", c.tokens())
			}
		})
	}
}

// TestCrashOfEitherReplica: the prefill replica is needed until the KV has been
// fetched, the other one all the time.
func TestCrashOfEitherReplica(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		broke  bool
		tokens int
	}{
		"prefill, computing":     {"- {at: 5ms, replica: 0, restart: true}", true, 0},
		"prefill, sending":       {"- {at: 15ms, replica: 0, restart: true}", true, 0},
		"prefill, done":          {"- {at: 25ms, replica: 0, restart: true}", false, 4},
		"decode, not begun":      {"- {at: 5ms, replica: 1, restart: true}", true, 0},
		"decode, fetching":       {"- {at: 15ms, replica: 1, restart: true}", true, 0},
		"decode, answering":      {"- {at: 45ms, replica: 1, restart: true}", true, 2},
		"another decode replica": {"- {at: 15ms, replica: 2, restart: true}", false, 4},
	} {
		t.Run(name, func(t *testing.T) {
			split(t, c.script, 0, func(t *testing.T, g *rig) {
				got, broke := streamOf(t, g.Handler(), g, 4)
				if broke != c.broke || got.tokens() != c.tokens {
					t.Errorf("%d tokens, broke %v", got.tokens(), broke)
				}
				<-time.After(tick)
				g.idle(t)
				for range 2 { // both decode replicas
					if got, broke := streamOf(t, g.Handler(), g, 2); broke || got.tokens() != 2 {
						t.Errorf("the next one: %d tokens, broke %v", got.tokens(), broke)
					}
				}
				g.idle(t)
			})
		})
	}
	t.Run("prefill, down", func(t *testing.T) {
		split(t, "- {at: 0s, replica: 0, kill: true}", 0, func(t *testing.T, g *rig) {
			<-time.After(tick)
			if c, _ := streamOf(t, g.Handler(), g, 2); c.status != http.StatusBadGateway {
				t.Errorf("status %d", c.status)
			}
			if s := g.state(1); s.Arriving+s.Waiting+s.Running != 0 {
				t.Errorf("the decode replica has it: %+v", s)
			}
		})
	})
}

// TestManyHandedOver has clients come and leave at the same time, for the race
// detector.
func TestManyHandedOver(t *testing.T) {
	split(t, "[]", 4, func(t *testing.T, g *rig) {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				<-time.After(time.Duration(i%7) * time.Millisecond)
				ctx := t.Context()
				if i%3 == 0 {
					var leave context.CancelFunc
					ctx, leave = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
					defer leave()
				}
				c := newClient(g)
				g.streamTo(ctx, g.Handler(), c, 5)
				if i%3 != 0 && c.tokens() != 5 {
					t.Errorf("request %d got %d tokens", i, c.tokens())
				}
			})
		}
		all.Wait()
		g.idle(t)
	})
}
