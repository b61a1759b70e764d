package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/report/knee"
	"goodput/report/render"
)

func newSweep(env *Env) *cobra.Command {
	var asJSON, printPlan bool
	var flags *planFlags
	var live liveFlags
	c := &cobra.Command{
		Use:   "sweep",
		Short: "find the highest rate at which an objective holds, and the curve around it",
		Long: `Sweep searches the knee: the highest open-loop rate at which the objective holds.
Each seed is searched by itself, with the same arrivals and requests at all rates, by
a bracket and bisection; the interval is the one between seeds. A trial judges
--num-prompts requests after a warm-up, and the knee belongs to trials of that many:
longer ones see more of the rare bad stretches, so their knee is lower.

A trial ends early when its verdict is certain. On engines in this process time is
virtual and trials run side by side; against --base-url they follow each other, with a
pause in between, and one that this generator spoiled is repeated twice at the most.

Without an objective it prints the curve over a grid of rates, and where it bends.`,
		Example: `  goodput sweep --replicas 4 --slo 'ttft p(95) <= 2s, tpot p(95) <= 50ms'
  goodput sweep --goodput 'ttft:2000 tpot:50' --attainment 0.95 --preset smoke --json
  goodput sweep --method grid --min-rate 5 --max-rate 100 --preset smoke
  goodput sweep --base-url http://127.0.0.1:8000 --slo 'ttft p(90) <= 1s' --preset smoke --start 4 --ignore-eos`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: every parameter is a flag", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if flags.flag("router") == routerList {
				return writeRouters(env.Stdout)
			}
			if flags.flag("shaper") == routerList {
				return writeShapers(env.Stdout)
			}
			p, err := flags.resolve(env, (*plan.Plan).ValidateSweep)
			if err == nil {
				err = flags.wrongTarget(&p)
			}
			if err == nil {
				err = cmp.Or(flags.twice(), checkSearched(&p))
			}
			if err != nil {
				return err
			}
			live.hold(env)
			s, err := newSweepRun(env, p)
			if err != nil {
				return err
			}
			s.live = live
			if printPlan {
				text, err := p.YAML()
				if err == nil {
					_, err = env.Stdout.Write(text)
				}
				return err
			}
			return s.execute(asJSON)
		},
	}
	flags = newPlanFlags(c, "sweep", "load", "dataset", "target", "hardware", "pool", "engine", "output")
	for _, name := range []string{"request-rate", "stages", "ramp-up-strategy", "ramp-up-start-rps", "ramp-up-end-rps", "concurrency", "duration", "rescale", "max-error-rate"} {
		c.Flags().Lookup(name).Hidden = true // refused, or without a meaning here
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	c.Flags().BoolVar(&printPlan, "print-plan", false, "print the plan and stop")
	live.addLab(c)
	flags.also = []string{"json", "print-plan", "tui"}
	return c
}

// sweepRun is one sweep.
type sweepRun struct {
	env        *Env
	given      plan.Plan // as it is recorded, so that it can be repeated
	plan       plan.Plan // with what --preset stands for
	objectives []knee.Objective
	runner     *trialRunner
	out        render.Sweep
	arm        string // its name in a comparison; empty: by what is loaded
	live       liveFlags
	lab        *sweepLab // nil: nobody looks on
}

// checkSearched refuses what a search has no files for: its trials leave no rows, and so
// nothing that spans or samples of engines could be held against.
func checkSearched(p *plan.Plan) error {
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"otlp-listen", p.OTLPListen != ""},
		{"otlp-http-listen", p.OTLPHTTPListen != ""},
		{"metrics-url", len(p.MetricsURL) > 0 && p.MetricsURL[0] != plan.NoMetrics},
	} {
		if f.given {
			return exitf(exitUsage, "--%s: the trials of a sweep keep no requests that this could be held against: leave it out, and give it to goodput run at the rate that the sweep finds", f.flag)
		}
	}
	return nil
}

func newSweepRun(env *Env, p plan.Plan) (*sweepRun, error) {
	s := &sweepRun{env: env, given: p, plan: p.WithSweepDefaults()}
	slo, err := observe.ParseSLO(sloItems(&p))
	if err != nil {
		return nil, fmt.Errorf("--goodput: %w", err)
	}
	if slo.OfSessions() {
		return nil, fmt.Errorf("--goodput: sct, turn and slowdown are of sessions, and a sweep is of single requests: leave them out")
	}
	if s.objectives, err = objectives(&p, slo); err != nil {
		return nil, err
	}
	if p.Method == plan.SweepRamp && len(s.objectives) != 1 {
		return nil, fmt.Errorf("--method ramp: it looks for the first miss of one objective, and there are %d: give one --slo", len(s.objectives))
	}
	if s.runner, err = newTrialRunner(env, s.plan, slo); err != nil {
		return nil, err
	}
	return s, nil
}

