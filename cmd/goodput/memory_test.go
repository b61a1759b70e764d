package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// mostMemory is what a run may take at its peak, however many requests it has.
const mostMemory = 300 << 20

// peak runs the command with args, and returns the most memory that it had, in bytes.
func peak(t testing.TB, args ...string) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the unit of ru_maxrss is known of Linux only")
	}
	cmd := command(t, "goodput", append([]string{"run", "--out", filepath.Join(t.TempDir(), "run")}, args...)...)
	// 4: the generator was late, which is another matter.
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 4 {
		t.Fatalf("%v:\n%s", err, out)
	}
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}

// instant answers at once, with two tokens; read takes the bytes of prompts.
func instant(t testing.TB) (url string, read *atomic.Int64) {
	t.Helper()
	read = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if read.Add(n); err != nil {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		const chunk = "data: {\"choices\":[{\"index\":0,\"text\":\" word\",\"finish_reason\":%s}]}\n\n"
		fmt.Fprintf(w, chunk+chunk, "null", `"length"`)
		io.WriteString(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL, read
}

// A run of four times as many requests takes no more memory.
func TestMemoryDoesNotDependOnLength(t *testing.T) {
	if testing.Short() {
		t.Skip("runs 500,000 requests")
	}
	run := func(n int) int64 {
		return peak(t, "--request-rate", "200", "--num-prompts", strconv.Itoa(n), "--replicas", "8",
			"--dataset-name", "prefix_repetition", "--prefix-repetition-prefix-len", "32",
			"--prefix-repetition-suffix-len", "32", "--prefix-repetition-output-len", "4")
	}
	few, many := run(100_000), run(400_000) // both keep as many values as they ever will
	t.Logf("100,000 requests take %d MB, 400,000 %d MB", few>>20, many>>20)
	if many > mostMemory || float64(many) > 1.25*float64(few) {
		t.Errorf("400,000 requests take %d MB, 100,000 %d MB", many>>20, few>>20)
	}
}

// Prompts of 100,000 tokens (half a megabyte) are sent as they are made: 300 of them under way
// at once take far less than their size.
func TestLongPromptsAreStreamed(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 150 MB")
	}
	const n = 300
	run := func(tokens int) (memory, sent int64) {
		url, read := instant(t)
		memory = peak(t, "--base-url", url, "--model", "m", "--request-rate", "inf", "--num-prompts", strconv.Itoa(n),
			"--random-input-len", strconv.Itoa(tokens), "--random-output-len", "2")
		return memory, read.Load()
	}
	short, _ := run(100)
	long, sent := run(100_000)
	if sent < n*500_000 {
		t.Fatalf("only %d bytes were sent", sent)
	}
	t.Logf("%d MB of prompts took %d MB, short ones %d MB", sent>>20, long>>20, short>>20)
	if grown := long - short; grown > sent/4 || long > mostMemory {
		t.Errorf("%d MB of prompts took %d MB more memory than short ones", sent>>20, grown>>20)
	}
}

// BenchmarkMemoryOfARun measures the peak of runs of one and of ten lengths, against a
// server that answers at once.
func BenchmarkMemoryOfARun(b *testing.B) {
	for _, n := range []int{4_000, 20_000} {
		b.Run(fmt.Sprintf("%d requests", n), func(b *testing.B) {
			for b.Loop() {
				url, _ := instant(b)
				got := peak(b, "--base-url", url, "--model", "m", "--request-rate", "500", "--num-prompts", strconv.Itoa(n),
					"--random-input-len", "16", "--random-output-len", "2")
				b.ReportMetric(float64(got)/(1<<20), "MB-peak")
				if got > mostMemory {
					b.Errorf("%d requests took %d MB", n, got>>20)
				}
			}
		})
	}
}
