package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goodput/fakeengine/fault"
	"goodput/loadgen/clock"
)

// faulty runs a test in a bubble, with steps of a tick and a script.
func faulty(t *testing.T, script string, test func(t *testing.T, g *rig)) {
	s, err := fault.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		test(t, start(t, func(c *Config) {
			c.Step, c.Faults, c.Replicas, c.Engine.LoRA = evenSteps(tick), s, 2, twoPlaces
		}, clock.Portable()))
	})
}

// streamOf asks a front for n tokens and says whether the connection broke.
func streamOf(t *testing.T, h http.Handler, g *rig, n int) (c *client, broke bool) {
	c = newClient(g)
	defer func() {
		if r := recover(); r != nil {
			if r != http.ErrAbortHandler {
				panic(r)
			}
			broke = true
		}
	}()
	g.streamTo(t.Context(), h, c, n)
	return c, false
}

func TestFaultSlowAndStall(t *testing.T) {
	faulty(t, "- {at: 15ms, for: 20ms, replica: 0, slow: 3}\n- {at: 55ms, for: 100ms, replica: 0, stall: true}", func(t *testing.T, g *rig) {
		c, _ := streamOf(t, g.Replica(0), g, 6)
		// Steps begin at 0, 10, 20 (slow), 50, 60 (stalled until 155), 165 ms.
		if want := ticks(0, 1, 2, 5, 6); !slices.Equal(c.flushes[:5], want) || c.flushes[5] != 165e6 || c.flushes[6] != 175e6 {
			t.Errorf("flushes at %v", c.flushes)
		}
	})
}

func TestFaultKill(t *testing.T) {
	faulty(t, "- {at: 35ms, for: 65ms, replica: 0, kill: true}", func(t *testing.T, g *rig) {
		h, all := g.Replica(0), g.Handler()
		post(h, "/v1/load_lora_adapter", `{"lora_name":"fine","lora_path":"x"}`)
		var both sync.WaitGroup
		both.Go(func() {
			other, broke := streamOf(t, g.Replica(1), g, 6)
			if broke || other.tokens() != 6 {
				t.Errorf("the other replica: %d tokens, broke %v", other.tokens(), broke)
			}
		})
		c, broke := streamOf(t, h, g, 100)
		if !broke || c.tokens() != 3 || strings.Contains(c.body.String(), doneMarker) {
			t.Errorf("%d tokens, broke %v", c.tokens(), broke)
		}
		both.Wait()
		if c, broke := streamOf(t, h, g, 1); !broke || c.status != 0 {
			t.Errorf("a dead replica answers %d", c.status)
		}
		// The policy takes turns, and does not know.
		bad := 0
		for range 2 {
			if c, broke := streamOf(t, all, g, 1); !broke && c.status == http.StatusBadGateway {
				bad++
			}
		}
		if bad != 1 {
			t.Errorf("%d of two requests got a 502", bad)
		}
		if m := scrapeFamilies(t, all)["vllm:num_requests_running"].GetMetric(); len(m) != 1 || labels(m[0])["engine"] != "1" {
			t.Errorf("metrics of the dead: %v", m)
		}
		<-time.After(100 * time.Millisecond)
		if s := g.state(0); s.Aborted != 0 || s.GenerationTokens != 0 || s.KVUsed != 0 {
			t.Errorf("after the restart %+v", s)
		}
		if c, broke := streamOf(t, h, g, 2); broke || c.tokens() != 2 {
			t.Errorf("after the restart %d tokens", c.tokens())
		}
		if got := ids(t, h); len(got) != 1 {
			t.Errorf("models after the restart: %v", got)
		}
		facts := g.truth.facts(t)
		if f := facts[0]; *f.Finish != "abort" || f.Sent != 3 || *f.Status != 200 {
			t.Errorf("truth of the one cut off: %+v", f)
		}
		for _, f := range facts {
			if f.Finish == nil && f.Status != nil && *f.Status != http.StatusBadGateway {
				t.Errorf("truth %+v", f)
			}
		}
		if last := facts[len(facts)-1]; *last.Cached != 0 {
			t.Errorf("the cache is not cold: %d tokens", *last.Cached)
		}
	})
}

func TestFaultRestart(t *testing.T) {
	faulty(t, "- {at: 35ms, restart: true}", func(t *testing.T, g *rig) {
		if c, broke := streamOf(t, g.Replica(0), g, 100); !broke || c.tokens() != 3 {
			t.Errorf("%d tokens, broke %v", c.tokens(), broke)
		}
		<-time.After(tick) // the client can know of the crash before the loop is through with it
		if c, broke := streamOf(t, g.Replica(0), g, 2); broke || c.tokens() != 2 || g.loop.Stamp() != 65e6 {
			t.Errorf("%d tokens at %v", c.tokens(), g.loop.Stamp())
		}
	})
}

