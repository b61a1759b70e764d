package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/engine"
)

func get(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestVersion(t *testing.T) {
	g := start(t, func(c *Config) { c.Version = "1.2" })
	if w := get(t, g.Handler(), "/version"); w.Body.String() != `{"version":"1.2"}` {
		t.Errorf("version %s", w.Body)
	}
}

type tokens struct {
	Count  int
	Len    int `json:"max_model_len"`
	Tokens []uint32
}

func tokenizeOver(t *testing.T, h http.Handler, body string) tokens {
	t.Helper()
	w := post(h, "/tokenize", body)
	var got tokens
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return got
}

// Text and the numbers of its tokens are the same prompt.
func TestTokenize(t *testing.T) {
	h := start(t, nil).Handler()
	const text = "several longer words in a row, and some more of them"
	got := tokenizeOver(t, h, fmt.Sprintf(`{"model":%q,"prompt":%q}`, testModel, text))
	if n := tokenize(0, text).n; got.Count != n || len(got.Tokens) != n || got.Len != 1024 {
		t.Errorf("tokens %+v, want %d", got, n)
	}
	post(h, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, text))
	ids, err := json.Marshal(got.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	again := summarise(t, post(h, "/v1/completions", `{"max_tokens":1,"prompt":`+string(ids)+`}`), false)
	if want := (got.Count - 1) / 4 * 4; again.usage.Details.Cached != want || want == 0 {
		t.Errorf("%d tokens cached, want %d", again.usage.Details.Cached, want)
	}
	plain := tokenizeOver(t, h, `{"prompt":"a b"}`)
	spoken := tokenizeOver(t, h, `{"messages":[{"role":"user","content":"a b"}]}`)
	if spoken.Count != 2 || spoken.Tokens[0] == plain.Tokens[0] || spoken.Tokens[1] != plain.Tokens[1] {
		t.Errorf("a chat is %v, its text %v", spoken, plain)
	}
	for body, status := range map[string]int{`{`: 400, `{"prompt":5}`: 400, `{}`: 400, `{"model":"x","prompt":"a"}`: 404} {
		if w := post(h, "/tokenize", body); w.Code != status {
			t.Errorf("%s: status %d", body, w.Code)
		}
	}
	if got := tokenizeOver(t, h, `{"prompt":""}`); got.Count != 0 || len(got.Tokens) != 0 {
		t.Errorf("nothing is %+v", got)
	}
}

func TestCacheSalt(t *testing.T) {
	h := start(t, nil).Handler()
	cached := func(salt string) int {
		w := post(h, "/v1/completions", fmt.Sprintf(`{"prompt":"a b c d e","max_tokens":1,"cache_salt":%q}`, salt))
		return summarise(t, w, false).usage.Details.Cached
	}
	if got := []int{cached(""), cached("x"), cached("y"), cached("x"), cached("")}; !cmp.Equal(got, []int{0, 0, 0, 4, 4}) {
		t.Errorf("cached %v", got)
	}
}

// R21: the cache forgets only while nobody holds a block.
func TestResetPrefixCache(t *testing.T) {
	g := start(t, func(c *Config) { c.Replicas, c.Step = 2, evenSteps(time.Millisecond) })
	h := g.Replica(0)
	cached := func() int {
		return summarise(t, post(h, "/v1/completions", `{"prompt":"a b c d e","max_tokens":1}`), false).usage.Details.Cached
	}
	if a, b := cached(), cached(); a != 0 || b != 4 {
		t.Fatalf("cached %d and %d", a, b)
	}
	if w := post(g.Replica(1), "/reset_prefix_cache", ``); w.Code != http.StatusOK || cached() != 4 {
		t.Errorf("resetting replica 1: status %d", w.Code)
	}
	if w := post(g.Handler(), "/reset_prefix_cache", ``); w.Code != http.StatusOK || cached() != 0 {
		t.Errorf("resetting all: status %d", w.Code)
	}
	var busy sync.WaitGroup
	busy.Go(func() { post(h, "/v1/completions", `{"prompt":"x","max_tokens":200}`) })
	for g.state(0).KVUsed == 0 {
	}
	if w := post(g.Handler(), "/reset_prefix_cache", ``); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "replica 0,") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	busy.Wait()
}

