package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// load is one virtual run to be measured: the whole path of a user's, Parquet
// written and the report read back from it.
type load struct {
	replicas, n int
	rate        float64 // requests/s for each replica; near 35 they are saturated
	out         int     // tokens of an answer
	// prefixes is how many prompts begin with one of as many prefixes of 2,000
	// tokens; 0: they share nothing. The rest of a prompt is 512 tokens.
	prefixes int
}

// usual is the load that figures are quoted for.
func usual(replicas, n int) load { return load{replicas: replicas, n: n, rate: 10, out: 256} }

// BenchmarkVirtualRun reports simulated requests and output tokens per second of
// processor time, all threads counted, and the most memory that the process held,
// for 512 tokens in, 256 out and 10 requests/s on each replica.
func BenchmarkVirtualRun(b *testing.B) {
	for _, l := range []load{
		usual(1, 10_000), usual(4, 1000), usual(4, 10_000), usual(4, 100_000), usual(16, 10_000), usual(256, 100_000),
	} {
		b.Run(fmt.Sprintf("%dx%d", l.replicas, l.n), l.measure)
	}
}

// BenchmarkLoads is BenchmarkVirtualRun with other loads than the usual one.
func BenchmarkLoads(b *testing.B) {
	const replicas, n = 4, 100_000
	for _, c := range []struct {
		name string
		load
	}{
		{"light", load{replicas, n, 1, 256, 0}},
		{"near-saturation", load{replicas, n, 30, 256, 0}},
		{"short-answers", load{replicas, n, 10, 128, 0}},
		{"10-long-prefixes", load{replicas, n, 10, 256, 10}},
	} {
		b.Run(c.name, c.measure)
	}
}

// BenchmarkMillionRun is BenchmarkVirtualRun with a million requests: what it
// holds in memory must be what a hundredth of them takes.
func BenchmarkMillionRun(b *testing.B) {
	for _, replicas := range []int{1, 4, 16} {
		l := usual(replicas, 1_000_000)
		b.Run(fmt.Sprintf("%dx%d", l.replicas, l.n), l.measure)
	}
}

// BenchmarkGrowth reports how processor time and memory grow with the number of
// requests and of replicas, as exponents: 1 is in proportion, 0 not at all. What
// a run costs whatever its size makes them smaller.
func BenchmarkGrowth(b *testing.B) {
	for _, g := range []struct {
		name         string
		small, large load
		ratio        float64
	}{
		{"requests-1000-to-10000", usual(4, 1000), usual(4, 10_000), 10},
		{"requests-10000-to-100000", usual(4, 10_000), usual(4, 100_000), 10},
		{"replicas-1-to-16", usual(1, 50_000), usual(16, 50_000), 16},
		{"replicas-16-to-256", usual(16, 50_000), usual(256, 50_000), 16},
	} {
		b.Run(g.name, func(b *testing.B) {
			var cpu, mem [2]float64
			for b.Loop() {
				for i, l := range []load{g.small, g.large} {
					c, m := l.run(b)
					cpu[i], mem[i] = cpu[i]+c.Seconds(), m
				}
			}
			b.ReportMetric(math.Log(cpu[1]/cpu[0])/math.Log(g.ratio), "cpu-exponent")
			if mem[0] > 0 {
				b.ReportMetric(math.Log(mem[1]/mem[0])/math.Log(g.ratio), "memory-exponent")
			}
		})
	}
}

func (l load) measure(b *testing.B) {
	b.ReportAllocs()
	var total time.Duration
	var peak float64
	for b.Loop() {
		cpu, mb := l.run(b)
		total, peak = total+cpu, max(peak, mb)
	}
	cpu := total.Seconds() / float64(b.N)
	b.ReportMetric(float64(l.n)/cpu, "requests/cpu-s")
	b.ReportMetric(float64(l.n*l.out)/cpu, "tokens/cpu-s")
	if peak > 0 {
		b.ReportMetric(peak, "peak-MB")
	}
}

// run runs the load once. The peak is 0 where the system does not tell.
func (l load) run(b *testing.B) (cpu time.Duration, peak float64) {
	debug.FreeOSMemory()
	forgetPeak()
	before := cpuTime(b)
	args := []string{
		"run", "--request-rate", fmt.Sprint(l.rate * float64(l.replicas)), "--num-prompts", fmt.Sprint(l.n),
		"--replicas", fmt.Sprint(l.replicas), "--out", b.TempDir() + "/run",
	}
	if l.prefixes > 0 {
		args = append(
			args, "--dataset-name", "prefix_repetition", "--prefix-repetition-num-prefixes", fmt.Sprint(l.prefixes),
			"--prefix-repetition-prefix-len", "2000", "--prefix-repetition-suffix-len", "512", "--prefix-repetition-output-len", fmt.Sprint(l.out),
		)
	} else {
		args = append(args, "--dataset-name", "random", "--random-input-len", "512", "--random-output-len", fmt.Sprint(l.out))
	}
	env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Args: args}
	if code := Main(env); code != exitOK {
		b.Fatalf("exit %d", code)
	}
	cpu = cpuTime(b) - before
	peak, _ = peakMB()
	return cpu, peak
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
