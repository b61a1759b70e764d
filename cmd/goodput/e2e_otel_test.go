package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goodput/loadgen/record"
)

// TestE2ESpansOfAnotherLanguage joins the spans of a server whose SDK, exporters and
// encodings are not those of Go, by each way that OTLP knows.
func TestE2ESpansOfAnotherLanguage(t *testing.T) {
	endToEnd(t, "node")
	folder := filepath.Join("..", "..", ".ci", "otel")
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err != nil {
		t.Skipf("the SDK is not installed: run npm install in .ci/otel (%v)", err)
	}
	for _, c := range []struct{ kind, flag, path string }{
		{"grpc", "--otlp-listen", ""},
		{"proto", "--otlp-http-listen", "/v1/traces"},
		{"json", "--otlp-http-listen", "/v1/traces"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			const n = 60
			spansAt := freeAddr(t)
			cmd := command(t, "node", filepath.Join(folder, "server.mjs"), c.kind, "http://"+spansAt+c.path)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			port, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir() + "/run"
			_, code := run(t, "--base-url", "http://127.0.0.1:"+strings.TrimSpace(port), "--random-input-len", "32", "--random-output-len", "8",
				"--num-prompts", fmt.Sprint(n), "--request-rate", "30", "--ignore-eos", "--metrics-url", "none", c.flag, spansAt, "--drain", "20s", "--out", dir)
			_ = in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("the server: %v", err)
			}
			if code != 0 && code != 4 { // 4: a busy machine, which spoils times and no spans
				t.Fatalf("exit %d", code)
			}
			all := rows(t, dir)
			for _, r := range all {
				if r.Spans != record.SpanJoined || r.ServerSource != "otlp" || r.DTTFT == record.Null || r.DE2E == record.Null || r.ServerTTFT < 15e6 {
					t.Errorf("request %d: match %d, source %q, d_ttft %d, d_e2e %d, the server's ttft %d", r.Seq, r.Spans, r.ServerSource, r.DTTFT, r.DE2E, r.ServerTTFT)
				}
			}
			if len(all) != n {
				t.Errorf("%d rows", len(all))
			}
		})
	}
}
