package cli

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkTwelveRouters compares twelve rules, each with 20,000 requests over 8 engines in
// virtual time: the wall time that a user waits, and the processor time of it.
func BenchmarkTwelveRouters(b *testing.B) {
	rules := []string{
		"round-robin", "random", "least-outstanding", "p2c", "peak-ewma", "least-kv", "kv-queue", "prefix-hash", "bounded-hash",
		"cache-aware", "dynamo-kv", "llm-d",
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		args := []string{
			"compare", "--seeds", "1", "--replicas", "8", "--num-prompts", "20000", "--request-rate", "80", "--dataset-name", "prefix_repetition",
			"--prefix-repetition-num-prefixes", "64", "--prefix-repetition-prefix-len", "1024", "--out", fmt.Sprint(b.TempDir(), "/set"),
		}
		for _, r := range rules {
			args = append(args, "--router", r)
		}
		if code := Main(Env{Args: args, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}); code != exitOK {
			b.Fatalf("exit %d", code)
		}
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()/float64(b.N), "cpu-s/comparison")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "wall-s/comparison")
}
