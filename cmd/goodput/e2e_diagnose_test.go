package main

import (
	"strings"
	"testing"
)

// nginxDefaults is what a router of streams has that nobody configured as one.
const nginxDefaults = `
pid nginx.pid; error_log stderr warn; worker_processes 1; daemon off;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream replicas { SERVERS }
  server { listen LISTEN; location / { proxy_pass http://replicas; } }
}
`

// haproxyHolding lacks option http-no-delay, which MORE may add.
const haproxyHolding = `
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  MORE
frontend f
  bind LISTEN
  default_backend b
backend b
  balance leastconn
SERVERS
`

// TestE2EDiagnoses runs a small load through real routers, of which two hold back the
// streams as they are configured, and expects the report to say so, and to say it of no
// other. The engines tell what they did by spans. A machine that is busy makes the run
// late, which changes nothing of what routers hold back.
func TestE2EDiagnoses(t *testing.T) {
	endToEnd(t, "nginx", "haproxy")
	const blocks = "the stream comes in blocks"
	servers := func(format string, addrs []string) string {
		var b strings.Builder
		for i, a := range addrs {
			b.WriteString(strings.NewReplacer("NAME", string(rune('a'+i)), "ADDR", a).Replace(format))
		}
		return b.String()
	}
	fill := func(config, more, list string) string {
		return strings.NewReplacer("SERVERS", list, "MORE", more).Replace(config)
	}
	const line = "  server NAME ADDR\n"
	for name, c := range map[string]struct {
		open func(t *testing.T, addrs []string) string
		want bool
	}{
		"nginx as it comes": {func(t *testing.T, addrs []string) string {
			return nginx(t, fill(nginxDefaults, "", servers("server ADDR; ", addrs)))
		}, true},
		"nginx without buffers": {func(t *testing.T, addrs []string) string {
			return nginx(t, fill(nginxConfig, "", servers("server ADDR; ", addrs)))
		}, false},
		"haproxy as it comes": {func(t *testing.T, addrs []string) string {
			return haproxy(t, fill(haproxyHolding, "", servers(line, addrs)))
		}, true},
		"haproxy without delay": {func(t *testing.T, addrs []string) string {
			return haproxy(t, fill(haproxyHolding, "option http-no-delay", servers(line, addrs)))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			spans := freeAddr(t)
			engines := serve(t, 2, "--replicas", "2", "--per-replica-ports", "--otlp-traces-endpoint", "http://"+spans+"/v1/traces")
			router := c.open(t, engines.addrs)
			dir := t.TempDir() + "/run"
			j, code := run(t, "--base-url", "http://"+router, "--dataset-name", "random", "--random-input-len", "64", "--random-output-len", "64",
				"--num-prompts", "40", "--request-rate", "8", "--ignore-eos", "--otlp-http-listen", spans, "--out", dir)
			if code != 0 && code != 4 || j.Outcomes["ok"] != 40 {
				t.Fatalf("exit %d, outcomes %v", code, j.Outcomes)
			}
			report, err := command(t, "goodput", "report", dir).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, report)
			}
			if found := strings.Contains(string(report), blocks); found != c.want {
				t.Errorf("found %q: %v, want %v\n%s", blocks, found, c.want, report)
			}
		})
	}
}
