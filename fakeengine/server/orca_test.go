package server

import (
	"net/http"
	"strings"
	"testing"

	"goodput/loadgen/wire"
)

// TestLoadReport: who asks gets the engine's load in the format asked for, in the header of
// streams too.
func TestLoadReport(t *testing.T) {
	for _, c := range []struct{ name, format, want string }{
		{"text", "TEXT", "TEXT named_metrics.kv_cache_usage_perc=0, named_metrics.num_requests_waiting=1"},
		{"JSON, in small letters", "json", `JSON {"named_metrics":{"kv_cache_usage_perc":0,"num_requests_waiting":1}}`},
		{"a format that is not known", "BIN", ""},
		{"not asked for", "", ""},
	} {
		for _, stream := range []string{"false", "true"} {
			t.Run(c.name+", stream "+stream, func(t *testing.T) {
				g := start(t, func(*Config) {})
				q, err := http.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(`{"prompt":"one two","max_tokens":2,"stream":`+stream+`}`))
				if err != nil {
					t.Fatal(err)
				}
				if c.format != "" {
					q.Header.Set(wire.LoadFormatHeader, c.format)
				}
				w := newRecorder()
				g.Handler().ServeHTTP(w, q)
				if got := w.header.Get(wire.LoadHeader); w.status != http.StatusOK || got != c.want {
					t.Errorf("status %d, load %q, want %q", w.status, got, c.want)
				}
			})
		}
	}
}
