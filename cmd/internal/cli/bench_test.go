package cli

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"goodput/loadgen/record"
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
// processor time, all threads counted, for 512 tokens in, 256 out and 10 requests/s
// on each replica. Each load is measured twice, see measure.
func BenchmarkVirtualRun(b *testing.B) {
	p := build(b)
	for _, l := range []load{
		usual(1, 10_000), usual(4, 1000), usual(4, 10_000), usual(4, 100_000), usual(16, 10_000), usual(256, 100_000),
	} {
		l.measure(b, fmt.Sprintf("%dx%d", l.replicas, l.n), p)
	}
}

// BenchmarkLoads is BenchmarkVirtualRun with other loads than the usual one.
func BenchmarkLoads(b *testing.B) {
	const replicas, n = 4, 100_000
	p := build(b)
	for _, c := range []struct {
		name string
		load
	}{
		{"light", load{replicas, n, 1, 256, 0}},
		{"near-saturation", load{replicas, n, 30, 256, 0}},
		{"short-answers", load{replicas, n, 10, 128, 0}},
		{"10-long-prefixes", load{replicas, n, 10, 256, 10}},
	} {
		c.measure(b, c.name, p)
	}
}

// BenchmarkMillionRun is BenchmarkVirtualRun with a million requests: what it
// holds in memory must be what a hundredth of them takes.
func BenchmarkMillionRun(b *testing.B) {
	p := build(b)
	for _, replicas := range []int{1, 4, 16} {
		l := usual(replicas, 1_000_000)
		l.measure(b, fmt.Sprintf("%dx%d", l.replicas, l.n), p)
	}
}

// BenchmarkMillionReport reads a million requests and prints their figures, as text and as
// a page: the time and the most memory of the process.
func BenchmarkMillionReport(b *testing.B) {
	dir := b.TempDir() + "/run"
	main := func(args ...string) {
		env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Args: args}
		if code := Main(env); code != exitOK {
			b.Fatalf("%s: exit %d", args, code)
		}
	}
	args := usual(4, 1_000_000).args(b)
	main(append(args, "--engine.step-jitter", "0.1", "--out", dir)...)
	for _, format := range []string{"text", "html"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			debug.FreeOSMemory()
			forgetPeak()
			for b.Loop() {
				main("report", dir, "--format", format)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "wall-s")
			if peak, ok := peakMB(); ok {
				b.ReportMetric(peak, "peak-MB")
			}
		})
	}
}

// BenchmarkGrowth reports how processor time and memory grow with the number of
// requests and of replicas, as exponents: 1 is in proportion, 0 not at all. What
// a run costs whatever its size makes them smaller. It is of the simulation alone,
// in memory taken for the first time.
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

// measure measures a load as two benchmarks. whole-process is a run as a user has
// it, from the start of the program to its end. simulation-alone is the second run
// of the same plan within one process: without the start, and in memory that the
// first one has taken from the system. Its peak-MB is the most memory that the
// process held in the first run.
func (l load) measure(b *testing.B, name string, p program) {
	b.Run(name+"/whole-process", func(b *testing.B) {
		var total time.Duration
		for b.Loop() {
			total += p.run(b, l.args(b))
		}
		l.report(b, total)
	})
	b.Run(name+"/simulation-alone", func(b *testing.B) {
		b.ReportAllocs()
		_, peak := l.run(b)
		var total time.Duration
		for b.Loop() {
			total += l.again(b)
		}
		l.report(b, total)
		if peak > 0 {
			b.ReportMetric(peak, "peak-MB")
		}
	})
}

func (l load) report(b *testing.B, total time.Duration) {
	cpu := total.Seconds() / float64(b.N)
	b.ReportMetric(1e3*cpu, "cpu-ms")
	b.ReportMetric(float64(l.n)/cpu, "requests/cpu-s")
	b.ReportMetric(float64(l.n*l.out)/cpu, "tokens/cpu-s")
}

// args are those of the run, into a directory of its own.
func (l load) args(b *testing.B) []string {
	args := []string{
		"run", "--request-rate", fmt.Sprint(l.rate * float64(l.replicas)), "--num-prompts", fmt.Sprint(l.n),
		"--replicas", fmt.Sprint(l.replicas), "--out", b.TempDir() + "/run",
	}
	if l.prefixes > 0 {
		return append(
			args, "--dataset-name", "prefix_repetition", "--prefix-repetition-num-prefixes", fmt.Sprint(l.prefixes),
			"--prefix-repetition-prefix-len", "2000", "--prefix-repetition-suffix-len", "512", "--prefix-repetition-output-len", fmt.Sprint(l.out),
		)
	}
	return append(args, "--dataset-name", "random", "--random-input-len", "512", "--random-output-len", fmt.Sprint(l.out))
}

// run runs the load in this process, which gave its free memory back before. The
// peak is 0 where the system does not tell.
func (l load) run(b *testing.B) (cpu time.Duration, peak float64) {
	debug.FreeOSMemory()
	forgetPeak()
	cpu = l.again(b)
	peak, _ = peakMB()
	return cpu, peak
}

// again is run in the memory that the process has.
func (l load) again(b *testing.B) time.Duration {
	before := cpuTime(b)
	env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Args: l.args(b)}
	if code := Main(env); code != exitOK {
		b.Fatalf("exit %d", code)
	}
	return cpuTime(b) - before
}

// program is the file of the program, as make build makes it.
type program string

func build(b *testing.B) program {
	b.Helper()
	file := filepath.Join(b.TempDir(), "goodput")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "goodput/cmd/goodput")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return program(file)
}

// run runs the program and returns the processor time of its process.
func (p program) run(b *testing.B, args []string) time.Duration {
	c := exec.Command(string(p), args...)
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
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

// BenchmarkSweep is a search with the preset ci on 4 engines: requests offered per
// second of processor time, of which those of trials that ended early are a part, and
// the wall time that a user waits.
func BenchmarkSweep(b *testing.B) {
	var cpu time.Duration
	requests := 0
	for b.Loop() {
		before := cpuTime(b)
		dir := b.TempDir() + "/run"
		env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }, Args: []string{
			"sweep", "--replicas", "4", "--slo", "ttft p(95) <= 2s, tpot p(95) <= 50ms", "--preset", "ci", "--out", dir,
		}}
		if code := Main(env); code != exitOK {
			b.Fatalf("exit %d", code)
		}
		cpu += cpuTime(b) - before
		run, err := record.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		trials, _, err := run.Trials()
		if err != nil {
			b.Fatal(err)
		}
		for i := range trials {
			requests += int(trials[i].Warmup + trials[i].Good + trials[i].Bad)
		}
	}
	b.ReportMetric(float64(requests)/cpu.Seconds(), "requests/cpu-s")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "wall-s/knee")
}
