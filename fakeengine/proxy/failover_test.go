package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// A request that a provisioned backend refuses goes to the standard one, whole, and so
// does one of a weighted draw; with no such rule, or if all refuse, the client sees it.
func TestRefusedGoesElsewhere(t *testing.T) {
	refuses := backend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "9")
		w.Header().Set("X-Only-Here", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, "no")
	})
	echoes := backend(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	const body = `{"prompt":"a"}`
	for _, c := range []struct {
		name, rule string
		backends   []string
		status     int
		text       string
		replica    string
	}{
		{"spillover", "ptu-spillover:hold=0s", []string{refuses, echoes}, 200, body, "1"},
		{"failover", "litellm-simple-shuffle:weights=1000/0.001,failover=1", []string{refuses, echoes}, 200, body, "1"},
		{"all refuse", "ptu-spillover:hold=0s", []string{refuses, refuses}, 429, "no", "1"},
		{"no such rule", "round-robin", []string{refuses, echoes}, 429, "no", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, s := start(t, c.rule, "a", c.backends...)
			resp := post(t, s.URL, body, nil)
			text, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != c.status || string(text) != c.text || resp.Header.Get("X-Goodput-Replica") != c.replica {
				t.Errorf("status %d from %q: %q, %v", resp.StatusCode, resp.Header.Get("X-Goodput-Replica"), text, err)
			}
			if c.status == 200 && resp.Header.Get("X-Only-Here")+resp.Header.Get("Retry-After") != "" {
				t.Error("headers of the refusal are left")
			}
			s.Close()
			for i, l := range p.Loads() {
				if l.Outstanding != 0 || l.Tokens != 0 {
					t.Errorf("backend %d has %+v", i, l)
				}
			}
		})
	}
}
