package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/report/compare"
	"goodput/report/query"
	"goodput/report/render"
)

// maxSeeds bounds --seeds.
const maxSeeds = 1000

func newCompare(env *Env) *cobra.Command {
	var asJSON bool
	var seeds int
	var arms armFlags
	var named, objective, preset, split string
	var flags *planFlags
	var live liveFlags
	c := &cobra.Command{
		Use:   "compare",
		Short: "offer the same load to several routers, URLs or engines, and tell how they differ",
		Long: `Compare offers the same arrivals and prompts to several arms, once for each of
--seeds, and prints the figures of each arm and its differences from the first one,
paired by seed. The interval is over seeds: a run is what is repeated, not a request.

Arms are routers (--router, repeated), servers (--base-url NAME=URL, repeated), or
anything else about what answers (--arm 'NAME KEY=VALUE…', repeated, whose keys are
names of flags). Engines are fresh in every run. The order of the arms is another one
with each seed. All runs are kept: the directory has one below it for each arm and
seed, whose rows name the arm.

A second table is of the pool. imbalance is the requests of the replica that had most
over the mean. skew is by how many requests in flight the fullest replica is ahead of the
emptiest, as each request finds it when it is sent, on average; peak skew the most of it.
herding is how many times as often a request goes where the one before it went as if each
were drawn by itself: 1 for chance, 0 in turn, up to the number of replicas for a herd.
staleness is how old the engines' reports are, on average, by which a rule picks; it is
not known of servers. sends is how often a request was sent on where something on the way
tries again (--shaper retry, or spans of a router), and most sends the most of it.`,
		Example: `  goodput compare --router round-robin --router p2c --router prefix-hash --request-rate 60 --num-prompts 2000
  goodput compare --base-url old=http://127.0.0.1:8000 --base-url new=http://127.0.0.1:8001 --request-rate 4 --num-prompts 200
  goodput compare --base-url http://127.0.0.1:8000 --direct http://127.0.0.1:9001 --otlp-listen :4317 --request-rate 4 --num-prompts 200
  goodput compare --scenario policies
  goodput compare --router p2c --router llm-d --request-rate 60 --knee 'ttft p(95) <= 1s'
  goodput compare --arm 'bf16' --arm 'fp8 engine.quantization=fp8' --request-rate 60 --seeds 10`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: every parameter is a flag", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if named == scenarioList {
				return writeScenarios(env.Stdout)
			}
			var s *scenario
			var list []arm
			var err error
			if named != "" {
				if s, err = openScenario(named, flags, &seeds, c.Flags().Changed("seeds")); err == nil {
					list, err = s.arms(), arms.none()
				}
			} else {
				list, err = arms.list(flags.give)
			}
			if err != nil {
				return err
			}
			x, err := flags.comparison(env, list, seeds)
			if err == nil {
				err = errors.Join(x.searchKnees(env, objective, preset), x.splitRuns(split))
			}
			if err != nil {
				return err
			}
			x.scenario, x.live = s, live
			x.live.hold(env)
			return x.execute(env, asJSON)
		},
	}
	flags = newPlanFlags(c, "load", "dataset", "target", "hardware", "pool", "routers", "speed", "engine", "export", "output")
	for name, to := range map[string]*[]string{"router": &arms.routers, "base-url": &arms.urls} {
		f := c.Flags().Lookup(name)
		f.Value = repeated{to, f.DefValue, "[NAME=]VALUE"}
	}
	c.Flags().Lookup("router").Usage += "; repeated, each one is an arm"
	c.Flags().Lookup("base-url").Usage += "; repeated, each one is an arm"
	c.Flags().Var(repeated{&arms.arms, "", "string"}, "arm", "an arm by its name and what is different, 'NAME KEY=VALUE…', such as 'slow faults=slow.yaml'; repeatable")
	c.Flags().IntVar(&seeds, "seeds", 5, "runs of each arm, with as many seeds from --seed on")
	c.Flags().BoolVar(&asJSON, "json", false, "print the comparison as JSON")
	c.Flags().StringVar(&named, "scenario", "", "a comparison that teaches something, with its load and its arms; other flags change its load; list prints all")
	c.Flags().StringVar(&objective, "knee", "", "search the knee of each arm, too, with the same seeds: the highest rate at which this objective holds, such as 'ttft p(95) <= 2s, tpot p(95) <= 50ms'")
	c.Flags().StringVar(&preset, "knee-preset", "ci", "smoke, ci or report: 300, 1000 or 5000 requests a trial of --knee, a tolerance of 10, 5 or 2 %")
	c.Flags().StringVar(&split, "split", "", "run both of two routers in one pool, too, each with half of the load by request or by session, and tell how far off what a canary says is")
	addDirect(c, &arms.direct)
	live.addLab(c)
	flags.also = []string{"json", "seeds", "arm", "direct", "scenario", "knee", "knee-preset", "split", "tui"}
	return c
}

