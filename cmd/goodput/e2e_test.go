package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"goodput/loadgen/record"
)

// endToEnd skips unless the environment asks for end-to-end tests and has the
// programs that they need.
func endToEnd(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("GOODPUT_E2E") == "" {
		t.Skip("end-to-end tests run with GOODPUT_E2E=1 (make e2e)")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Fatalf("GOODPUT_E2E is set, but %s is not installed", p)
		}
	}
}

// command returns a program that gets SIGTERM after some minutes, and is killed if
// that does not help. The test's own context would end before its clean-up does,
// and leave children of a killed program behind.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, name, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 15 * time.Second
	return c
}

// server is a running `goodput serve`.
type server struct {
	cmd   *exec.Cmd
	addrs []string // host:port, one per listener
	truth string   // ground-truth log
}

var listening = regexp.MustCompile(`http://([0-9.]+:[0-9]+)`)

// serve starts fake engines and waits until all listen.
func serve(t *testing.T, listeners int, args ...string) *server {
	t.Helper()
	s := &server{truth: filepath.Join(t.TempDir(), "truth.jsonl")}
	s.cmd = command(t, "goodput", append([]string{"serve", "--listen", "127.0.0.1:0", "--truth-log", s.truth}, args...)...)
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	for lines := bufio.NewScanner(out); len(s.addrs) < listeners && lines.Scan(); {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			s.addrs = append(s.addrs, m[1])
		}
	}
	if len(s.addrs) < listeners {
		t.Fatalf("goodput serve announced only %d of %d listeners", len(s.addrs), listeners)
	}
	return s
}

// stop ends the server in good order, so that its log is complete.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("goodput serve: %v", err)
	}
}

// truthLine is one line of the ground-truth log.
type truthLine struct {
	RequestID    string `json:"request_id"`
	Traceparent  string `json:"traceparent"`
	Replica      int    `json:"replica"`
	Status       int    `json:"status"`
	PromptTokens int32  `json:"prompt_tokens"`
	OutputTokens int32  `json:"output_tokens"`
	Received     int64  `json:"received_ns"`
	FirstToken   int64  `json:"first_token_ns"`
	FirstSent    int64  `json:"first_sent_ns"`
	LastSent     int64  `json:"last_sent_ns"`
}

func (s *server) truths(t *testing.T) map[string]truthLine {
	t.Helper()
	b, err := os.ReadFile(s.truth)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]truthLine{}
	for line := range bytes.Lines(b) {
		var l truthLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("truth log: %v in %s", err, line)
		}
		if _, twice := out[l.RequestID]; twice {
			t.Errorf("request %s reached an engine twice", l.RequestID)
		}
		out[l.RequestID] = l
	}
	return out
}

// runJSON is the part of `goodput run --json` that the tests read.
type runJSON struct {
	Run      string           `json:"run"`
	Requests int64            `json:"requests"`
	Outcomes map[string]int64 `json:"outcomes"`
	Metrics  map[string]struct {
		N    int64    `json:"n"`
		Mean *float64 `json:"mean"`
		P95  *float64 `json:"p95"`
		Max  *float64 `json:"max"`
	} `json:"metrics"`
	Health struct {
		Verdict string   `json:"verdict"`
		Why     []string `json:"why"`
	} `json:"health"`
}

