package cli

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"goodput/fakeengine/proxy/pickertest"
	"goodput/loadgen/plan"
)

// A load goes through the proxy where a picker says: every prompt to the second of two
// servers. All of it is counted.
func TestProxyAsksPicker(t *testing.T) {
	p := plan.Default()
	first, second := newServeRig(t, p, 1), newServeRig(t, p, 1)
	var asked atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pickertest.Serve(l, pickertest.Duplex(func(a pickertest.Asked) pickertest.Choice {
		if a.Body == nil {
			return pickertest.To(a.Subset[0])
		}
		if strings.HasSuffix(a.Header[":path"], "/completions") {
			asked.Add(1)
		}
		return pickertest.To(a.Subset[1])
	}, nil)))

	out, in := io.Pipe()
	signals := make(chan os.Signal, 1)
	ended := make(chan int, 1)
	go func() {
		code := Main(Env{
			Args: []string{
				"proxy", "--listen", "127.0.0.1:0", "--ext-proc", l.Addr().String(), "--ext-proc-timeout", "1m",
				"--backend", first.url, "--backend", second.url,
			},
			Stdout: in, Stderr: io.Discard, Getenv: func(string) string { return "" },
			Catch: func() (<-chan os.Signal, func()) { return signals, func() {} },
		})
		_ = in.Close()
		ended <- code
	}()
	lines := bufio.NewScanner(out)
	var url string
	for at := regexp.MustCompile(`listening on (\S+)`); url == "" && lines.Scan(); {
		if m := at.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		t.Fatalf("the proxy did not start: exit code %d", <-ended)
	}
	var report, diag bytes.Buffer
	code := Main(Env{
		Args: []string{
			"run", "--base-url", url, "--request-rate", "50", "--num-prompts", "20", "--random-input-len", "16", "--random-output-len", "4",
			"--ignore-eos", "--metrics-url", "none", "--max-error-rate", "0", "--out", t.TempDir() + "/run",
		},
		Stdout: &report, Stderr: &diag, Getenv: func(string) string { return "" },
	})
	signals <- os.Interrupt
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if c := <-ended; c != 0 {
		t.Errorf("the proxy ended with %d", c)
	}
	if code != 0 && code != 4 { // the machine may have been too busy for a valid run
		t.Fatalf("exit code %d\n%s%s", code, report.String(), diag.String())
	}
	if n := len(second.take()); n != 20 || len(first.take()) != 0 || asked.Load() != 20 {
		t.Errorf("%d requests are at the second server, %d were asked for", n, asked.Load())
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, " picked") || strings.Contains(all, "failed") || strings.Contains(all, "timed out") {
		t.Errorf("the proxy says %q", all)
	}
}
