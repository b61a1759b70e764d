package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// haproxyTrying may retry, by MORE, what has not answered in half a second.
const haproxyTrying = `
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 500ms
  option http-no-delay
  MORE
frontend f
  bind LISTEN
  default_backend b
backend b
  balance leastconn
SERVERS
`

// diagnosed are the names of what a report finds.
func diagnosed(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(printed(t, "report", dir, "--format", "json"))
	if err != nil {
		t.Fatal(err)
	}
	var j struct {
		Diagnoses []struct{ Name, Evidence, Remedy string }
	}
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range j.Diagnoses {
		t.Logf("%s: %s -> %s", d.Name, d.Evidence, d.Remedy)
		if d.Evidence == "" || d.Remedy == "" {
			t.Errorf("%s has no evidence or no remedy", d.Name)
		}
		names = append(names, d.Name)
	}
	return names
}

// TestE2EFailures: what real routers make of slow engines, failing engines and clients
// that leave is named, and with another setting of the same router it is not.
func TestE2EFailures(t *testing.T) {
	endToEnd(t, "nginx", "haproxy")
	fill := func(config, more, line string, addrs []string) string {
		list := ""
		for i, a := range addrs {
			list += strings.NewReplacer("NAME", string(rune('a'+i)), "ADDR", a).Replace(line)
		}
		return strings.NewReplacer("SERVERS", list, "MORE", more).Replace(config)
	}
	byHAProxy := func(more string) func(*testing.T, []string) string {
		return func(t *testing.T, addrs []string) string {
			return haproxy(t, fill(haproxyTrying, more, "  server NAME ADDR\n", addrs))
		}
	}
	byNginx := func(t *testing.T, addrs []string) string {
		return nginx(t, fill(nginxConfig, "", "server ADDR; ", addrs))
	}
	faults := filepath.Join(t.TempDir(), "faults.yaml")
	if err := os.WriteFile(faults, []byte("- {at: 0s, replica: 0, http: 503}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Answers that take a second, in one piece, and half a second of patience: each is
	// given up and, by retry-on, asked for again.
	slow := []string{"--no-stream", "--random-output-len", "150", "--num-prompts", "30", "--request-rate", "10"}
	leaving := []string{"--random-output-len", "300", "--num-prompts", "30", "--request-rate", "10", "--request-timeout", "400ms"}
	short := []string{"--random-output-len", "64", "--num-prompts", "120", "--request-rate", "12"}
	for name, c := range map[string]struct {
		serve []string
		open  func(t *testing.T, addrs []string) string
		load  []string
		find  string
		want  bool
	}{
		"haproxy retries":          {nil, byHAProxy("retries 3\n  retry-on response-timeout"), slow, "retry-amplification", true},
		"haproxy gives up":         {nil, byHAProxy("retries 0"), slow, "retry-amplification", false},
		"a router that reads on":   {nil, readingOn, leaving, "orphaned-work", true},
		"nginx tells who left":     {nil, byNginx, leaving, "orphaned-work", false},
		"haproxy before one ruin":  {[]string{"--faults", faults}, byHAProxy(""), short, "black-hole", true},
		"haproxy before no ruin":   {nil, byHAProxy(""), short, "black-hole", false},
		"a router that cuts":       {nil, cutting, short, "silent-truncation", true},
		"a router that cuts aloud": {nil, breaking, short, "silent-truncation", false},
	} {
		t.Run(name, func(t *testing.T) {
			spans := freeAddr(t)
			engines := serve(t, 2, append([]string{"--replicas", "2", "--per-replica-ports", "--otlp-traces-endpoint", "http://" + spans + "/v1/traces"}, c.serve...)...)
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{
				"--base-url", "http://" + c.open(t, engines.addrs), "--random-input-len", "64", "--ignore-eos", "--max-error-rate", "1",
				"--otlp-http-listen", spans, "--metrics-url", "a=http://" + engines.addrs[0], "--metrics-url", "b=http://" + engines.addrs[1], "--out", dir,
			}, c.load...)
			_, code := run(t, args...)
			if code != 0 && code != 4 {
				t.Fatalf("exit %d", code)
			}
			if names := diagnosed(t, dir); slices.Contains(names, c.find) != c.want {
				t.Errorf("found %v; %s among them: want %v", names, c.find, c.want)
			}
		})
	}
}

// deafWriter goes on when the client has left.
type deafWriter struct{ http.ResponseWriter }

func (d deafWriter) Write(b []byte) (int, error) {
	_, _ = d.ResponseWriter.Write(b)
	return len(b), nil
}

// readingOn reads an answer to its end, whether or not anybody waits for it, as routers
// do that do not watch their clients.
func readingOn(t *testing.T, addrs []string) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: addrs[0]})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(deafWriter{w}, r.WithContext(context.WithoutCancel(r.Context())))
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// cutting ends the stream of each tenth request early and in good order.
func cutting(t *testing.T, addrs []string) string {
	addr, _ := faultyRouter(t, addrs[0], func(p *httputil.ReverseProxy, w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(&cutWriter{w, 2000}, r)
	})
	return addr
}

// breaking ends it by breaking the connection.
func breaking(t *testing.T, addrs []string) string {
	addr, _ := faultyRouter(t, addrs[0], func(p *httputil.ReverseProxy, w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(&cutWriter{w, 2000}, r)
		panic(http.ErrAbortHandler)
	})
	return addr
}