// comparison is what is to be run.
type comparison struct {
	dir   string
	index compare.Index
	all   []trial
	at    map[[2]int]int // arm and seed, to the trial
	slo   observe.SLO

	scenario *scenario   // nil: none
	knees    []*sweepRun // of the arms; none: not asked for
	live     liveFlags
}

// comparison resolves the plans of all runs and checks them before any is begun.
func (p *planFlags) comparison(env *Env, arms []arm, seeds int) (*comparison, error) {
	if seeds < 1 || seeds > maxSeeds {
		return nil, fmt.Errorf("--seeds: %d is not from 1 to %d", seeds, maxSeeds)
	}
	common, err := p.resolve(env, (*plan.Plan).Validate)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(p.wrongTarget(&common), p.twice()); err != nil {
		return nil, err
	}
	x := &comparison{dir: common.Out, at: map[[2]int]int{}}
	if x.slo, err = observe.ParseSLO(sloItems(&common)); err != nil {
		return nil, fmt.Errorf("--goodput: %w", err)
	}
	if x.dir == "" {
		x.dir = filepath.Join("runs", clock.Wall().UTC().Format("20060102T150405.000Z")+"-compare-"+common.Hash())
	}
	plans := make([]plan.Plan, len(arms))
	for i := range arms {
		if plans[i], err = arms[i].plan(common); err != nil {
			return nil, err
		}
		if err := cmp.Or(checkPool(&plans[i]), checkSpansOf(&plans[i])); err != nil {
			return nil, fmt.Errorf("arm %s: %w", arms[i].name, err)
		}
		x.index.Arms = append(x.index.Arms, compare.Arm{Name: arms[i].name, Set: append([]compare.Setting{}, arms[i].set...)})
	}
	x.schedule(plans, dirNames(arms), common.Seed, seeds)
	return x, nil
}

// checkPool finds what is wrong with the engines of a plan.
func checkPool(p *plan.Plan) error {
	if p.Remote() {
		return nil
	}
	setup, err := newEngineSetup(p)
	if err != nil {
		return err
	}
	_, err = newPool(p, setup, clock.NewVirtual())
	return err
}

// schedule lists the runs: seed after seed, and of each seed the arms in an order that
// is rotated, so that what drifts meets all of them.
func (x *comparison) schedule(plans []plan.Plan, dirs []string, first uint64, seeds int) {
	for s := range seeds {
		seed := first + uint64(s)
		x.index.Seeds = append(x.index.Seeds, seed)
		for k := range plans {
			a := (k + s) % len(plans)
			t := trial{arm: x.index.Arms[a].Name, n: int32(s), plan: plans[a]}
			t.plan.Seed = seed
			name := fmt.Sprintf("%s-%d", dirs[a], seed)
			t.plan.Out = filepath.Join(x.dir, name)
			x.at[[2]int{a, s}] = len(x.all)
			x.all = append(x.all, t)
			x.index.Runs = append(x.index.Runs, compare.Entry{Arm: t.arm, Seed: seed, Dir: name})
		}
	}
}

