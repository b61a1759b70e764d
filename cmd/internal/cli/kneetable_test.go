package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/rng"
	"goodput/report/knee"
	"goodput/report/stats"
)

// kneePlan is a sweep of four replicas of eight slots, whose requests wait for a slot, with
// engines whose steps vary by chance.
func kneePlan(seed uint64, seeds, n int) plan.Plan {
	p := plan.Default()
	p.Seed, p.Seeds, p.NumPrompts, p.Tolerance = seed, seeds, n, 0.01
	p.Router, p.EngineMaxNumSeqs, p.EngineStepJitter = "least-outstanding", 8, 0.05
	p.DatasetName, p.RandomInput, p.RandomOutput = "random", 128, 32
	p.SLO = []string{"ttft p(95) <= 500ms"}
	return p
}

// kneesOf are the logarithms of the knees of seeds. arm names the chance of the engines,
// which is another one with each seed: arms whose engines drew the same at all seeds would
// differ by that alone.
func kneesOf(t *testing.T, p plan.Plan, arm, slow string) []float64 {
	t.Helper()
	p.Faults = slow
	seeds := seedsFrom(p.Seed, p.Seeds)
	out := make([]float64, len(seeds))
	p.Seeds = 1
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, seed := range seeds {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			p := p
			chance := rng.New(seed, arm, 0)
			p.Seed, p.PoolSeed = seed, chance.Uint64()|1
			rate, err := kneeOfSeed(p)
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			out[i] = math.Log(rate)
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
}

// kneeOfSeed searches with the one seed of a plan.
func kneeOfSeed(p plan.Plan) (float64, error) {
	s, err := newSweepRun(&Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}, p)
	if err != nil {
		return 0, err
	}
	c, err := s.config(context.Background())
	if err != nil {
		return 0, err
	}
	c.Verify, c.Parallel = nil, 1
	k, err := knee.Find(context.Background(), &prober{s.runner, s.objectives[0]}, c)
	if err == nil && k.Outcome != knee.OK {
		err = fmt.Errorf("%s: %s", k.Outcome, k.Why)
	}
	return k.Rate, err
}

func mean(t *testing.T, values []float64) stats.Interval {
	t.Helper()
	in, err := stats.Mean(values, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestKneeErrorRates: short trials have a knee that is too high, by less the longer they
// are; the ratio of knees with the same arrivals varies much less than a knee, so that
// five pairs find engines that are 5 % slower, and see no change where there is none.
// GOODPUT_VALIDATE=1 takes 20 comparisons of five seeds at lengths of 300, 1000 and 3000
// requests, and four at 10,000, against the knee of trials three times as long.
func TestKneeErrorRates(t *testing.T) {
	if testing.Short() {
		t.Skip("runs hundreds of trials")
	}
	type length struct{ n, groups int }
	lengths, long, longSeeds := []length{{300, 2}}, 2000, 5
	if os.Getenv("GOODPUT_VALIDATE") != "" {
		lengths, long, longSeeds = []length{{300, 20}, {1000, 20}, {3000, 20}, {10_000, 4}}, 30_000, 10
	}
	const pairs = 5
	slow := filepath.Join(t.TempDir(), "slow.yaml")
	if err := os.WriteFile(slow, []byte("- {at: 0s, slow: 1.05}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	truth := mean(t, kneesOf(t, kneePlan(1000, longSeeds, long), "truth", "")).Value
	t.Logf("knee of %d-request trials: %.4g/s", long, math.Exp(truth))
	last := math.Inf(1)
	for _, l := range lengths {
		n, groups := l.n, l.groups
		p := kneePlan(0, groups*pairs, n)
		base, again, worse := kneesOf(t, p, "base", ""), kneesOf(t, p, "again", ""), kneesOf(t, p, "worse", slow)
		p.Seed = 10_000
		other := kneesOf(t, p, "other", slow)
		var paired, unpaired []float64
		rejected, found, covered := 0, 0, 0
		for g := range groups {
			var same, change []float64
			for i := g * pairs; i < (g+1)*pairs; i++ {
				same, change = append(same, again[i]-base[i]), append(change, worse[i]-base[i])
				paired, unpaired = append(paired, worse[i]-base[i]), append(unpaired, other[i]-base[i])
			}
			if in := mean(t, base[g*pairs:(g+1)*pairs]); in.Lo <= truth && truth <= in.Hi {
				covered++
			}
			if in := mean(t, same); in.TwoSided() <= 0.05 {
				rejected++
			}
			if in := mean(t, change); in.TwoSided() <= 0.05 && in.Value < 0 {
				found++
			}
		}
		single, with, without := mean(t, base), mean(t, paired), mean(t, unpaired)
		bias := single.Value - truth
		t.Logf("%s", fmt.Sprintf("N %5d: bias %+.1f %%, sd of one seed %.1f %%, of ln ratio with engines 5 %% slower %.2f %% paired and %.1f %% not; of %d comparisons %d see a change in none, %d find it; %d intervals hold the knee of long trials",
			n, 100*bias, 100*single.SD, 100*with.SD, 100*without.SD, groups, rejected, found, covered))
		lo, hi, err := stats.ClopperPearson(rejected, groups, 0.95)
		if err != nil || lo > 0.05 || hi < 0.05 {
			t.Errorf("N %d: %d of %d comparisons see a change where there is none", n, rejected, groups)
		}
		if found*10 < groups*8 || with.Value > 0 {
			t.Errorf("N %d: engines 5 %% slower are found in %d of %d comparisons", n, found, groups)
		}
		if with.SD >= without.SD {
			t.Errorf("N %d: pairing gains nothing: sd %.4f, without %.4f", n, with.SD, without.SD)
		}
		if bias < -0.02 || bias > last+0.01 || len(lengths) > 1 && n == 300 && bias < 0.02 {
			t.Errorf("N %d: the knee is %.3f off that of long trials, and %.3f with fewer requests", n, bias, last)
		}
		last = bias
	}
}
