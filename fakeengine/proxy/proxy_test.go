package proxy_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/proxy"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// start puts a proxy with a rule before backends.
func start(t *testing.T, rule, id string, backends ...string) (*proxy.Proxy, *httptest.Server) {
	t.Helper()
	policy, err := router.New(rule, 1)
	if err != nil {
		t.Fatal(err)
	}
	loop, err := clock.NewReal(clock.Speed(1))
	if err != nil {
		t.Fatal(err)
	}
	loop.Start(0)
	p, err := proxy.New(proxy.Config{Policy: policy, Backends: backends, Stamp: loop, ID: id, Cooldown: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s
}

func backend(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// client sends what a test says and no header of its own.
var client = &http.Transport{DisableCompression: true}

func post(t *testing.T, url, body string, header http.Header) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header[k] = v
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// Each event is at the client before the backend makes the next one, and not a byte
// of request or answer is changed, whatever the bytes are.
func TestStreams(t *testing.T) {
	taken := make(chan struct{})
	const body = `{"model":"m","prompt":"é \u0000","stream":true}`
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != body || r.URL.String() != "/v1/completions?a=b%20c" || r.ContentLength != int64(len(body)) {
			t.Errorf("the backend got %q of %d bytes at %s, %v", got, r.ContentLength, r.URL, err)
		}
		want := http.Header{
			"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=b"}, "Baggage": {"k=v"},
			"X-Request-Id": {"id"}, "Authorization": {"Bearer x"}, "X-Many": {"1", "2"},
		}
		for k, v := range want {
			if d := cmp.Diff(v, r.Header[k]); d != "" {
				t.Errorf("%s:%s", k, d)
			}
		}
		if r.Header.Get("Connection") != "" || r.Header.Get("X-Hop") != "" || r.Header["User-Agent"] != nil || r.Header["Accept-Encoding"] != nil {
			t.Errorf("headers of one connection or of the proxy's own came along: %v", r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Retry-After", "7")
		rc := http.NewResponseController(w)
		for i := range 5 {
			fmt.Fprintf(w, "data: %d\xff\x00\n\n", i)
			_ = rc.Flush()
			<-taken
		}
	})
	_, s := start(t, "round-robin", "a", up)
	resp := post(t, s.URL+"/v1/completions?a=b%20c", body, http.Header{
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=b"}, "Baggage": {"k=v"},
		"X-Request-Id": {"id"}, "Authorization": {"Bearer x"}, "X-Many": {"1", "2"}, "Connection": {"X-Hop"}, "X-Hop": {"1"},
		"User-Agent": nil, "Accept-Encoding": nil,
	})
	if resp.StatusCode != 200 || resp.Header.Get("Retry-After") != "7" || resp.Header.Get("X-Goodput-Replica") != "0" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	in := bufio.NewReader(resp.Body)
	for i := range 5 {
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\xff\x00\n", i) {
			t.Fatalf("event %d: %q %v", i, line, err)
		}
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		taken <- struct{}{}
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("behind the last event: %q %v", rest, err)
	}
}

// A body beyond what is looked into goes through whole.
func TestLargeBody(t *testing.T) {
	var sum [32]byte
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		sum = [32]byte(h.Sum(nil))
		fmt.Fprintf(w, "%d %v", n, err)
	})
	_, s := start(t, "prefix-hash", "a", up)
	body := `{"prompt":"` + strings.Repeat("x", 9<<20) + `"}`
	got, err := io.ReadAll(post(t, s.URL, body, nil).Body)
	if want := fmt.Sprintf("%d <nil>", len(body)); err != nil || string(got) != want || sum != sha256.Sum256([]byte(body)) {
		t.Errorf("%s %v, want %s", got, err, want)
	}
}

