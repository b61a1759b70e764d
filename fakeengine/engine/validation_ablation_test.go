package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goodput/fakeengine/steptime"
)

// effect is an error of a replay and the range in which it is expected.
type effect struct {
	quantity  string
	statistic int
	lo, hi    float64
}

func (c comparison) expect(t *testing.T, effects []effect) {
	t.Helper()
	for _, e := range effects {
		if x := c.err[e.quantity][e.statistic]; !(x >= e.lo && x <= e.hi) {
			t.Errorf("%s %s is off by %+.1f%%, want %+.1f%% to %+.1f%%", e.quantity, statisticNames[e.statistic], 100*x, 100*e.lo, 100*e.hi)
		}
	}
}

// brief is the errors in one line each.
func (c comparison) brief() string {
	var lines []string
	for _, q := range quantities {
		e := c.err[q.name]
		lines = append(lines, fmt.Sprintf("%-8s mean %+6.1f%%  p50 %+6.1f%%  p90 %+6.1f%%  p99 %+6.1f%%", q.name, 100*e[0], 100*e[1], 100*e[2], 100*e[3]))
	}
	return strings.Join(lines, "\n")
}

// A rule that could be wrong without anybody noticing is not validated by a
// replay. Each case breaks one rule, or one setting, and says which errors that
// must make on the recording that fills its cache. All of them violate the
// bounds of TestValidationReplay.
func TestValidationAblations(t *testing.T) {
	const p50, p90, p99 = 1, 2, 3
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   []effect
	}{
		// Preempted sequences that wait their turn again let others in, which then
		// compete with them.
		{"preempted ones queue at the end", func(c *Config) { c.ablate.appendPreempted = true }, []effect{
			{"queue", mean, -0.47, -0.37}, {"tpot", mean, 1.5, 2.1},
		}},
		{"blocks are freed head first", func(c *Config) { c.ablate.headFirstFree = true }, []effect{
			{"queue", mean, 0.03, 0.06}, {"tpot", mean, 0.03, 0.06}, {"e2e", mean, 0.03, 0.06},
		}},
		{"no prefix hit on resuming", func(c *Config) { c.ablate.coldResume = true }, []effect{
			{"queue", mean, 0.03, 0.06}, {"tpot", mean, 0.03, 0.06}, {"e2e", mean, 0.03, 0.06},
		}},
		{"no prefix cache", func(c *Config) { c.PrefixCaching = false }, []effect{
			{"queue", mean, 0.03, 0.07}, {"tpot", mean, 0.03, 0.07}, {"e2e", mean, 0.03, 0.07},
		}},
		{"3,400 blocks for 2,588", func(c *Config) { c.NumGPUBlocks = 3400 }, []effect{
			{"ttft", mean, -0.24, -0.18}, {"tpot", mean, 0.10, 0.15},
		}},
		{"5% more blocks", func(c *Config) { c.NumGPUBlocks = 2588 * 105 / 100 }, []effect{
			{"tpot", p90, 0.05, 0.20},
		}},
		{"5% fewer blocks", func(c *Config) { c.NumGPUBlocks = 2588 * 95 / 100 }, []effect{
			{"queue", p50, 0.05, 0.20},
		}},
		// Prompts come in that do not fit, and are pushed out before their first
		// token.
		{"no room reserved for a whole prompt", func(c *Config) { c.ReserveFullISL = false }, []effect{
			{"prefill", mean, 0.4, 0.9}, {"prefill", p99, 3, 5}, {"queue", mean, -0.03, 0.03}, {"tpot", p90, -0.03, 0.03},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadRecording(t, rtx4090)
			c.change(&r.cfg)
			got := r.replay(t)
			cmp := compare(r.measured(), got)
			t.Logf("%d preemptions\n%s", got.stats.Preemptions, cmp.brief())
			cmp.expect(t, c.want)
		})
	}
}

// One percent of the cache is within the error of everything else.
func TestValidationBlocksWithinOnePercent(t *testing.T) {
	for _, blocks := range []int{2562, 2614} {
		r := loadRecording(t, rtx4090)
		r.cfg.NumGPUBlocks = blocks
		cmp := compare(r.measured(), r.replay(t))
		t.Logf("%d blocks\n%s", blocks, cmp.brief())
		cmp.check(t, bounds{"queue": within(0.05), "ttft": within(0.05), "tpot": within(0.05), "e2e": within(0.05)})
	}
}

// Contexts of different lengths in one step cost more than equal ones of the
// same sum: without the measured correction the second recording is too quick.
func TestValidationSkewMatters(t *testing.T) {
	r := loadRecording(t, rtxPro6000)
	dir := t.TempDir()
	for _, name := range []string{"dense.csv", "per_sequence.csv", "attention.csv"} {
		data, err := os.ReadFile(filepath.Join(r.dir, "kernels", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if r.model, err = steptime.LoadTable(dir, r.deployed); err != nil {
		t.Fatal(err)
	}
	cmp := compare(r.measured(), r.replay(t))
	t.Logf("\n%s", cmp.brief())
	cmp.expect(t, []effect{{"queue", mean, -0.15, -0.08}, {"tpot", mean, -0.07, -0.03}})
}
