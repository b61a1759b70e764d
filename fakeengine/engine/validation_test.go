package engine

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// statistics of one quantity, in seconds.
type statistics [4]float64

var statisticNames = [4]string{"mean", "p50", "p90", "p99"}

// summarise interpolates linearly between order statistics, for both sides of a
// comparison.
func summarise(x []float64) statistics {
	x = slices.Clone(x)
	slices.Sort(x)
	quantile := func(p float64) float64 {
		at := p * float64(len(x)-1)
		i := min(int(at), len(x)-2)
		return x[i] + (at-float64(i))*(x[i+1]-x[i])
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return statistics{sum / float64(len(x)), quantile(0.5), quantile(0.9), quantile(0.99)}
}

// quantity is one row of the comparison.
type quantity struct {
	name string
	of   func(*outcome) []float64
	// shifted: it can be so short that the recording's clocks matter.
	shifted bool
}

var quantities = []quantity{
	{"queue", func(o *outcome) []float64 { return o.queue }, true},
	{"prefill", func(o *outcome) []float64 { return o.prefill }, false},
	{"ttft", func(o *outcome) []float64 { return o.ttft }, true},
	{"tpot", func(o *outcome) []float64 { return o.tpot }, false},
	{"e2e", func(o *outcome) []float64 { return o.e2e }, false},
}

// comparison is the relative error of each statistic of each quantity.
type comparison struct {
	want, got, err map[string]statistics
}

func compare(want, got *outcome) comparison {
	c := comparison{map[string]statistics{}, map[string]statistics{}, map[string]statistics{}}
	for _, q := range quantities {
		w, g := summarise(q.of(want)), summarise(q.of(got))
		var e statistics
		for i := range e {
			e[i] = g[i]/w[i] - 1
		}
		c.want[q.name], c.got[q.name], c.err[q.name] = w, g, e
	}
	return c
}

// String is a table in milliseconds.
func (c comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s", "ms")
	for _, n := range statisticNames {
		fmt.Fprintf(&b, " |%10s %10s %8s", n, "simulated", "error")
	}
	for _, q := range quantities {
		fmt.Fprintf(&b, "\n%-8s", q.name)
		for i := range statisticNames {
			fmt.Fprintf(&b, " |%10.2f %10.2f %+7.2f%%", 1e3*c.want[q.name][i], 1e3*c.got[q.name][i], 100*c.err[q.name][i])
		}
	}
	return b.String()
}

// bounds are the largest errors that a replay may show: of the mean, the median,
// p90 and p99; 0: not bounded.
type bounds map[string]statistics

func (c comparison) check(t *testing.T, b bounds) {
	t.Helper()
	for _, q := range quantities {
		for i, bound := range b[q.name] {
			small := q.shifted && math.Abs(c.got[q.name][i]-c.want[q.name][i]) <= offset
			if e := c.err[q.name][i]; bound > 0 && !(math.Abs(e) <= bound) && !small {
				t.Errorf("%s %s is off by %+.2f%%, at most %.0f%% is allowed", q.name, statisticNames[i], 100*e, 100*bound)
			}
		}
	}
}

// offset is how far apart the zeros of a recording's two clocks can be, in seconds:
// no difference up to there is an error.
const offset = 0.002

func within(x float64) statistics { return statistics{x, x, x, x} }

// usual are the bounds on a recording, and strict those on one of which it is known
// that they hold.
var (
	usual = bounds{
		"queue": {0.05, 0.08, 0.05, 0.05}, "ttft": {0.05, 0.08, 0.05, 0.05}, "tpot": within(0.03), "e2e": within(0.03),
	}
	strict = map[string]bounds{
		rtx4090: {"queue": within(0.03), "prefill": within(0.05), "ttft": within(0.03), "tpot": within(0.03), "e2e": within(0.03)},
	}
)

// Recorded runs of vLLM (casys-kaist/LLMServingSim) are played again, all that are
// there: the same requests at the same instants, with step times interpolated in
// measured kernel times and nothing fitted. What is left is the error of the
// scheduler and of adding kernels up. VALIDATION.md says more.
func TestValidationReplay(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shared(t, "validation/vllm-replay"), "*", "meta.json"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no recordings (%v)", err)
	}
	for _, dir := range dirs {
		dir = filepath.Dir(dir)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			r := readRecording(t, dir)
			got := r.replay(t)
			cmp := compare(r.measured(), got)
			t.Logf("%d steps, %d preemptions\n%v", got.stats.Steps, got.stats.Preemptions, cmp)
			if r.assumed {
				t.Logf("the number of KV blocks is not recorded: %d are assumed, which is enough for all", r.cfg.NumGPUBlocks)
			}
			b, ok := strict[name]
			if !ok {
				b = usual
			}
			cmp.check(t, b)
		})
	}
}

// The wait of an asynchronous scheduler for one step more shows between
// scheduling and first token, not in the queue.
func TestValidationSynchronousIsTooQuick(t *testing.T) {
	r := loadRecording(t, rtx4090)
	r.cfg.AsyncScheduling = false
	c := compare(r.measured(), r.replay(t))
	t.Logf("\n%v", c)
	if e := c.err["prefill"][mean]; e > -0.15 {
		t.Errorf("without asynchronous scheduling the mean time from scheduling to first token is off by %+.1f%%, want far too short", 100*e)
	}
	if e := c.err["queue"][mean]; math.Abs(e) > 0.03 {
		t.Errorf("without asynchronous scheduling the mean queue time is off by %+.1f%%, want it to tell nothing", 100*e)
	}
}

// The recordings that more is known about.
const (
	rtx4090    = "rtx4090-llama-3.1-8b"
	rtxPro6000 = "rtxpro6000-llama-3.1-8b"
)

const mean = 0 // index into statistics
