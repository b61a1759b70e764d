package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"goodput/fakeengine/router"
)

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"no loop", func(c *Config) { c.Loop = nil }, "loop"},
		{"no model", func(c *Config) { c.Model = "" }, "model name"},
		{"no policy", func(c *Config) { c.Policy = nil }, "policy"},
		{"no replicas", func(c *Config) { c.Replicas = 0 }, "at least 1"},
		{"no step time", func(c *Config) { c.Step = nil }, "step-time model"},
		{"adapters without places", func(c *Config) { c.Adapters = []string{"a"} }, "--engine.enable-lora"},
		{"bad engine", func(c *Config) { c.Engine.MaxNumSeqs = 0 }, "MaxNumSeqs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Config
			start(t, func(good *Config) { c = *good })
			tt.change(&c)
			if _, err := New(c); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v does not say %q", err, tt.says)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	h := start(t, nil).Handler()
	tests := []struct {
		method, path string
		status       int
		allow        string
	}{
		{http.MethodGet, "/health", 200, ""},
		{http.MethodHead, "/health", 200, ""},
		{http.MethodGet, "/v1/models", 200, ""},
		{http.MethodGet, "/metrics", 200, ""},
		{http.MethodPost, "/health", 405, "GET, HEAD"},
		{http.MethodGet, "/v1/completions", 405, "POST"},
		{http.MethodDelete, "/v1/chat/completions", 405, "POST"},
		{http.MethodGet, "/", 404, ""},
		{http.MethodPost, "/v1/audio/speech", 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, nil))
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("status %d, Allow %q", w.Code, w.Header().Get("Allow"))
			}
			if tt.status >= 400 {
				var got struct{ Error struct{ Code int } }
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Error.Code != tt.status {
					t.Errorf("answer %s", w.Body)
				}
			}
		})
	}
}