// run executes goodput run and returns its JSON and exit code.
func run(t *testing.T, args ...string) (runJSON, int) {
	t.Helper()
	cmd := command(t, "goodput", append([]string{"run", "--json"}, args...)...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	var j runJSON
	if e := json.Unmarshal(out.Bytes(), &j); e != nil {
		t.Fatalf("goodput run: %v; output %q; exit %v\n%s", e, out.String(), err, diag.String())
	}
	t.Logf("goodput run: exit %d\n%s", cmd.ProcessState.ExitCode(), diag.String())
	return j, cmd.ProcessState.ExitCode()
}

// rows reads the recorded requests, by sequence number.
func rows(t *testing.T, dir string) []record.Request {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []record.Request
	seen := map[int64]bool{}
	err = r.Requests(func(q *record.Request) error {
		if seen[q.Seq] {
			t.Errorf("request %d is recorded twice", q.Seq)
		}
		seen[q.Seq] = true
		c := *q
		c.TokenGapsUS, c.ChunkTokens = nil, nil
		out = append(out, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// nginx starts nginx with the configuration and returns the address that the
// text's LISTEN stands for.
func nginx(t testing.TB, config string) string {
	t.Helper()
	dir := t.TempDir()
	addr := freeAddr(t)
	text := strings.ReplaceAll(config, "LISTEN", addr)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "nginx", "-p", dir, "-c", "nginx.conf", "-e", "stderr")
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

func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func waitFor(t testing.TB, addr string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing listens on %s: %v", addr, err)
		}
	}
}

// azureSlice returns an Azure 2023 trace of n rows: the published one if it is
// beside the checkout, else one of the same shape.
func azureSlice(t *testing.T, n int) string {
	t.Helper()
	shared := filepath.Join("..", "..", "..", "shared", "traces", "azure", "AzureLLMInferenceTrace_conv_2023.head300.csv")
	if b, err := os.ReadFile(shared); err == nil && bytes.Count(b, []byte("\n")) >= n {
		return shared
	}
	var b strings.Builder
	b.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\r\n")
	at := time.Date(2023, 11, 16, 18, 15, 46, 680590000, time.UTC)
	for i := range n {
		// Bursty gaps with a mean of 0.18 s, prompts and answers of uneven length.
		at = at.Add(time.Duration(40+(i*i*7919)%281) * time.Millisecond)
		fmt.Fprintf(&b, "%s,%d,%d\r\n", at.Format("2006-01-02 15:04:05.0000000"), 50+(i*i*104729)%2200, 10+(i*7907)%400)
	}
	name := filepath.Join(t.TempDir(), "azure.csv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// traceTimes reads the offsets of a trace file in seconds, by a parser of its
// own.
func traceTimes(t *testing.T, name string, n int) []float64 {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	var first time.Time
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n")[1:] {
		stamp, _, _ := strings.Cut(line, ",")
		at, err := time.Parse("2006-01-02 15:04:05.9999999", stamp)
		if err != nil {
			t.Fatal(err)
		}
		if first.IsZero() {
			first = at
		}
		if out = append(out, at.Sub(first).Seconds()); len(out) == n {
			return out
		}
	}
	t.Fatalf("%s has only %d rows", name, len(out))
	return nil
}

// duckdb runs the check of .ci/duckdb on a run directory.
func duckdb(t *testing.T, dir string) (out struct {
	Types                                  map[string]string
	N, DistinctSeq, OK, OutputTokens, Gaps int64
	TTFTP95, TPOTMean, E2EMax              float64
},
) {
	t.Helper()
	script := filepath.Join("..", "..", ".ci", "duckdb")
	if _, err := os.Stat(filepath.Join(script, "node_modules")); err != nil {
		t.Fatalf("DuckDB is not installed: run npm install in .ci/duckdb (%v)", err)
	}
	b, err := command(t, "node", filepath.Join(script, "check.mjs"), dir).CombinedOutput()
	if err != nil {
		t.Fatalf("DuckDB: %v\n%s", err, b)
	}
	var raw map[string]any
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatalf("DuckDB: %v in %s", err, b)
	}
	number := func(key string) float64 {
		v, err := strconv.ParseFloat(fmt.Sprint(raw[key]), 64)
		if err != nil {
			t.Fatalf("DuckDB: %s is %v", key, raw[key])
		}
		return v
	}
	out.Types = map[string]string{}
	for k, v := range raw["types"].(map[string]any) {
		out.Types[k] = fmt.Sprint(v)
	}
	out.N, out.DistinctSeq, out.OK = int64(number("n")), int64(number("distinct_seq")), int64(number("ok"))
	out.OutputTokens, out.Gaps = int64(number("output_tokens")), int64(number("gaps"))
	out.TTFTP95, out.TPOTMean, out.E2EMax = number("ttft_p95_ms"), number("tpot_mean_ms"), number("e2e_max_ms")
	return out
}