func ids(t *testing.T, h http.Handler) (out []string) {
	t.Helper()
	var got struct {
		Data []struct {
			ID, Root string
			Parent   *string
		}
	}
	if err := json.Unmarshal(get(t, h, "/v1/models").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, m := range got.Data {
		out = append(out, m.ID)
		if (m.ID == testModel) != (m.Parent == nil) {
			t.Errorf("model %+v", m)
		}
	}
	return out
}

// twoPlaces are for adapters that cost nothing.
var twoPlaces = engine.LoRA{MaxLoras: 2, MaxCPULoras: 2}

// Engines without places for adapters know none.
func TestNoAdaptersWithoutPlaces(t *testing.T) {
	h := start(t, nil).Handler()
	body := `{"lora_name":"fine","lora_path":"x"}`
	if w := post(h, "/v1/load_lora_adapter", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "--engine.enable-lora") {
		t.Errorf("loading: status %d: %s", w.Code, w.Body)
	}
	if w := post(h, "/v1/completions", `{"model":"fine","prompt":"a"}`); w.Code != http.StatusNotFound {
		t.Errorf("a request: status %d: %s", w.Code, w.Body)
	}
	if got := ids(t, h); !cmp.Equal(got, []string{testModel}) {
		t.Errorf("models %q", got)
	}
}

func TestAdapters(t *testing.T) {
	p := &spy{}
	g := start(t, func(c *Config) { c.Replicas, c.Policy, c.Engine.LoRA = 2, p, twoPlaces })
	all, one := g.Handler(), g.Replica(1)
	const load, unload, body = "/v1/load_lora_adapter", "/v1/unload_lora_adapter", `{"lora_name":"fine","lora_path":"/some/where"}`
	steps := []struct {
		name   string
		h      http.Handler
		path   string
		body   string
		status int
	}{
		{"unknown model", all, "/v1/completions", `{"model":"fine","prompt":"a"}`, 404},
		{"no name", all, load, `{"lora_path":"x"}`, 400},
		{"no path", all, load, `{"lora_name":"fine"}`, 400},
		{"no JSON", all, load, `fine`, 400},
		{"the base model's name", all, load, `{"lora_name":"` + testModel + `","lora_path":"x"}`, 400},
		{"unload nothing", all, unload, body, 404},
		{"load on one replica", one, load, body, 200},
		{"load twice", one, load, body, 400},
		{"load in place", one, load, `{"lora_name":"fine","lora_path":"x","load_inplace":true}`, 200},
		{"not on all replicas", all, "/v1/completions", `{"model":"fine","prompt":"a"}`, 404},
		{"on one replica", one, "/v1/completions", `{"model":"fine","prompt":"a b c d e"}`, 200},
		{"load on all", all, load, body, 200},
		{"on all replicas", all, "/v1/completions", `{"model":"fine","prompt":"a b c d e"}`, 200},
		{"tokenize", all, "/tokenize", `{"model":"fine","prompt":"a"}`, 200},
		{"a second one", all, load, `{"lora_name":"other","lora_path":"x"}`, 200},
	}
	for _, s := range steps {
		if w := post(s.h, s.path, s.body); w.Code != s.status {
			t.Errorf("%s: status %d: %s", s.name, w.Code, w.Body)
		}
	}
	if diff := cmp.Diff([]string{testModel, "fine", "other"}, ids(t, all)); diff != "" {
		t.Error(diff)
	}
	cached := func(model string) int {
		w := post(all, "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a b c d e","max_tokens":1}`, model))
		if !strings.Contains(w.Body.String(), fmt.Sprintf(`"model":%q`, model)) {
			t.Errorf("answer %s", w.Body)
		}
		return summarise(t, w, false).usage.Details.Cached
	}
	// The policy sends all to replica 0, where only "fine" was asked before.
	if got := []int{cached("fine"), cached("other"), cached(testModel), cached("other")}; !cmp.Equal(got, []int{4, 0, 0, 4}) {
		t.Errorf("cached %v: adapters share blocks", got)
	}
	g.state(0)
	n := len(p.seen)
	if a, b, c := p.seen[n-4].Adapter, p.seen[n-3].Adapter, p.seen[n-2].Adapter; a != 1 || b != 2 || c != 0 {
		t.Errorf("the policy saw adapters %d, %d, %d", a, b, c)
	}
	if w := post(one, unload, body); w.Code != http.StatusOK {
		t.Errorf("unloading: status %d", w.Code)
	}
	if diff := cmp.Diff([]string{testModel, "other"}, ids(t, one)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{testModel, "fine", "other"}, ids(t, g.Replica(0))); diff != "" {
		t.Error(diff)
	}
}

// A request shares blocks with those of the same adapter and the same salt, also
// where names and salts could be exchanged or cancel each other.
func TestAdaptersAndSaltsAreKeptApart(t *testing.T) {
	g := start(t, func(c *Config) { c.Adapters, c.Engine.LoRA = []string{"a", "b"}, twoPlaces })
	h := g.Handler()
	cached := func(model, salt string) int {
		w := post(h, "/v1/completions", fmt.Sprintf(`{"model":%q,"cache_salt":%q,"prompt":"a b c d e","max_tokens":1}`, model, salt))
		return summarise(t, w, false).usage.Details.Cached
	}
	var who [][2]string
	for _, model := range []string{testModel, "a", "b"} {
		for _, salt := range []string{"", "a", "b"} {
			who = append(who, [2]string{model, salt})
		}
	}
	for round, want := range []int{0, 4} {
		for _, w := range who {
			if got := cached(w[0], w[1]); got != want {
				t.Errorf("round %d: %q found %d tokens, want %d", round, w, got, want)
			}
		}
	}
}

// Adapters take places on the GPU by request and by name.
func TestAdaptersHavePlaces(t *testing.T) {
	g := start(t, func(c *Config) {
		c.Adapters = []string{"a", "b"}
		c.Engine.LoRA = engine.LoRA{MaxLoras: 1, MaxCPULoras: 1, Fetch: 1e9, Load: 1e9}
	})
	h := g.Handler()
	ask := func(model string) int64 {
		before := g.state(0).AdapterLoads
		if w := post(h, "/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":"a","max_tokens":2}`, model)); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", model, w.Code)
		}
		return g.state(0).AdapterLoads - before
	}
	admin := func(path, name string) {
		if w := post(h, path, fmt.Sprintf(`{"lora_name":%q,"lora_path":"x","load_inplace":true}`, name)); w.Code != http.StatusOK {
			t.Errorf("%s %s: status %d", path, name, w.Code)
		}
	}
	// The last one of the start is there.
	got := []int64{ask("b"), ask("a"), ask("a"), ask(testModel)}
	admin("/v1/load_lora_adapter", "b")
	got = append(got, ask("b"))
	admin("/v1/unload_lora_adapter", "b")
	admin("/v1/load_lora_adapter", "b")
	got = append(got, ask("b"), ask("a"))
	if diff := cmp.Diff([]int64{0, 1, 0, 0, 0, 0, 1}, got); diff != "" {
		t.Errorf("loads (-want +got):\n%s", diff)
	}
	facts := g.truth.facts(t)
	if f := facts[1]; f.Adapter == nil || *f.Adapter != "a" || f.Transfer == nil || *f.Transfer != 2e6 {
		t.Errorf("the truth about a load is %+v", f)
	}
}