func TestModels(t *testing.T) {
	w := httptest.NewRecorder()
	start(t, nil).Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil))
	var got struct {
		Data []struct {
			ID  string
			Len int `json:"max_model_len"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Data) != 1 || got.Data[0].ID != testModel || got.Data[0].Len != 1024 {
		t.Errorf("models %s: %v", w.Body, err)
	}
}

// testBody is the limit of bodies where it matters, in bytes.
const testBody = 64 << 10

func TestRefusedRequests(t *testing.T) {
	g := start(t, func(c *Config) { c.Engine.NumGPUBlocks = 11 }) // room for 40 tokens
	g.maxBody = testBody
	h := g.Handler()
	tests := []struct {
		name, body string
		status     int
	}{
		{"bad JSON", `{`, 400},
		{"other model", `{"model":"x","prompt":"a"}`, 404},
		{"context overflow", `{"prompt":"a","max_tokens":1024}`, 400},
		{"larger than the cache", `{"prompt":"a","max_tokens":60}`, 400},
		{"too large", `{"prompt":"` + strings.Repeat("abcdefg ", testBody/8) + `"}`, 413},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := post(h, "/v1/completions", tt.body, headerRequestID, fmt.Sprint(i))
			if w.Code != tt.status {
				t.Errorf("status %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			var got struct {
				Error struct{ Message string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Error.Message == "" {
				t.Errorf("answer %s: %v", w.Body, err)
			}
			facts := g.truth.facts(t)
			if len(facts) != i+1 {
				t.Fatalf("%d lines of truth after %d requests", len(facts), i+1)
			}
			f := facts[i]
			if f.RequestID != fmt.Sprint(i) || f.Status == nil || *f.Status != tt.status || f.Finish != nil || f.Output != nil || f.FirstToken != nil || f.Sent != 0 {
				t.Errorf("truth %+v", f)
			}
		})
	}
	if s := g.state(0); s.Running+s.Waiting+s.Arriving != 0 || s.KVUsed != 0 {
		t.Errorf("refused requests left %+v", s)
	}
}

// A body without a declared length is cut at the limit, too.
func TestBodyOfUnknownLength(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/completions", strings.NewReader(strings.Repeat(" ", testBody+1)))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	g := start(t, nil)
	g.maxBody = testBody
	g.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
}

// Whatever is asked for, the usage, the number of chunks, the text and the truth
// say the same.
func TestUsageCountsChunks(t *testing.T) {
	g := start(t, func(c *Config) { c.Replicas = 2; c.Step = evenSteps(time.Microsecond) })
	h, n := g.Handler(), 0
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.IntRange(1, 40).Draw(t, "prompt")
		most := rapid.IntRange(1, 20).Draw(t, "max_tokens")
		a := rapid.SampledFrom([]api{completions, chat}).Draw(t, "api")
		stream := rapid.Bool().Draw(t, "stream")
		usage := rapid.Bool().Draw(t, "usage")
		n++
		text := strings.Repeat("abcd ", prompt)
		path, content := "/v1/completions", fmt.Sprintf(`"prompt":%q`, text)
		if a == chat {
			path, content = "/v1/chat/completions", fmt.Sprintf(`"messages":[{"role":"user","content":%q}]`, text)
		}
		body := fmt.Sprintf(`{%s,"max_tokens":%d,"stream":%v,"stream_options":{"include_usage":%v}}`, content, most, stream, usage)
		w := post(h, path, body, headerRequestID, fmt.Sprint(n))
		if w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		got := summarise(t, w, stream)
		if got.chunks != most || tokenize(0, got.text).n != most || got.finish != "length" {
			t.Fatalf("asked for %d tokens, got %+v", most, got)
		}
		if wantUsage := usage || !stream; wantUsage != (got.usage != nil) {
			t.Fatalf("usage %+v", got.usage)
		} else if wantUsage && (got.usage.Prompt != prompt || got.usage.Completion != most || got.usage.Total != prompt+most) {
			t.Fatalf("%d prompt tokens and %d of answer, usage %+v", prompt, most, got.usage)
		}
		facts := g.truth.facts(t)
		f := facts[len(facts)-1]
		if f.RequestID != fmt.Sprint(n) || *f.Prompt != prompt || *f.Output != most || f.Sent != most || f.API != a.String() || f.Stream != stream {
			t.Fatalf("truth %+v", f)
		}
		if got.usage != nil && got.usage.Details.Cached != *f.Cached {
			t.Fatalf("%d tokens cached, truth has %d", got.usage.Details.Cached, *f.Cached)
		}
	})
}

type answerUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type summary struct {
	chunks       int // with text
	text, finish string
	usage        *answerUsage
}

// summarise reads an answer with encoding/json. Of a whole answer the text's
// words stand for chunks.
func summarise(t failer, w *httptest.ResponseRecorder, stream bool) summary {
	t.Helper()
	var out summary
	payloads := []string{w.Body.String()}
	if stream {
		payloads = events(t, w.Body.String())
		if last := payloads[len(payloads)-1]; last != "[DONE]" {
			t.Fatalf("the stream ends with %s", last)
		}
		payloads = payloads[:len(payloads)-1]
	}
	for _, p := range payloads {
		var c struct {
			Choices []struct {
				Text           string
				Delta, Message struct{ Content string }
				FinishReason   string `json:"finish_reason"`
			}
			Usage *answerUsage
		}
		if err := json.Unmarshal([]byte(p), &c); err != nil {
			t.Fatalf("%v in %s", err, p)
		}
		if c.Usage != nil {
			out.usage = c.Usage
		}
		for _, choice := range c.Choices {
			text := choice.Text + choice.Delta.Content + choice.Message.Content
			if text != "" {
				out.chunks++
			}
			out.text += text
			out.finish += choice.FinishReason
		}
	}
	if !stream {
		out.chunks = len(strings.Fields(out.text))
	}
	return out
}

func TestAnswerDependsOnIDOnly(t *testing.T) {
	h := start(t, nil).Handler()
	ask := func(id, prompt string) string {
		w := post(h, "/v1/completions", fmt.Sprintf(`{"prompt":%q}`, prompt), headerRequestID, id)
		if got := w.Header().Get(headerRequestID); got != id {
			t.Errorf("request id %q echoed as %q", id, got)
		}
		return summarise(t, w, false).text
	}
	if ask("1", "a") != ask("1", "b") {
		t.Error("the same id gives different answers")
	}
	if ask("1", "a") == ask("2", "a") {
		t.Error("different ids give the same answer")
	}
	one, two := post(h, "/v1/completions", `{"prompt":"a"}`), post(h, "/v1/completions", `{"prompt":"a"}`)
	if a, b := one.Header().Get(headerRequestID), two.Header().Get(headerRequestID); a == "" || a == b {
		t.Errorf("request ids made up: %q and %q", a, b)
	}
}

func TestReplicas(t *testing.T) {
	g := start(t, func(c *Config) { c.Replicas = 2 })
	const body = `{"prompt":"a b c d e","max_tokens":3}`
	from := func(h http.Handler) string { return post(h, "/v1/completions", body).Header().Get(headerReplica) }

	all := g.Handler()
	for i := range 4 {
		if got, want := from(all), fmt.Sprint(i%2); got != want {
			t.Errorf("round robin gave request %d to replica %s, want %s", i, got, want)
		}
	}
	one := g.Replica(1)
	for range 3 {
		if got := from(one); got != "1" {
			t.Errorf("the port of replica 1 gave a request to replica %s", got)
		}
	}
	if a, b := g.state(0).Finished, g.state(1).Finished; a != 2 || b != 5 {
		t.Errorf("replicas finished %d and %d requests, want 2 and 5", a, b)
	}
	if got := from(all); got != "0" {
		t.Errorf("a port of a replica moved the policy: next is %s, want 0", got)
	}
}

// spy is a policy that keeps what it was asked.
type spy struct{ seen []router.Request }

func (p *spy) Pick(r *router.Request, _ []router.Load) int {
	c := *r
	c.Prefix = append([]uint64(nil), r.Prefix...)
	p.seen = append(p.seen, c)
	return 0
}
func (p *spy) String() string        { return "spy" }
func (p *spy) Reads() router.Signals { return router.EngineLoad | router.PrefixHashes }

func TestPolicySeesTheRequest(t *testing.T) {
	p := &spy{}
	g := start(t, func(c *Config) { c.Policy, c.Engine.PrefixCaching = p, false })
	h := g.Handler()
	for _, ask := range []struct{ prompt, session string }{{"a b c d e f g h", "s1"}, {"a b c d x", "s1"}, {"a b", ""}} {
		var header []string
		if ask.session != "" {
			header = []string{headerSession, ask.session}
		}
		if w := post(h, "/v1/completions", fmt.Sprintf(`{"prompt":%q,"max_tokens":9}`, ask.prompt), header...); w.Code != http.StatusOK {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	g.state(0) // the loop's writes to p happen before
	s := p.seen
	if s[0].InTokens != 8 || s[0].MaxOut != 9 || s[0].Session == 0 || s[0].Session != s[1].Session || s[2].Session != 0 {
		t.Errorf("the policy saw %+v", s)
	}
	if len(s[0].Prefix) != 2 || len(s[1].Prefix) != 1 || s[0].Prefix[0] != s[1].Prefix[0] || len(s[2].Prefix) != 0 {
		t.Errorf("the policy saw prefixes %x, %x and %x", s[0].Prefix, s[1].Prefix, s[2].Prefix)
	}
	if got := g.state(0).PrefixHits; got != 0 {
		t.Errorf("%d hits without prefix caching", got)
	}
}

func TestPrefixCacheAcrossRequests(t *testing.T) {
	g := start(t, nil)
	h := g.Handler()
	ask := func(path, body string) int {
		t.Helper()
		return summarise(t, post(h, path, body), false).usage.Details.Cached
	}
	const turn = `{"role":"user","content":"a b c d e f g h i"}`
	if got := ask("/v1/chat/completions", `{"max_tokens":2,"messages":[`+turn+`]}`); got != 0 {
		t.Errorf("%d tokens cached at first", got)
	}
	if got := ask("/v1/chat/completions", `{"max_tokens":2,"messages":[`+turn+`,{"role":"user","content":"x y"}]}`); got != 8 {
		t.Errorf("%d tokens of an earlier turn cached, want 8", got)
	}
	if got := ask("/v1/completions", `{"max_tokens":2,"prompt":"a b c d e f g h i"}`); got != 0 {
		t.Errorf("%d tokens of a chat cached for a plain prompt", got)
	}
}

// Invariant 8: a preempted sequence emits every token once.
func TestPreemptionLosesNoToken(t *testing.T) {
	var full atomic.Int64 // calls of KVFull
	g := start(t, func(c *Config) {
		c.Engine.NumGPUBlocks, c.Step = 31, evenSteps(time.Millisecond)
		c.KVFull = func(int) { full.Add(1) }
	})
	h := g.Handler()
	const n = 60
	answers := make([]*httptest.ResponseRecorder, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			body := fmt.Sprintf(`{"prompt":"a%d b c d e f","max_tokens":%d,"stream":true}`, i, n)
			answers[i] = post(h, "/v1/completions", body, headerRequestID, fmt.Sprint(i))
		})
	}
	all.Wait()
	for i, w := range answers {
		want := make([]byte, n*wordLen)
		for j := range n {
			putWord(want[j*wordLen:], xxhash.Sum64String(fmt.Sprint(i)), j)
		}
		if got := summarise(t, w, true); got.chunks != n || got.text != string(want) {
			t.Errorf("request %d: %d chunks", i, got.chunks)
		}
	}
	preemptions := 0
	for _, f := range g.truth.facts(t) {
		preemptions += *f.Preemptions
		if *f.Preemptions > 0 && *f.Recomputed == 0 {
			t.Errorf("a preemption cost nothing: %+v", f)
		}
		spent := *f.FrontEnd + *f.Queue + *f.Prefill + *f.Decode + *f.Interference + *f.Transfer + *f.Preempted
		if whole := *f.LastToken - *f.Arrival; spent != whole {
			t.Errorf("the parts sum to %d ns, the whole is %d: %+v", spent, whole, f)
		}
	}
	if preemptions == 0 {
		t.Error("nothing was preempted: the test shows nothing")
	}
	if full.Load() != 1 {
		t.Errorf("%d calls because of the full KV cache, want 1", full.Load())
	}
}