// An answer that the backend broke off never looks whole, with a length or without.
func TestBrokenAnswer(t *testing.T) {
	for _, length := range []string{"", "100"} {
		up := backend(t, func(w http.ResponseWriter, _ *http.Request) {
			if length != "" {
				w.Header().Set("Content-Length", length)
			}
			fmt.Fprint(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		p, s := start(t, "round-robin", "a", up)
		got, err := io.ReadAll(post(t, s.URL, "{}", nil).Body)
		if err == nil || string(got) != "data: 1\n\n" {
			t.Errorf("length %q: got %q, %v; want the part and an error", length, got, err)
		}
		s.Close() // waits for the handler
		if l := p.Loads()[0]; l.Outstanding != 0 || l.Answering != 0 {
			t.Errorf("left on the books: %+v", l)
		}
	}
}

// A client that leaves takes its request out of the backend.
func TestClientLeaves(t *testing.T) {
	gone := make(chan error, 1)
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	})
	_, s := start(t, "round-robin", "a", up)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = resp.Body.Close()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Backends that can't be connected to are left out; without any there is a clear
// answer, and no request goes back to where it came from.
func TestNoWayOut(t *testing.T) {
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	alive := backend(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "well") })
	_, s := start(t, "round-robin", "a", dead.URL, alive)
	var got []int
	for range 5 {
		got = append(got, post(t, s.URL, "{}", nil).StatusCode)
	}
	if d := cmp.Diff([]int{502, 200, 200, 200, 200}, got); d != "" {
		t.Error(d)
	}
	_, s = start(t, "round-robin", "a", dead.URL)
	post(t, s.URL, "{}", nil)
	resp := post(t, s.URL, "{}", nil)
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "no backend takes requests") {
		t.Errorf("%d %s %v", resp.StatusCode, text, err)
	}

	var s2 *httptest.Server
	back := backend(t, func(w http.ResponseWriter, r *http.Request) { s2.Config.Handler.ServeHTTP(w, r) })
	_, s2 = start(t, "round-robin", "b", back)
	if resp := post(t, s2.URL, "{}", nil); resp.StatusCode != 508 {
		t.Errorf("a loop ends with %d", resp.StatusCode)
	}
	if resp := post(t, s2.URL, "{}", http.Header{"X-Goodput-Via": {"1, 2, 3, 4, 5, 6, 7, 8"}}); resp.StatusCode != 508 {
		t.Errorf("a chain of eight ends with %d", resp.StatusCode)
	}
}

// A flood of headers of a backend costs its request, and a proxy that leads to itself ends
// with a clear answer: neither leaves anything behind.
func TestFloodsAndLoops(t *testing.T) {
	up := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 400 {
			w.Header().Set(fmt.Sprint("X-Flood-", i), strings.Repeat("x", 1<<10))
		}
		fmt.Fprint(w, "well")
	})
	p, s := start(t, "round-robin", "a", up)
	text, err := io.ReadAll(post(t, s.URL, "{}", nil).Body)
	if err != nil || !strings.Contains(string(text), "gave no answer") {
		t.Errorf("a flood of headers: %s, %v", text, err)
	}
	if l := p.Loads()[0]; l.Outstanding != 0 {
		t.Errorf("left on the books: %+v", l)
	}
	var itself *httptest.Server
	way := backend(t, func(w http.ResponseWriter, r *http.Request) { itself.Config.Handler.ServeHTTP(w, r) })
	p, itself = start(t, "least-outstanding", "a", way, way)
	for range 20 {
		if resp := post(t, itself.URL, "{}", nil); resp.StatusCode != http.StatusLoopDetected {
			t.Fatalf("a loop ends with %d", resp.StatusCode)
		}
	}
	itself.Close() // waits for the handlers
	for i, l := range p.Loads() {
		if l.Outstanding != 0 {
			t.Errorf("backend %d has %+v", i, l)
		}
	}
}

