package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"goodput/loadgen/record"
)

// nightly skips unless the environment asks for the routers that take long to install, and
// has the program.
func nightly(t *testing.T, program string) {
	t.Helper()
	if os.Getenv("GOODPUT_NIGHTLY") == "" {
		t.Skip("these run with make nightly")
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// caddy starts Caddy before servers; checks is what it does about one that fails.
func caddy(t *testing.T, checks string, servers ...string) string {
	t.Helper()
	dir, addr := t.TempDir(), freeAddr(t)
	config := fmt.Sprintf(`{
	admin off
	auto_https off
}
http://%s {
	bind 127.0.0.1
	reverse_proxy %s {
		lb_policy least_conn
		lb_retries 0
		%s
		flush_interval -1
	}
}
`, addr, strings.Join(servers, " "), checks)
	name := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := command(t, "caddy", "run", "--config", name, "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	began(t, c)
	waitFor(t, addr)
	return addr
}

// began starts a router, and has it stopped at the end.
func began(t *testing.T, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
}

var nightlyLoad = []string{
	"--dataset-name", "random", "--random-input-len", "256", "--random-output-len", "32", "--num-prompts", "120", "--request-rate", "20", "--ignore-eos",
	"--metrics-url", "none", "--max-error-rate", "1", "--model", "llama-3.1-8b", "--ready-check-timeout-sec", "0", "--check-tokens", "off",
}

// TestNightlyCaddy: streams come one by one and every engine is reached. Caddy 2.6.2 itself
// breaks off some answers before their first token (its log: "use of closed network
// connection") and ends them in good order: they must be recorded as truncated. With an
// engine that is gone, least connections without a check is a black hole: the dead one
// always has the fewest. With one only the first requests are lost.
func TestNightlyCaddy(t *testing.T) {
	nightly(t, "caddy")
	for _, c := range []struct {
		name, checks string
		dead         bool
		least, most  int64 // successes of 120
	}{
		{"four engines", "fail_duration 5s", false, 96, 120},
		{"one is dead, unchecked", "", true, 0, 85}, // a quarter would be its share
		{"one is dead, left out", "fail_duration 60s\n\t\tmax_fails 1", true, 90, 119},
	} {
		t.Run(c.name, func(t *testing.T) {
			engines := serve(t, 4, "--replicas", "4", "--per-replica-ports")
			servers := slices.Clone(engines.addrs)
			if c.dead {
				servers[3] = freeAddr(t)
			}
			dir := t.TempDir() + "/run"
			j, code := run(t, append(slices.Clone(nightlyLoad), "--base-url", "http://"+caddy(t, c.checks, servers...), "--out", dir)...)
			engines.stop(t)
			t.Logf("exit %d, outcomes %v, %d reached engines", code, j.Outcomes, engines.reached(t))
			if ok := j.Outcomes["ok"]; code != 0 && code != 4 || ok < c.least || ok > c.most {
				t.Errorf("exit %d, outcomes %v, want %d to %d successes", code, j.Outcomes, c.least, c.most)
			}
			if c.dead {
				return
			}
			all := slices.DeleteFunc(rows(t, dir), func(r record.Request) bool { return r.Outcome == record.Truncated })
			if n := len(all); int64(n) != j.Outcomes["ok"] {
				t.Errorf("outcomes %v: what Caddy broke off is truncated", j.Outcomes)
			}
			compareWithTruth(t, all, engines.truths(t), false)
			chunks, together := 0, 0
			for i := range all {
				chunks += int(all[i].Chunks)
				together += int(all[i].CoalescedTokens)
			}
			t.Logf("shares %.2f, %d of %d chunks came together", replicaShares(t, all, 4), together, chunks)
			if together*2 > chunks {
				t.Error("it holds back the stream")
			}
		})
	}
}

// TestNightlyPortkey: a gateway that is told its targets in a header of each request. It
// draws by weights, answers all, and hands on the trace context only because it is told to.
func TestNightlyPortkey(t *testing.T) {
	nightly(t, "node")
	folder, err := filepath.Abs("../../.ci/portkey")
	if err != nil {
		t.Fatal(err)
	}
	start := filepath.Join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js")
	if _, err := os.Stat(start); err != nil {
		t.Skip("the gateway is not installed: run npm install in .ci/portkey")
	}
	addr := freeAddr(t)
	c := command(t, "node", "-r", filepath.Join(folder, "loopback.cjs"), start, "--headless", "--port="+addr[strings.LastIndexByte(addr, ':')+1:])
	c.Env = append(os.Environ(), "NODE_ENV=production")
	began(t, c)
	waitFor(t, addr)
	for _, c := range []struct{ name, forward string }{{"told to forward", `"traceparent","x-request-id"`}, {"not told", ""}} {
		t.Run(c.name, func(t *testing.T) {
			engines := serve(t, 4, "--replicas", "4", "--per-replica-ports")
			var targets []string
			for _, a := range engines.addrs {
				targets = append(targets, fmt.Sprintf(`{"provider":"openai","api_key":"x","forward_headers":[%s],"custom_host":"http://%s/v1","weight":1}`, c.forward, a))
			}
			dir := t.TempDir() + "/run"
			j, code := run(t, append(slices.Clone(nightlyLoad), "--base-url", "http://"+addr, "--out", dir,
				"--header", `x-portkey-config={"strategy":{"mode":"loadbalance"},"targets":[`+strings.Join(targets, ",")+"]}")...)
			engines.stop(t)
			all := rows(t, dir)
			t.Logf("exit %d, outcomes %v, %d reached engines; the first error: %q", code, j.Outcomes, engines.reached(t), all[0].Error)
			if code != 0 && code != 4 || j.Outcomes["ok"] != j.Requests || engines.reached(t) != len(all) {
				t.Fatalf("exit %d, outcomes %v, %d reached engines", code, j.Outcomes, engines.reached(t))
			}
			if n := traced(t, engines); c.forward == "" && n > 0 || c.forward != "" && n != len(all) {
				t.Errorf("%d of %d trace contexts reached engines", n, len(all))
			}
		})
	}
}

// traced counts the requests that came to engines with a trace context.
func traced(t *testing.T, s *server) int {
	t.Helper()
	n := 0
	for _, l := range s.truths(t) {
		if l.Traceparent != "" {
			n++
		}
	}
	return n
}
