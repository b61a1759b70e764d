package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"goodput/fakeengine/proxy"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// passages keeps what a proxy tells.
type passages chan proxy.Passage

func (p passages) Passage(x proxy.Passage) { p <- x }

// TestPassages: the backend's parent is the proxy's hop, which lies within its own span,
// whose parent is the caller; what is not sampled passes as it came and is not told of.
func TestPassages(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	const sampled = "00-" + trace + "-b7ad6b7169203331-01"
	for _, c := range []struct {
		name, header string
		status       int
		told         bool
	}{
		{"sampled", sampled, 200, true},
		{"an error", sampled, 500, true},
		{"not sampled", "00-" + trace + "-b7ad6b7169203331-00", 200, false},
		{"broken", "00-" + trace, 200, false},
		{"none", "", 200, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := make(chan string, 1)
			up := backend(t, func(w http.ResponseWriter, r *http.Request) {
				seen <- r.Header.Get("Traceparent")
				w.WriteHeader(c.status)
			})
			policy, err := router.New("round-robin", 1)
			if err != nil {
				t.Fatal(err)
			}
			loop, err := clock.NewReal(clock.Speed(1))
			if err != nil {
				t.Fatal(err)
			}
			loop.Start(0)
			told := make(passages, 1)
			p, err := proxy.New(proxy.Config{Policy: policy, Backends: []string{up}, Stamp: loop, ID: "a", Passages: told})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			s := httptest.NewServer(p)
			header := http.Header{}
			if c.header != "" {
				header.Set("Traceparent", c.header)
			}
			resp := post(t, s.URL+"/v1/completions", "{}", header)
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			s.Close() // waits for the handler, which tells last
			got := <-seen
			if !c.told {
				if got != c.header || len(told) != 0 {
					t.Errorf("the backend saw %q, %d passages", got, len(told))
				}
				return
			}
			x := <-told
			to, ok := wire.ParseTraceparent(got)
			if !ok || to.Trace != x.Caller.Trace || to.Parent != x.Hop || !to.Sampled || x.Caller.String() != c.header || x.Own == x.Hop {
				t.Errorf("the backend saw %q; %+v", got, x)
			}
			if !(x.From <= x.Asked && x.Asked <= x.Answered && x.Answered <= x.To) {
				t.Errorf("%v asked %v answered %v to %v", x.From, x.Asked, x.Answered, x.To)
			}
			if x.Status != c.status || x.Backend != up || x.Policy != policy.String() || x.Candidates != 1 || x.Path != "/v1/completions" {
				t.Errorf("%+v", x)
			}
		})
	}
}
