package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// TestServerTiming holds what an answer says of its times against the ground truth: in its
// header, or, of a stream, in a trailer for those who read trailers. Of several choices
// nothing is said.
func TestServerTiming(t *testing.T) {
	for _, c := range []struct {
		name, body, te  string
		header, trailer bool
	}{
		{"whole", `{"prompt":"one two three","max_tokens":7}`, "", true, false},
		{"whole, of two", `{"prompt":"one two three","max_tokens":7,"n":2}`, "", false, false},
		{"stream", `{"prompt":"one two three","max_tokens":7,"stream":true}`, "trailers, deflate;q=0.5", false, true},
		{"stream, of two", `{"prompt":"one two three","max_tokens":7,"stream":true,"n":2}`, "trailers", false, false},
		{"stream for one who reads no trailers", `{"prompt":"one two three","max_tokens":7,"stream":true}`, "", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := start(t, func(cfg *Config) {
				cfg.Wall = func(at clock.Time) time.Time { return time.Unix(1_000_000, int64(at)/2) } // twice as fast as the wall
			})
			s := httptest.NewUnstartedServer(g.Handler())
			s.Config.ConnContext = ConnContext
			s.Start()
			defer s.Close()
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/completions", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.te != "" {
				q.Header.Set("Te", c.te)
			}
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			inHeader, told := wire.ParseTiming(resp.Header[wire.TimingHeader])
			inTrailer, later := wire.ParseTiming(resp.Trailer[wire.TimingHeader])
			if told != c.header || later != c.trailer {
				t.Fatalf("in the header %v, in the trailer %v", told, later)
			}
			got := inHeader
			if later {
				got = inTrailer
			}
			if !told && !later {
				return
			}
			s.Close() // waits for the handler, which writes the truth last
			f := g.truth.facts(t)[0]
			want := wire.Timing{
				Queue: *f.Scheduled/2 - *f.Queued/2, Prefill: *f.FirstToken/2 - *f.Scheduled/2, Decode: *f.LastToken/2 - *f.FirstToken/2,
				TTFT: *f.FirstToken/2 - *f.Received/2, E2E: *f.LastToken/2 - *f.Received/2,
			}
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
