package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"goodput/loadgen/plan"
	"goodput/loadgen/rng"
	"goodput/report/gate"
)

// maxPairs bounds the comparisons of a calibration.
const maxPairs = 10_000

// gateCalibration compares a thing with itself, again and again.
type gateCalibration struct {
	rules              []gate.Rule
	comparisons, seeds int
	// stats[i] are the statistics that trial i has of each rule.
	stats [][]gate.Statistic
	all   []trial
}

func newCalibrate(env *Env) *cobra.Command {
	var rules []string
	var pairs, seeds, real int
	var margin string
	var flags *planFlags
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "measure how often a gate would fail if nothing had changed",
		Long: `Calibrate compares a thing with itself, as often as --pairs says, each time with
--seeds runs of either arm, and counts how often rules see a change. In process the
arms have the same load, and differ in what is random in engines and routers: without
--engine.step-jitter, and with a router that draws nothing, they are equal. Against
--base-url say how often with --real: it takes that many times 2 x --seeds runs.`,
		Example: `  goodput gate calibrate --request-rate 100 --num-prompts 1000 --engine.step-jitter 0.1 --pairs 100
  goodput gate calibrate --real 5 --base-url http://127.0.0.1:8000 --request-rate 4 --num-prompts 200 --gate 'ttft p(95) vs baseline <= +10%'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			m, err := parseMargin(margin)
			if err != nil {
				return err
			}
			if len(rules) == 0 {
				rules = planRules
			}
			x := &gateCalibration{comparisons: pairs, seeds: seeds}
			if x.rules, err = parseRules(rules, m); err != nil {
				return err
			}
			p, err := flags.resolve(env, (*plan.Plan).Validate)
			if err != nil {
				return err
			}
			if err := errors.Join(flags.wrongTarget(&p), flags.twice(), checkPool(&p)); err != nil {
				return err
			}
			switch {
			case p.Remote() && real == 0:
				return errors.New("--real: how many comparisons? each takes 2 x --seeds runs in real time")
			case !p.Remote() && real != 0:
				return errors.New("--real: it is for a server: give --base-url, or --pairs instead")
			case p.Remote():
				x.comparisons = real
			}
			return x.execute(env, p)
		},
	}
	flags = newPlanFlags(c, "load", "dataset", "target", "hardware", "pool", "speed", "engine")
	c.Flags().StringArrayVar(&rules, "gate", nil, "a rule against a baseline; repeatable")
	c.Flags().StringVar(&margin, "margin", "5%", "what a rule that ends in 'vs baseline' allows to get worse")
	c.Flags().IntVar(&pairs, "pairs", 100, "comparisons, in process")
	c.Flags().IntVar(&real, "real", 0, "comparisons, against --base-url")
	c.Flags().IntVar(&seeds, "seeds", 5, "runs of either arm in a comparison")
	flags.also = []string{"gate", "margin", "pairs", "real", "seeds"}
	return c
}

// execute runs all comparisons and prints what they say of each rule.
func (x *gateCalibration) execute(env *Env, p plan.Plan) error {
	for _, r := range x.rules {
		if !r.Baseline || len(r.Scope) > 0 {
			return fmt.Errorf("--gate %q: a calibration is of rules against a baseline, without a scope", r)
		}
	}
	if x.comparisons < 1 || x.comparisons > maxPairs || x.seeds < 2 || x.seeds > maxSeeds {
		return fmt.Errorf("%d comparisons of %d seeds: give 1 to %d, and 2 seeds at least", x.comparisons, x.seeds, maxPairs)
	}
	dir, err := os.MkdirTemp("", "goodput-calibrate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	x.schedule(dir, p)
	if err := x.run(env); err != nil {
		return err
	}
	for _, c := range gate.Calibrate(x.rules, x.blocks()) {
		if err := c.Text(env.Stdout); err != nil {
			return err
		}
	}
	return nil
}

// schedule lists the runs: two for each seed, whose order changes with the seed.
func (x *gateCalibration) schedule(dir string, p plan.Plan) {
	for i := range 2 * x.comparisons * x.seeds {
		t := trial{arm: [2]string{"a", "b"}[i%2], n: int32(i / 2), plan: p}
		t.plan.Seed = p.Seed + uint64(i/2)
		if !p.Remote() {
			r := rng.New(t.plan.Seed, "calibrate", uint64(i%2))
			t.plan.PoolSeed = r.Uint64() | 1
		}
		t.plan.Out = filepath.Join(dir, fmt.Sprint(i))
		x.all = append(x.all, t)
	}
	for i := 2; i+1 < len(x.all); i += 4 {
		x.all[i], x.all[i+1] = x.all[i+1], x.all[i]
	}
	x.stats = make([][]gate.Statistic, len(x.all))
}

func (x *gateCalibration) run(env *Env) error {
	var done atomic.Int64
	var invalid error
	r := trials{env: env, done: func(i int, t *trial, m made) {
		done.Add(1)
		if m.Trial == nil {
			return
		}
		if why := problem(m.Trial, &sideRun{dir: fmt.Sprintf("seed %d", t.plan.Seed)}); why != "" {
			invalid = exitf(exitInvalid, "%s", why)
		}
		for _, rule := range x.rules {
			x.stats[i] = append(x.stats[i], m.Statistic(rule.Metric, rule.Agg))
		}
		if err := os.RemoveAll(t.plan.Out); err != nil {
			invalid = err
		}
	}}
	stop := showTrials(env, len(x.all), func() int { return int(done.Load()) })
	defer stop()
	return errors.Join(r.run(x.all), invalid)
}

// blocks are those of each comparison and rule.
func (x *gateCalibration) blocks() [][][]gate.Block {
	out := make([][][]gate.Block, x.comparisons)
	for c := range out {
		out[c] = make([][]gate.Block, len(x.rules))
	}
	for i := 0; i+1 < len(x.all); i += 2 {
		a, b := i, i+1
		if x.all[i].arm == "b" {
			a, b = b, a
		}
		c := i / 2 / x.seeds
		for r := range x.rules {
			out[c][r] = append(out[c][r], gate.Block{Seed: x.all[a].plan.Seed, Baseline: x.stats[a][r], Candidate: x.stats[b][r]})
		}
	}
	return out
}
