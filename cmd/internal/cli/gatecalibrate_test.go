package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"goodput/loadgen/plan"
	"goodput/report/gate"
	"goodput/report/stats"
)

// calibrated compares engines with jitter with themselves, or with ones whose steps take
// slow times as long, at 85 % of what four of them carry.
func calibrated(t *testing.T, comparisons, seeds, requests int, slow float64) []gate.Calibration {
	t.Helper()
	rules, err := parseRules([]string{"ttft p(95) vs baseline", "tpot p(95) vs baseline", "e2e mean vs baseline"}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Default()
	p.RequestRate, p.NumPrompts, p.EngineStepJitter = 101, requests, 0.1
	x := gateCalibration{rules: rules, comparisons: comparisons, seeds: seeds}
	dir := t.TempDir()
	x.schedule(dir, p)
	if slow > 1 {
		script := filepath.Join(dir, "slow.yaml")
		if err := os.WriteFile(script, fmt.Appendf(nil, "- {at: 0s, slow: %v}\n", slow), 0o666); err != nil {
			t.Fatal(err)
		}
		for i := range x.all {
			if x.all[i].arm == "b" {
				x.all[i].plan.Faults = script
			}
		}
	}
	env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if err := x.run(&env); err != nil {
		t.Fatal(err)
	}
	return gate.Calibrate(rules, x.blocks())
}

// TestGateErrorRates: a thing compared with itself is seen to change in 5 % of cases and
// hardly ever by more than the margin, and slower engines are found the more often the
// slower they are. All of it is seeded. GOODPUT_VALIDATE=1 takes 400 comparisons of 5
// pairs of 1000 requests.
func TestGateErrorRates(t *testing.T) {
	if testing.Short() {
		t.Skip("runs hundreds of loads")
	}
	comparisons, powered, seeds, requests := 12, 5, 3, 300
	if os.Getenv("GOODPUT_VALIDATE") != "" {
		comparisons, powered, seeds, requests = 400, 40, 5, 1000
	}
	for _, c := range calibrated(t, comparisons, seeds, requests, 1) {
		// The arms of a pair are alike, so that the rate of the test is that over all ways
		// to name them; and which way the seeds have named them is chance.
		lo, hi, err := stats.ClopperPearson(int(math.Round(c.Expected)), c.N, 0.95)
		rawLo, rawHi, err2 := stats.ClopperPearson(c.Rejected, c.N, 0.95)
		t.Logf("%s: %d of %d see a change [%.3f, %.3f]; over all swaps %.1f, sd %.1f [%.3f, %.3f]; %d fail, margin %.4f",
			c.Rule, c.Rejected, c.N, rawLo, rawHi, c.Expected, c.SD, lo, hi, c.Failed, c.Margin)
		if err != nil || err2 != nil || lo > 0.05 || hi < 0.05 {
			t.Errorf("%s: %.1f of %d see a change where there is none: [%v, %v] leaves 5 %% out", c.Rule, c.Expected, c.N, lo, hi)
		}
		if off := math.Abs(float64(c.Rejected) - c.Expected); off > 4*c.SD+0.5 {
			t.Errorf("%s: %d of %d see a change, %.1f over all swaps: more apart than chance allows, so that the arms are not alike", c.Rule, c.Rejected, c.N, c.Expected)
		}
		if c.Failed > 2 || c.Equal > 0 || c.Invalid > 0 {
			t.Errorf("%s: %d fail by more than 5 %%, %d were equal, %d invalid", c.Rule, c.Failed, c.Equal, c.Invalid)
		}
	}
	last := make([]int, 3)
	for _, slow := range []float64{1.02, 1.05, 1.10} {
		for i, c := range calibrated(t, powered, seeds, requests, slow) {
			t.Logf("%v times as slow: %s: %d of %d see it, %d fail", slow, c.Rule, c.Rejected, c.N, c.Failed)
			if c.Rejected < last[i] {
				t.Errorf("%s: found in %d of %d when %v times as slow, in %d when less so", c.Rule, c.Rejected, c.N, slow, last[i])
			}
			if last[i] = c.Rejected; slow == 1.10 && c.Rejected*10 < c.N*8 {
				t.Errorf("%s: engines 10 %% slower are found in %d of %d only", c.Rule, c.Rejected, c.N)
			}
		}
	}
}