// dirNames makes names of directories of the names of arms.
func dirNames(arms []arm) []string {
	out := make([]string, len(arms))
	seen := map[string]bool{}
	for i, a := range arms {
		name := strings.Map(func(c rune) rune {
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
				return c
			}
			return '-'
		}, a.name)
		name = strings.TrimLeft(name[:min(len(name), 100)], ".-")
		for n := 2; name == "" || seen[name]; n++ {
			name = fmt.Sprintf("%s_%d", name, n)
		}
		seen[name] = true
		out[i] = name
	}
	return out
}

// execute runs all and prints the comparison.
func (x *comparison) execute(env *Env, asJSON bool) error {
	if err := os.MkdirAll(filepath.Dir(x.dir), 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := os.Mkdir(x.dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w; a run is never overwritten: name another directory", err)
	}
	results := make([]*compare.Trial, len(x.all))
	var done atomic.Int64
	var l *compareLab
	r := trials{env: env, done: func(i int, t *trial, m made) {
		results[i] = m.Trial
		done.Add(1)
		l.ended(i, t, m)
	}}
	l, stop, told := x.show(env, &x.live, &r)
	defer told()
	r.begun = func(t *trial) error {
		l.begins(t)
		return nil
	}
	if x.live.tui {
		defer stop() // a panic must not leave the terminal as it is
	} else if virtual(&x.all[0].plan) {
		stop = showTrials(env, len(x.all), func() int { return int(done.Load()) })
	} else {
		r.begun = func(t *trial) error {
			l.begins(t)
			_, err := fmt.Fprintf(env.Stderr, "%s, seed %d (run %d of %d)\n", t.arm, t.plan.Seed, done.Load()+1, len(x.all))
			return err
		}
	}
	failed := r.run(x.all)
	stop()
	if err := x.finished(results); err != nil {
		return errors.Join(failed, err)
	}
	told()
	if failed != nil {
		return failed
	}
	set := x.set(results)
	if err := errors.Join(readCanary(set, x.index.Split), x.findKnees(set)); err != nil {
		return err
	}
	if err := printSet(env.Stdout, set, asJSON); err != nil {
		return err
	}
	if err := checkTrials(set, x.all[0].plan.MaxErrorRate); err != nil {
		return err
	}
	if err := x.spoiledKnee(); err != nil || x.scenario == nil {
		return err
	}
	w := env.Stdout
	if asJSON {
		w = env.Stderr
	}
	return x.scenario.check(w, set)
}

// finished writes which runs there are.
func (x *comparison) finished(results []*compare.Trial) error {
	index := x.index
	index.Runs = nil
	for i, e := range x.index.Runs {
		if results[i] != nil {
			index.Runs = append(index.Runs, e)
		}
	}
	return index.Write(x.dir)
}

// set orders the runs by arm and seed.
func (x *comparison) set(results []*compare.Trial) *compare.Set {
	s := &compare.Set{Dir: x.dir, Seeds: x.index.Seeds}
	for a, arm := range x.index.Arms {
		s.Arms = append(s.Arms, arm.Name)
		row := make([]*compare.Trial, len(x.index.Seeds))
		for i := range row {
			row[i] = results[x.at[[2]int{a, i}]]
		}
		s.Trials = append(s.Trials, row)
	}
	return s
}

func printSet(w io.Writer, s *compare.Set, asJSON bool) error {
	if asJSON {
		return s.JSON(w)
	}
	return s.Text(w)
}

// newTrial is a run with what is known of it by its plan.
func newTrial(p *plan.Plan, arm string, r *render.Report) *compare.Trial {
	t := &compare.Trial{Arm: arm, Seed: p.Seed, Report: r}
	if !p.Remote() && p.Autoscale == "" {
		t.Replicas = answering(p)
	}
	return t
}

// wholeTrial is newTrial of a run of which nothing is left out.
func wholeTrial(p *plan.Plan, arm string, r *render.Report) (*compare.Trial, error) {
	t := newTrial(p, arm, r)
	b, err := query.LoadBalance(r.Dir, t.Replicas)
	if err != nil {
		return nil, err
	}
	t.Balance = &b
	return t, nil
}