func TestAdapterMetric(t *testing.T) {
	g := start(t, func(c *Config) {
		c.Adapters = []string{`a"`, "b", "c"}
		c.Engine.LoRA = engine.LoRA{MaxLoras: 2, MaxCPULoras: 2}
		c.Step = evenSteps(time.Hour)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var asked sync.WaitGroup
	for _, model := range []string{`a"`, "b", testModel, "c", "b"} {
		n := g.state(0)
		asked.Go(func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/completions", strings.NewReader(fmt.Sprintf(`{"model":%q,"prompt":"a"}`, model)))
			g.Handler().ServeHTTP(httptest.NewRecorder(), r)
		})
		for g.state(0).Arriving+g.state(0).Waiting+g.state(0).Running == n.Arriving+n.Waiting+n.Running {
			runtime.Gosched()
		}
	}
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	cancel()
	asked.Wait()
	var line string
	for l := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(l, "vllm:lora_requests_info{") {
			line = l
		}
	}
	// The first is in the step that takes an hour, and the others came later.
	// vLLM has no other labels here.
	if strings.Contains(line, "engine=") || strings.Contains(line, "model_name=") {
		t.Errorf("%s has more labels than in vLLM", line)
	}
	for _, want := range []string{`max_lora="2"`, `running_lora_adapters="a\""`, `waiting_lora_adapters="b,c"`} {
		if !strings.Contains(line, want) {
			t.Errorf("%s lacks %s", line, want)
		}
	}
}
