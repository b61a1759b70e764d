package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// proxyBefore starts goodput proxy before a server, and returns its address.
func proxyBefore(t testing.TB, rule string, servers ...string) string {
	t.Helper()
	addr := freeAddr(t)
	args := []string{"proxy", "--listen", addr, "--router", rule}
	for _, s := range servers {
		args = append(args, "--backend", "http://"+s)
	}
	cmd := command(t, "goodput", args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	waitFor(t, addr)
	return addr
}

// added is the time to the first token by the client, less that by the server, of streams
// through what via returns the URL of.
func added(b *testing.B, rate int, via func(server string) string) []float64 {
	b.Helper()
	url, end := paced(b)
	out, rows := offer(b, 4*rate, "--base-url", "http://"+via(strings.TrimPrefix(url, "http://")), "--backend", "openai", "--model", "m", "--request-rate", strconv.Itoa(rate),
		"--random-input-len", "16", "--random-output-len", strconv.Itoa(pacedTokens), "--metrics-url", "none", "--check-tokens", "off")
	took := end()
	for i := range rows {
		r := &rows[i]
		out.errors = append(out.errors, float64(r.FirstToken-r.Dispatched)/1e6-float64(took[r.RequestID])/1e6)
	}
	return out.errors
}

// BenchmarkProxy is what goodput proxy adds to the time to the first token, beside what
// nginx adds on the same load: 60 streams/s of 128 tokens. Each is what requests through it
// take beyond the server's own time, less what they take without it. Rounds take turns, so
// that a busy machine is one for all.
func BenchmarkProxy(b *testing.B) {
	if _, err := exec.LookPath("nginx"); err != nil {
		b.Skip("nginx is not installed")
	}
	const rate, rounds = 60, 3
	for b.Loop() {
		var direct, nginx, proxy []float64
		for range rounds {
			direct = append(direct, added(b, rate, func(s string) string { return s })...)
			nginx = append(nginx, added(b, rate, func(s string) string { return nginxBefore(b, "", s) })...)
			proxy = append(proxy, added(b, rate, func(s string) string { return proxyBefore(b, "least-outstanding", s) })...)
		}
		for _, q := range []struct {
			name string
			q    float64
		}{{"p50", .5}, {"p99", .99}} {
			base := at(q.q, direct)
			n, p := at(q.q, nginx)-base, at(q.q, proxy)-base
			b.ReportMetric(base, "direct-ms-"+q.name)
			b.ReportMetric(n, "nginx-added-ms-"+q.name)
			b.ReportMetric(p, "proxy-added-ms-"+q.name)
			if n > 0 { // otherwise there is nothing to compare with
				b.ReportMetric(p/n, "x-nginx-"+q.name)
			}
		}
	}
}
