package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// BenchmarkVirtualRun is the whole path of a user's virtual run: 512 tokens in,
// 256 out if not said otherwise, 10 requests/s for each replica, Parquet written and the report read
// back from it. It reports simulated requests and output tokens per second of
// processor time, all threads counted, and the most memory that the process held.
func BenchmarkVirtualRun(b *testing.B) {
	for _, replicas := range []int{1, 4, 16} {
		for _, n := range []int{1000, 10_000, 100_000} {
			if replicas == 4 || n == 10_000 {
				b.Run(fmt.Sprintf("%dx%d", replicas, n), func(b *testing.B) { virtualRun(b, replicas, n, 256) })
			}
		}
	}
	b.Run("4x100000/128-out", func(b *testing.B) { virtualRun(b, 4, 100_000, 128) })
}

// BenchmarkMillionRun is BenchmarkVirtualRun with a million requests: what it
// holds in memory must be what a hundredth of them takes.
func BenchmarkMillionRun(b *testing.B) {
	for _, replicas := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("%dx1000000", replicas), func(b *testing.B) { virtualRun(b, replicas, 1_000_000, 256) })
	}
}

func virtualRun(b *testing.B, replicas, n, out int) {
	b.ReportAllocs()
	debug.FreeOSMemory()
	forgetPeak()
	before := cpuTime(b)
	for b.Loop() {
		env := Env{
			Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" },
			Args: []string{
				"run", "--request-rate", fmt.Sprint(10 * replicas), "--num-prompts", fmt.Sprint(n), "--replicas", fmt.Sprint(replicas),
				"--dataset-name", "random", "--random-input-len", "512", "--random-output-len", fmt.Sprint(out),
				"--out", b.TempDir() + "/run",
			},
		}
		if code := Main(env); code != exitOK {
			b.Fatalf("exit %d", code)
		}
	}
	cpu := (cpuTime(b) - before).Seconds() / float64(b.N)
	b.ReportMetric(float64(n)/cpu, "requests/cpu-s")
	b.ReportMetric(float64(n*out)/cpu, "tokens/cpu-s")
	if peak, ok := peakMB(); ok {
		b.ReportMetric(peak, "peak-MB")
	}
}

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forgetPeak starts the peak anew where the system can do that; elsewhere it is
// that of the process so far.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakMB is the largest resident set of the process in MB (10^6 bytes); ok is
// false where the system does not tell.
func peakMB() (mb float64, ok bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		if text, found := bytes.CutPrefix(line, []byte("VmHWM:")); found {
			kb, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(text), []byte("kB")))), 64)
			return kb * 1024 / 1e6, err == nil
		}
	}
	return 0, false
}
