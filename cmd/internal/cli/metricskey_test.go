package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"goodput/loadgen/plan"
)

// TestKeysOfMetrics: a page beside the load's URL gets the API key, one elsewhere does not,
// unless a key of its own is given.
func TestKeysOfMetrics(t *testing.T) {
	seen := make(chan string, 1)
	page := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) { seen <- q.Header.Get("Authorization") }))
	defer page.Close()
	file := t.TempDir() + "/key"
	if err := os.WriteFile(file, []byte("own\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, base, file, want string
	}{
		{"the same origin", page.URL + "/v1", "", "Bearer api"},
		{"another port", "http://127.0.0.1:1", "", ""},
		{"another scheme", strings.Replace(page.URL, "http", "https", 1), "", ""},
		{"a key of its own", "http://127.0.0.1:1", file, "Bearer own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := Env{Getenv: func(name string) string { return map[string]string{"OPENAI_API_KEY": "api"}[name] }}
			k, err := metricsKeys(&env, &plan.Plan{BaseURL: []string{c.base}, MetricsKeyFile: c.file, MetricsURL: []string{page.URL}})
			if err != nil {
				t.Fatal(err)
			}
			k.inner = http.DefaultTransport
			resp, err := (&http.Client{Transport: k}).Get(page.URL + "/metrics")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := <-seen; got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
	if _, err := metricsKeys(&Env{}, &plan.Plan{MetricsKeyFile: file + "x"}); err == nil {
		t.Error("a file that is not there was taken")
	}
}

func TestSweepRefusesWhatItHasNoRowsFor(t *testing.T) {
	for flag, p := range map[string]plan.Plan{
		"otlp-listen": {OTLPListen: ":4317"}, "otlp-http-listen": {OTLPHTTPListen: ":4318"}, "metrics-url": {MetricsURL: []string{"http://x/metrics"}},
	} {
		if err := checkSearched(&p); err == nil || !strings.Contains(err.Error(), "--"+flag) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := checkSearched(&plan.Plan{MetricsURL: []string{plan.NoMetrics}}); err != nil {
		t.Error(err)
	}
}
