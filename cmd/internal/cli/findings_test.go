package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// found are the figures of arms, by metric and aggregate.
type found map[string]map[string]float64

// find compares, and reads the figures.
func find(t *testing.T, args ...string) found {
	t.Helper()
	code, out, errs := compared(t, append(args, "--out", filepath.Join(t.TempDir(), "c"))...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var j struct {
		Arms []struct {
			Name    string
			Figures []struct {
				Metric, Agg string
				Mean        *float64
			}
		}
	}
	if err := json.Unmarshal(out, &j); err != nil {
		t.Fatal(err)
	}
	all := found{}
	for _, a := range j.Arms {
		all[a.Name] = map[string]float64{}
		for _, f := range a.Figures {
			if f.Mean != nil {
				all[a.Name][f.Metric+f.Agg] = *f.Mean
			}
		}
	}
	return all
}

// ratio is a figure of one arm over that of another one.
func (f found) ratio(t *testing.T, figure, arm, base string) float64 {
	t.Helper()
	a, ok := f[arm][figure]
	b, ok2 := f[base][figure]
	if !ok || !ok2 || b == 0 {
		t.Fatalf("%s of %s and %s: %v, %v", figure, arm, base, a, b)
	}
	return a / b
}

// check holds a ratio against bounds.
func (f found) check(t *testing.T, figure, arm, base string, least, most float64) {
	t.Helper()
	r := f.ratio(t, figure, arm, base)
	t.Logf("%-12s %-14s is %6.3f times that of %s (want %g to %g)", figure, arm, r, base, least, most)
	if r < least || r > most {
		t.Errorf("%s of %s is %.3f times that of %s, want %g to %g", figure, arm, r, base, least, most)
	}
}

// What is known of the rules of the field holds on engines that take 8 requests at once, so
// that others wait in their queues, and on large ones with long common prefixes, at low
// load and at high load.
func TestFindings(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const huge = 1e9
	t.Run("queues", func(t *testing.T) {
		args := []string{
			"--seeds", "2", "--request-rate", "32", "--engine.max-num-seqs", "8", "--engine.num-gpu-blocks", "4000", "--replicas", "4",
			"--dataset-name", "shared_prefix", "--shared-prefix-num-groups", "16", "--shared-prefix-prompts-per-group", "100",
			"--shared-prefix-system-prompt-len", "1024", "--shared-prefix-question-len", "256", "--shared-prefix-output-len", "128",
			"--shared-prefix-range-ratio", "0.9", "--shared-prefix-zipf", "0.9",
		}
		blind := []string{"round-robin", "random", "least-outstanding", "p2c", "least-kv", "kv-queue"}
		for _, r := range append(blind, "cache-aware") {
			args = append(args, "--router", r)
		}
		f := find(t, args...)
		// Round robin assigns most evenly and loses the tail. A rule that sees KV alone sees no
		// queue: its replicas are further apart than anybody's, and so is its tail.
		for _, r := range blind {
			if r != "round-robin" {
				f.check(t, "imbalance", r, "round-robin", 1, huge)
			}
			if r != "least-kv" {
				f.check(t, "skew", "least-kv", r, 1.3, huge)
				f.check(t, "ttftp(95)", "least-kv", r, 1.3, huge)
			}
		}
		f.check(t, "ttftp(95)", "round-robin", "least-outstanding", 1.3, huge)
		// Following prefixes finds most in caches, and here that costs the tail.
		f.check(t, "hit_rate", "cache-aware", "least-outstanding", 1.02, huge)
		f.check(t, "ttftp(95)", "cache-aware", "least-outstanding", 2, huge)
	})
	prefixes := func(rate string) found {
		return find(t, "--seeds", "2", "--request-rate", rate, "--engine.num-gpu-blocks", "6000", "--replicas", "8",
			"--dataset-name", "shared_prefix", "--shared-prefix-num-groups", "48", "--shared-prefix-prompts-per-group", "32",
			"--shared-prefix-system-prompt-len", "4096", "--shared-prefix-question-len", "256", "--shared-prefix-output-len", "256",
			"--shared-prefix-range-ratio", "0.95", "--shared-prefix-zipf", "0.9",
			"--router", "least-outstanding", "--router", "prefix-hash", "--router", "cache-aware")
	}
	t.Run("low load", func(t *testing.T) {
		f := prefixes("10")
		f.check(t, "hit_rate", "cache-aware", "least-outstanding", 1.3, huge)
		f.check(t, "ttftp(50)", "prefix-hash", "least-outstanding", 0, 0.97)
		f.check(t, "ttftp(50)", "cache-aware", "least-outstanding", 0, 0.97)
		f.check(t, "ttftp(95)", "cache-aware", "least-outstanding", 0, 0.5)
	})
	t.Run("high load", func(t *testing.T) {
		f := prefixes("60")
		f.check(t, "hit_rate", "prefix-hash", "least-outstanding", 1.3, huge)
		f.check(t, "throughput", "prefix-hash", "least-outstanding", 1.03, huge)
		f.check(t, "ttftp(95)", "prefix-hash", "least-outstanding", 0, 0.3)
		f.check(t, "tpotp(95)", "cache-aware", "prefix-hash", 1.3, huge) // it crowds
	})
}
