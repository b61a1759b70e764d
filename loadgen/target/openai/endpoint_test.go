package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"goodput/loadgen/target"
)

// Each request goes to the next URL, and a further attempt at it to the one behind that;
// the result says where it went, whether or not there was a connection.
func TestRequestsGoToTheURLsInTurn(t *testing.T) {
	peers := make([]*peer, 2)
	urls := make([]string, 3)
	for i := range peers {
		peers[i] = listen(t, func(c *conn) {
			for {
				if req, _ := c.request(); req == nil {
					return
				}
				complete(c)
			}
		})
		urls[i] = peers[i].url()
	}
	gone := listen(t, func(*conn) {})
	gone.l.Close()
	urls[2] = gone.url()
	r := newRig(t, "", func(c *Config) { c.BaseURLs = urls })
	for seq := range uint64(6) {
		for attempt := range 3 {
			req := r.request()
			req.Seq, req.Attempt = seq, attempt
			rec := newRecorder(t)
			r.Start(req, rec)
			r.loop.await(rec)
			want := (int(seq) + attempt) % 3
			cause := target.CauseEOF
			if want == 2 {
				cause = target.CauseConnect
			}
			if n := rec.result.Net; n == nil || n.URL != want || rec.result.Cause != cause {
				t.Errorf("request %d, attempt %d: net %+v, %+v; want URL %d", seq, attempt, n, rec.result, want)
			}
		}
	}
	for i, p := range peers {
		if n := p.requests.Load(); n != 6 {
			t.Errorf("server %d got %d of 18 attempts", i, n)
		}
	}
}

// What is asked before the load is asked of each server.
func TestEachServerIsAsked(t *testing.T) {
	server := func(models string, reset int, asked *[]string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			*asked = append(*asked, r.Method+" "+r.URL.Path)
			if r.Method == http.MethodPost {
				w.WriteHeader(reset)
			}
			io.WriteString(w, models)
		}))
		t.Cleanup(s.Close)
		return s
	}
	list := func(names ...string) string {
		var b strings.Builder
		for i, n := range names {
			if i > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `{"id":%q}`, n)
		}
		return `{"data":[` + b.String() + `]}`
	}
	tests := []struct {
		name          string
		first, second string
		reset         int
		models        string
		err           [2]string // of Models, ResetPrefixCache; "" is none
	}{
		{"alike", list("a"), list("a"), 200, "a", [2]string{}},
		{"some in common", list("a", "b", "c"), list("c", "b"), 200, "b c", [2]string{}},
		{"none in common", list("a"), list("b"), 200, "", [2]string{"serves no model", ""}},
		{"second cannot forget", list("a"), list("a"), 404, "a", [2]string{"", "VLLM_SERVER_DEV_MODE=1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var asked [2][]string
			a, b := server(tt.first, 200, &asked[0]), server(tt.second, tt.reset, &asked[1])
			r := newRig(t, "", func(c *Config) { c.BaseURLs = []string{a.URL, b.URL} })
			names, err := r.Models(t.Context())
			if got := strings.Join(names, " "); got != tt.models || !says(err, tt.err[0]) {
				t.Errorf("models %q, %v", got, err)
			}
			if err := r.ResetPrefixCache(t.Context()); !says(err, tt.err[1]) || err != nil && !strings.Contains(err.Error(), b.URL) {
				t.Errorf("resetting: %v", err)
			}
			for i := range asked {
				if got := strings.Join(asked[i], ", "); got != "GET /v1/models, POST /reset_prefix_cache" {
					t.Errorf("server %d was asked %s", i, got)
				}
			}
			b.Close()
			if err := r.Reachable(t.Context()); !says(err, b.URL) {
				t.Errorf("reaching two of which one is down: %v", err)
			}
		})
	}
}

// says reports whether err has the text; "" stands for no error.
func says(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), text)
}