// objectives are those of --slo, and then that of --goodput.
func objectives(p *plan.Plan, slo observe.SLO) ([]knee.Objective, error) {
	var out []knee.Objective
	promise := slo.String()
	if p.Mixed() {
		promise = promiseOfAll(p)
	}
	for _, text := range p.SLO {
		o, err := knee.ParseObjective(text)
		if err != nil {
			return nil, fmt.Errorf("--slo: %w", err)
		}
		if o.Promised() && promise == "" {
			return nil, fmt.Errorf("--slo: %q asks for the attainment of what is promised to each request, and nothing is to some or all: give --goodput, such as 'ttft:2000 tpot:50'", text)
		}
		out = append(out, o)
	}
	if promise != "" {
		out = append(out, knee.Joint(promise, float64(p.Attainment)))
	}
	return out, nil
}

// seeds are the n first ones after those that were used.
func seedsFrom(first uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// verifySeeds is how many fresh seeds check a knee outside of its bracket.
const verifySeeds = 2

// repeats is how often more a trial is run that this generator spoiled: on a machine that
// others use a few milliseconds are soon lost.
const repeats = 2

// config says how to search, after the probes.
func (s *sweepRun) config(ctx context.Context) (knee.Config, error) {
	p := &s.plan
	c := knee.Config{
		Seeds: seedsFrom(p.Seed, p.Seeds), Verify: seedsFrom(p.Seed+uint64(p.Seeds), verifySeeds), Tolerance: float64(p.Tolerance),
		Start: float64(p.Start), Min: float64(p.MinRate), Max: float64(p.MaxRate), Parallel: 1, Repeats: repeats, Progress: s.progress,
	}
	if s.runner.virtual() {
		c.Parallel, c.Repeats = runtime.GOMAXPROCS(0), 0
	}
	if err := s.runner.probeAlone(ctx); err != nil {
		return c, err
	}
	if c.Start == 0 {
		capacity, err := s.runner.burst(ctx)
		if err != nil {
			return c, err
		}
		c.Start = capacity / 2
		if c.Min > 0 {
			c.Start = max(c.Start, c.Min)
		}
		if c.Max > 0 {
			c.Start = min(c.Start, c.Max)
		}
	}
	const far = 1024
	if c.Min == 0 {
		c.Min = c.Start / far
	}
	if c.Max == 0 {
		c.Max = c.Start * far
	}
	return c, nil
}

// progress tells of a trial that has ended: on a terminal in one line, and against a
// server, where trials take their time, in one line each.
func (s *sweepRun) progress(t knee.Trial) {
	if s.lab.ended(t); s.live.tui {
		return
	}
	line := fmt.Sprintf("seed %d  %.4g/s  %s  %s", t.Seed, t.Rate, render.Verdict(&t), t.Stop)
	switch {
	case s.env.Terminal:
		fmt.Fprint(s.env.Stderr, clearLine, line)
	case !s.runner.virtual():
		fmt.Fprintln(s.env.Stderr, line)
	}
}

// execute runs the sweep, records it and prints it.
func (s *sweepRun) execute(asJSON bool) error {
	started := clock.Wall()
	failure, err := s.perform()
	if err != nil {
		return err
	}
	print := render.SweepText
	if asJSON {
		print = render.SweepJSON
	}
	if len(s.out.Knees) > 0 || failure == nil {
		if err := print(s.env.Stdout, &s.out); err != nil {
			return fmt.Errorf("printing the sweep: %w (the trials are in %s)", err, s.out.Dir)
		}
	}
	fmt.Fprintf(s.env.Stderr, "%d trials took %.1f s\n", s.trials(), clock.Wall().Sub(started).Seconds())
	return s.verdict(failure)
}

// perform runs the sweep and records it; failure is what ended it early.
func (s *sweepRun) perform() (failure, err error) {
	files, err := s.create()
	if err != nil {
		return nil, err
	}
	stop, done := s.show()
	defer done()
	defer stop() // a panic must not leave the terminal as it is
	ctx, release := s.interruptible()
	failure = s.search(ctx)
	release()
	stop()
	if s.env.Terminal {
		fmt.Fprint(s.env.Stderr, clearLine)
	}
	s.out.Interrupted = errors.Is(failure, context.Canceled)
	if err := s.record(files); err != nil {
		return failure, exitf(exitInvalid, "recording %s: %w", s.out.Dir, errors.Join(err, failure))
	}
	return failure, nil
}

func (s *sweepRun) trials() (n int) {
	for i := range s.out.Knees {
		n += len(s.out.Knees[i].Trials)
	}
	return n
}

// interruptible is a context that the first interrupt ends.
func (s *sweepRun) interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	interrupts, release := s.env.interrupts()
	go func() {
		select {
		case <-interrupts:
			fmt.Fprintln(s.env.Stderr, "goodput: interrupted: stopping the trial")
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		release()
	}
}

// search runs all trials. What was found before an error is in s.out.
func (s *sweepRun) search(ctx context.Context) error {
	c, err := s.config(ctx)
	if err != nil {
		return err
	}
	s.out.Seeds = c.Seeds
	switch {
	case len(s.objectives) == 0 || s.plan.Method == plan.SweepGrid:
		return s.grid(ctx, c)
	case s.plan.Method == plan.SweepRamp:
		return s.ramp(ctx, c)
	}
	for i := range s.objectives {
		s.lab.objective(s.objectives[i].String())
		k, err := knee.Find(ctx, &prober{s.runner, s.objectives[i]}, c)
		s.out.Knees = append(s.out.Knees, render.SweepKnee{SLO: s.objectives[i].String(), Knee: k})
		if err != nil {
			return err
		}
		s.lab.found(&k)
	}
	return nil
}

// grid runs whole trials at a grid of rates, and finds its bends if there is no
// objective.
func (s *sweepRun) grid(ctx context.Context, c knee.Config) error {
	s.out.Method = plan.SweepGrid
	lo, hi := c.Start/2, 8*c.Start // a burst tells less than the capacity
	if s.plan.MinRate > 0 {
		lo = float64(s.plan.MinRate)
	}
	if s.plan.MaxRate > 0 {
		hi = float64(s.plan.MaxRate)
	}
	if !(lo < hi) {
		return fmt.Errorf("--min-rate: %.4g is not below the highest rate, %.4g: give --max-rate", lo, hi)
	}
	rates := knee.Rates(lo, hi, s.plan.Points)
	s.runner.whole = true
	list := s.objectives
	if len(list) == 0 {
		list = []knee.Objective{knee.None()}
	}
	for i := range list {
		p := &prober{s.runner, list[i]}
		k := render.SweepKnee{SLO: list[i].String()}
		s.lab.objective(k.SLO)
		var err error
		if k.Zero, err = p.Zero(ctx); err != nil {
			return err
		}
		k.Trials, err = knee.Grid(ctx, p, c, rates)
		s.out.Knees = append(s.out.Knees, k)
		if err != nil {
			return err
		}
	}
	if len(s.objectives) == 0 {
		s.out.Bends = bends(s.out.Knees[0].Trials)
	}
	return nil
}

// bends are the inflections of a curve.
func bends(trials []knee.Trial) []render.Bend {
	points := knee.Points(trials)
	if len(points) < 3 {
		return nil
	}
	covered := fmt.Sprintf("sweep from %.4g to %.4g/s", points[0].Offered, points[len(points)-1].Offered)
	var out []render.Bend
	c, bent, err := knee.BrokenStick(points)
	note := "delivered = min(offered, c); does not depend on the range; " + covered
	if err != nil || !bent {
		c, note = math.NaN(), "the sweep did not reach capacity; "+covered
	}
	out = append(out, render.Bend{Name: "broken stick", Rate: c, Note: note})
	power, err := knee.Power(points)
	note = "largest delivered / mean latency (Kleinrock); between rates of the grid nothing is known; " + covered
	if err != nil {
		power, note = math.NaN(), err.Error()
	}
	out = append(out, render.Bend{Name: "power", Rate: power, Note: note})
	bent2, err := knee.Kneedle(points, func(p knee.Point) float64 { return p.Delivered }, knee.Concave)
	at, note := math.NaN(), "sweep-dependent: of delivered over offered; "+covered
	if err != nil {
		note = err.Error()
	} else if len(bent2) > 0 {
		at = bent2[0]
	}
	return append(out, render.Bend{Name: "kneedle", Rate: at, Note: note})
}

// verdict is the error, if any, that a sweep ends the program with.
func (s *sweepRun) verdict(failure error) error {
	switch {
	case errors.Is(failure, context.Canceled):
		return exitf(exitInterrupted, "interrupted: %s holds the trials that were complete", s.out.Dir)
	case failure != nil:
		return failure
	}
	var invalid, missed []string
	for i := range s.out.Knees {
		k := &s.out.Knees[i]
		switch {
		case k.Outcome == knee.Inconclusive || k.Spoiled():
			invalid = append(invalid, k.SLO+": "+k.Why)
		case k.Outcome == knee.Infeasible:
			missed = append(missed, k.SLO+": "+k.Why)
		}
	}
	if len(invalid) > 0 {
		return exitf(exitInvalid, "trials were spoiled by the generator: %s", strings.Join(invalid, "; "))
	}
	if len(missed) > 0 {
		return exitf(exitGate, "no rate meets the objective: %s", strings.Join(missed, "; "))
	}
	return nil
}