func TestFaultStatus(t *testing.T) {
	faulty(t, "- {at: 0s, for: 1s, http: 429, retry_after: 3s}\n- {at: 2s, http: 503}", func(t *testing.T, g *rig) {
		h := g.Handler()
		<-time.After(time.Millisecond)
		if w := post(h, "/v1/completions", `{"prompt":"a"}`); w.Code != 429 || w.Header().Get("Retry-After") != "3" {
			t.Errorf("status %d, headers %v", w.Code, w.Header())
		}
		if w := get(t, h, "/health"); w.Code != http.StatusOK {
			t.Errorf("health %d", w.Code)
		}
		<-time.After(1100 * time.Millisecond)
		if w := post(h, "/v1/completions", `{"prompt":"a"}`); w.Code != 200 {
			t.Errorf("status %d", w.Code)
		}
		<-time.After(time.Second)
		if w := post(h, "/v1/completions", `{"prompt":"a"}`); w.Code != 503 || w.Header().Get("Retry-After") != "" {
			t.Errorf("status %d, headers %v", w.Code, w.Header())
		}
		if s := g.state(0); s.Running+s.Waiting != 0 || g.fleet.Load(0).Outstanding+g.fleet.Load(1).Outstanding != 0 {
			t.Errorf("refused requests are on the books: %+v", s)
		}
	})
}

func TestFaultTruncate(t *testing.T) {
	faulty(t, "- {at: 25ms, for: 1s, truncate: true}", func(t *testing.T, g *rig) {
		c, broke := streamOf(t, g.Replica(0), g, 8)
		got := events(t, c.body.String())
		if broke || len(got) != 3 || !json.Valid([]byte(got[1])) || json.Valid([]byte(got[2])) || !strings.HasPrefix(got[1], got[2][:20]) {
			t.Errorf("broke %v, events %q", broke, got)
		}
		if s := g.state(0); s.Running != 0 || s.KVUsed != 0 {
			t.Errorf("after the end %+v", s)
		}
		if f := g.truth.facts(t)[0]; f.Sent != 2 || *f.Finish != "abort" {
			t.Errorf("truth %+v", f)
		}
		w := post(g.Replica(0), "/v1/completions", `{"prompt":"a"}`)
		if w.Code != http.StatusOK || json.Valid(w.Body.Bytes()) || w.Body.Len() < 50 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

func TestFaultUsageAndMetrics(t *testing.T) {
	faulty(t, "- {at: 0s, for: 1s, usage: 1.5}\n- {at: 0s, for: 1s, replica: 0, metrics: nan}", func(t *testing.T, g *rig) {
		h := g.Handler()
		<-time.After(time.Millisecond)
		ask := func() *answerUsage {
			return summarise(t, post(h, "/v1/completions", `{"prompt":"a b c","max_tokens":5}`), false).usage
		}
		if u := ask(); u.Prompt != 5 || u.Completion != 8 || u.Total != 12 { // 4.5, 7.5 and 12
			t.Errorf("usage %+v", u)
		}
		m := scrapeFamilies(t, h)
		for i, want := range []bool{true, false} {
			if v := m["vllm:num_requests_running"].GetMetric()[i].GetGauge().GetValue(); math.IsNaN(v) != want {
				t.Errorf("replica %d: %v", i, v)
			}
		}
		<-time.After(time.Second)
		if u := ask(); u.Prompt != 3 || u.Completion != 5 || u.Total != 8 {
			t.Errorf("usage %+v", u)
		}
	})
}

func TestFaultsOfNobody(t *testing.T) {
	var c Config
	start(t, func(good *Config) { c = *good })
	c.Faults = fault.Script{{Kind: fault.Kill, Replica: 1}}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "replica 1 does not exist") {
		t.Errorf("error %v", err)
	}
}

// On a socket, a kill looks like a broken connection, and a client that does not
// read cannot hold it up. Where the machine is too busy for both to be served before
// the kill, it comes later.
func TestKillOnTheWire(t *testing.T) {
	for at := 300 * time.Millisecond; !killOnTheWire(t, at); at *= 2 {
	}
}

func killOnTheWire(t *testing.T, at time.Duration) (inTime bool) {
	t.Helper()
	script, err := fault.Parse("test", fmt.Appendf(nil, "- {at: %v, kill: true}", at))
	if err != nil {
		t.Fatal(err)
	}
	g := start(t, func(c *Config) {
		c.Step, c.Faults = evenSteps(100*time.Microsecond), script
		c.Engine.MaxModelLen, c.Engine.NumGPUBlocks = 1<<20, 1<<19
	})
	s := listen(t, g.Handler())
	defer s.CloseClientConnections()
	const body = `{"prompt":"a","max_tokens":500000,"stream":true}`
	var readers [2]io.Reader // the second is not read
	for i := range readers {
		resp, err := http.DefaultClient.Do(asking(t.Context(), t, s.URL, body))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return false
		}
		readers[i] = resp.Body
	}
	if _, err := io.ReadAll(readers[0]); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the client sees %v, want an unexpected end", err)
	}
	resp := send(t.Context(), t, s.URL, `{"prompt":"a"}`)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadGateway {
		t.Errorf("status %d", resp.StatusCode)
	}
	return true
}
