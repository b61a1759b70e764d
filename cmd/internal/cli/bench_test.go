package cli

import (
	"fmt"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkVirtualRun is the whole path of a user's virtual run: 512 tokens in,
// 128 out, 4 replicas at 10 requests/s each, Parquet written and the report read
// back from it. It reports simulated requests and output tokens per second of
// processor time, all threads counted.
func BenchmarkVirtualRun(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				env := Env{
					Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" },
					Args: []string{
						"run", "--request-rate", "40", "--num-prompts", fmt.Sprint(n), "--replicas", "4",
						"--dataset-name", "random", "--random-input-len", "512", "--random-output-len", "128",
						"--out", b.TempDir() + "/run",
					},
				}
				if code := Main(env); code != exitOK {
					b.Fatalf("exit %d", code)
				}
			}
			runtime.GC()
			cpu := (cpuTime(b) - before).Seconds() / float64(b.N)
			b.ReportMetric(float64(n)/cpu, "requests/cpu-s")
			b.ReportMetric(float64(n)*128/cpu, "tokens/cpu-s")
		})
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
