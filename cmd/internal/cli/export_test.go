package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/genai"
)

// TestRunIsExported: a run tells a collector of itself when it is over, and its manifest
// says what became of that. A collector that refuses spoils nothing.
func TestRunIsExported(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
	}{{"taken", http.StatusOK}, {"refused", http.StatusBadRequest}} {
		t.Run(c.name, func(t *testing.T) {
			var traces, metrics atomic.Int64
			at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/v1/traces":
					traces.Add(1)
				case "/v1/metrics":
					metrics.Add(1)
				}
				w.WriteHeader(c.status)
			}))
			defer at.Close()
			dir := t.TempDir() + "/run"
			var out bytes.Buffer
			env := Env{
				Args:   []string{"run", "--request-rate", "50", "--num-prompts", "20", "--replicas", "1", "--out", dir, "--otlp-export", at.URL + "/v1/traces"},
				Stdout: io.Discard, Stderr: &out, Getenv: func(string) string { return "" },
			}
			if code := Main(env); code != exitOK {
				t.Fatalf("exit %d: %s", code, out.String())
			}
			stderr := out.String()
			r, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			m := r.Manifest.Counters
			want := map[string]int64{genai.CounterSpans: 20 * 5, genai.CounterSpansLost: 0, genai.CounterRowsUnsent: 0, genai.CounterMetricsLost: 0}
			if c.status != http.StatusOK {
				want = map[string]int64{genai.CounterSpans: 0, genai.CounterSpansLost: 20 * 5, genai.CounterRowsUnsent: 0, genai.CounterMetricsLost: 7}
			}
			got := map[string]int64{}
			for name := range want {
				got[name] = m[name]
			}
			if d := cmp.Diff(want, got); d != "" || traces.Load() == 0 || metrics.Load() != 1 {
				t.Errorf("%d exports of spans, %d of metrics, counters (-want +got):\n%s", traces.Load(), metrics.Load(), d)
			}
			if told := strings.Contains(stderr, "did not arrive"); told != (c.status != http.StatusOK) {
				t.Errorf("stderr: %s", stderr)
			}
		})
	}
}

func TestWhereRequestsWent(t *testing.T) {
	for base, want := range map[string]genai.Server{
		"http://10.0.0.1:8000": {Address: "10.0.0.1", Port: 8000}, "https://x/v1": {Address: "x", Port: 443}, "http://[::1]": {Address: "[::1]", Port: 80},
		"unix:///run/a.sock": {Address: "/run/a.sock"},
	} {
		if got := serverOf(base); got != want {
			t.Errorf("%s: %+v, want %+v", base, got, want)
		}
	}
}

func TestHeadersOfTheExport(t *testing.T) {
	env := Env{Getenv: func(string) string { return "X-Key=a%20b, authorization=Bearer%20x,,odd" }}
	if d := cmp.Diff(map[string]string{"x-key": "a b", "authorization": "Bearer x"}, exportHeaders(&env)); d != "" {
		t.Error(d)
	}
}