// Prompts that begin alike go to one backend, sessions stay, and rules that look at
// engines follow their metrics.
func TestRulesHaveTheirSignals(t *testing.T) {
	named := func(name, metrics string) string {
		return backend(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				fmt.Fprint(w, metrics)
				return
			}
			fmt.Fprint(w, name)
		})
	}
	busy := named("0", "vllm:num_requests_running{model_name=\"a\"} 3\nvllm:num_requests_running{model_name=\"b\"} 4\nvllm:num_requests_waiting 5\nvllm:kv_cache_usage_perc 0.5\n")
	idle := named("1", "sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\nsglang:token_usage 0.1\n")
	lying := named("2", "vllm:num_requests_running -5\nvllm:num_requests_waiting NaN\nvllm:kv_cache_usage_perc 17\n")
	ask := func(s *httptest.Server, prompt, session string) string {
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"max_tokens":5}`, prompt)
		b, err := io.ReadAll(post(t, s.URL, body, http.Header{"X-Session-Id": {session}}).Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	places := func(s *httptest.Server, prompt, session func(i int) string) (out []string) {
		for i := range 24 {
			out = append(out, ask(s, prompt(i), session(i)))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	long := strings.Repeat("the same beginning ", 100)
	numbered := func(i int) string { return fmt.Sprint(i) }
	p, s := start(t, "consistent-hash:key=prefix", "a", busy, idle, lying)
	if got := places(s, func(i int) string { return long + fmt.Sprint(i) }, numbered); len(got) != 1 {
		t.Errorf("one prefix is at %v", got)
	}
	if got := places(s, func(i int) string { return fmt.Sprint(i) + long }, numbered); len(got) != 3 {
		t.Errorf("24 prefixes are at %v", got)
	}
	for i, l := range p.Loads() {
		if l.Outstanding != 0 || l.Tokens != 0 {
			t.Errorf("backend %d has %+v", i, l)
		}
	}
	_, s = start(t, "session", "a", busy, idle, lying)
	if got := places(s, numbered, func(int) string { return "one" }); len(got) != 1 {
		t.Errorf("one session is at %v", got)
	}
	p, s = start(t, "kv-queue:waiting=1,running=1", "a", busy, idle)
	if got := places(s, numbered, numbered); !slices.Equal(got, []string{"1"}) {
		t.Errorf("with a busy and an idle engine requests are at %v", got)
	}
	if l := p.Loads()[0]; l.Running != 7 || l.Waiting != 5 || l.KVUsed != 0.5 || !l.AsOf.Known() {
		t.Errorf("saw %+v of the busy engine", l)
	}
	p, s = start(t, "kv-queue", "a", lying, busy)
	places(s, numbered, numbered)
	if l := p.Loads()[0]; l.AsOf.Known() {
		t.Errorf("believed %+v", l)
	}
}

func TestNewRefuses(t *testing.T) {
	loop, err := clock.NewReal(clock.Speed(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rule, id string
		backends []string
		says     string
	}{
		"no backend":   {"random", "a", nil, "at least one"},
		"not a URL":    {"random", "a", []string{"127.0.0.1:9000"}, "write it as http"},
		"with a query": {"random", "a", []string{"http://x?y"}, "write it as http"},
		"a password":   {"random", "a", []string{"http://u:p@x"}, "write it as http"},
		"no name":      {"random", "", []string{"http://x"}, "need a word"},
		"two names":    {"random", "a,b", []string{"http://x"}, "need a word"},
		"cache events": {"dynamo-kv", "a", []string{"http://x"}, "index=approx"},
		"adapters":     {"lora-affinity", "a", []string{"http://x"}, "which adapters"},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := router.New(c.rule, 1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = proxy.New(proxy.Config{Policy: policy, Backends: c.backends, Stamp: loop, ID: c.id})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// What a backend tells with an answer counts from then on, and goes to those clients only
// that asked for it. A rule that reads no load asks for none.
func TestLoadComesWithAnswers(t *testing.T) {
	const told = "TEXT named_metrics.kv_cache_usage_perc=0.9, named_metrics.num_requests_waiting=40"
	up := backend(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprint(w, "vllm:num_requests_running 2\nvllm:num_requests_waiting 0\nvllm:kv_cache_usage_perc 0.1\n")
			return
		}
		if r.Header.Get("Endpoint-Load-Metrics-Format") != "" {
			w.Header().Set("Endpoint-Load-Metrics", told)
		}
		fmt.Fprint(w, "ok")
	})
	p, s := start(t, "kv-queue", "a", up)
	if got := post(t, s.URL, "{}", nil).Header.Get("Endpoint-Load-Metrics"); got != "" {
		t.Errorf("a client that has not asked was told %q", got)
	}
	post(t, s.URL, "{}", nil) // which is picked for by what the first has brought
	if l := p.Loads()[0]; l.KVUsed != 0.9 || l.Waiting != 40 || l.Running != 2 {
		t.Errorf("%+v", l)
	}
	if got := post(t, s.URL, "{}", http.Header{"Endpoint-Load-Metrics-Format": {"TEXT"}}).Header.Get("Endpoint-Load-Metrics"); got != told {
		t.Errorf("a client that has asked was told %q", got)
	}
	_, s = start(t, "round-robin", "a", up)
	if got := post(t, s.URL, "{}", nil).Header.Get("Endpoint-Load-Metrics"); got != "" {
		t.Errorf("a rule that reads no load has asked, and the client was told %q", got)
	}
}
