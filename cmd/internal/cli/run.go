package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/vitals"
	"goodput/report/query"
	"goodput/report/render"
)

func newRun(env *Env) *cobra.Command {
	var asJSON, printPlan, dryRun bool
	var flags *planFlags
	var live liveFlags
	var direct []string
	c := &cobra.Command{
		Use:   "run",
		Short: "offer one load and record every request",
		Long: `Run offers one open-loop load: to --base-url, or, without it, to a pool of fake
engines in this process, in virtual time unless --speed says otherwise. The
schedule is fixed before the run and never waits for answers. Every request
becomes a row of Parquet in the run directory; the figures printed at the end
are read back from there.`,
		Example: `  goodput run --request-rate 8 --num-prompts 500 --dataset-name prefix_repetition --replicas 4
  goodput run --request-rate 8 --goodput ttft:2000 --goodput tpot:50 --json
  goodput run --dataset-name agent --agent-preset coding-128k --sessions-rate 0.1
  goodput run --duration 60s --class 'chat request-rate=8 goodput=ttft:300' --class 'batch request-rate=2 random-input-len=4096'
  goodput run --base-url http://127.0.0.1:8000 --request-rate 4 --num-prompts 200 --ignore-eos
  goodput run --target null`,
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
			p, err := flags.resolve(env, (*plan.Plan).Validate)
			if err == nil {
				err = cmp.Or(flags.wrongTarget(&p), flags.twice())
			}
			if err != nil {
				return err
			}
			if _, err := vllmSetup(&p); err != nil {
				return err
			}
			if err := live.checkSteering(&p); err != nil {
				return err
			}
			live.pace(&p, flags.flag("speed"))
			live.hold(env)
			flags.warnIgnored(env.Stderr)
			if p.Shard != "" && len(direct) > 0 {
				return errors.New("--direct: it makes two runs, one after the other, and --shard is of one: leave out one of the two")
			}
			if p.Searches() && !printPlan && !dryRun {
				return calibrate(env, p, asJSON)
			}
			if len(direct) > 0 && !printPlan && !dryRun {
				return runDirect(env, flags, &p, direct, live, asJSON)
			}
			slo, err := observe.ParseSLO(sloItems(&p))
			if err != nil {
				return fmt.Errorf("--goodput: %w", err)
			}
			set, sessions, p, err := openLoad(p)
			if err != nil {
				return err
			}
			if err := checkSLO(&p, slo, sessions != nil); err != nil {
				return err
			}
			switch {
			case printPlan:
				return writePlan(env.Stdout, &p)
			case dryRun && sessions == nil:
				return previewSet(env.Stdout, p, set)
			case dryRun:
				return writePreview(env.Stdout, &p, sessions)
			}
			if err := checkLimits(&p, vitals.ReadLimits()); err != nil {
				return err
			}
			s, err := newSession(env, p, set, slo)
			if err != nil {
				return err
			}
			s.sessions, s.live = sessions, live
			return execute(env, s, asJSON)
		},
	}
	flags = newPlanFlags(c, "load", "shard", "dataset", "target", "null", "hardware", "pool", "routers", "speed", "engine", "result", "export", "output")
	flags.addVLLM(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON")
	c.Flags().BoolVar(&printPlan, "print-plan", false, "print the resolved plan and stop")
	c.Flags().BoolVar(&dryRun, "plan", false, "print what to expect of the load, such as its lengths and hits in prefix caches, and stop")
	addDirect(c, &direct)
	live.add(c)
	flags.also = []string{"json", "print-plan", "plan", "direct", "tui", "tui-control", "monitor-listen"}
	return c
}

// runDirect offers the load twice: to --base-url, and past it. What is left is a
// comparison of one seed.
func runDirect(env *Env, flags *planFlags, p *plan.Plan, direct []string, live liveFlags, asJSON bool) error {
	switch {
	case !p.Remote():
		return errNoRouter
	case live.control || live.listen != "":
		return errors.New("--direct: it makes two runs, one after the other, and --tui-control and --monitor-listen are of one: leave them out; --tui shows both")
	}
	x, err := flags.comparison(env, []arm{{name: viaArm}, directArm(direct)}, 1)
	if err != nil {
		return err
	}
	x.live = live
	return x.execute(env, asJSON)
}

// checkSLO refuses an objective that nothing in the run could meet.
func checkSLO(p *plan.Plan, slo observe.SLO, sessions bool) error {
	switch {
	case slo.OfSessions() && !sessions:
		return exitf(exitUsage, "--goodput: sct, turn and slowdown are of sessions, which this load of %s has none of: leave them out, or use --dataset-name agent", p.DatasetName)
	case p.NoStream && (slo.TTFT > 0 || slo.TTFTSend > 0 || slo.TPOT > 0):
		return exitf(exitUsage, "--goodput: with --no-stream nothing is known of single tokens: bound e2el, or leave --no-stream out")
	case slo.Slowdown > 0 && !p.InPool():
		return exitf(exitUsage, "--goodput: what a session takes alone is known for engines in this process only: leave out slowdown, or --base-url and --target")
	}
	return nil
}

// writePlan prints a plan that can be run.
func writePlan(w io.Writer, p *plan.Plan) error {
	if p.InPool() {
		setup, err := newEngineSetup(p)
		if err != nil {
			return err
		}
		if _, err := newPool(p, setup, clock.NewVirtual()); err != nil {
			return err
		}
	}
	text, err := p.YAML()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// execute runs the plan and prints its figures.
func execute(env *Env, s *session, asJSON bool) error {
	describeLoad(env.Stderr, s)
	describeProbes(env.Stderr, &s.plan)
	describeSpans(env.Stderr, s)
	if err := s.awaitStart(env.Stderr); err != nil {
		return err
	}
	if err := s.open(env); err != nil {
		return err
	}
	// A record that broke off is still worth a look, under the word INVALID: its files
	// may be unable to say that they could not be written.
	lost := s.run(env)
	f, err := query.Load(s.dir)
	if err != nil {
		return exitf(exitInternal, "the run can't be read back: %w", errors.Join(err, lost))
	}
	if lost != nil {
		f.Manifest.Problem = lost.Error()
	}
	report := judged(f, &s.plan, s.slo)
	if err := loadClasses(report, &s.plan); err != nil {
		return exitf(exitInternal, "the run can't be read back: %w", errors.Join(err, lost))
	}
	print := render.Text
	if asJSON {
		print = render.JSON
	}
	if err := print(env.Stdout, report); err != nil {
		return fmt.Errorf("printing the figures: %w (goodput report %s prints them again)", err, s.dir)
	}
	if lost != nil {
		return lost
	}
	if err := saveVLLM(s); err != nil {
		return err
	}
	return verdict(s, report)
}

// verdict is the error, if any, that a finished run ends the program with.
func verdict(s *session, r *render.Report) error {
	switch failed := r.Failed(); {
	case s.dispatcher.Interrupted():
		return exitf(exitInterrupted, "interrupted: %s holds what was recorded", s.dir)
	case s.dispatcher.Err() != nil:
		return exitf(exitInternal, "the schedule broke off: %w", s.dispatcher.Err())
	case r.Scheduled > 0 && float64(failed) > s.plan.MaxErrorRate*float64(r.Scheduled):
		return exitf(exitTarget, "%d of %d requests failed, more than --max-error-rate %v allows", failed, r.Scheduled, s.plan.MaxErrorRate)
	case !r.Health.Valid():
		return exitf(exitInvalid, "the measurement is invalid (%s): %s", r.Health.Verdict, strings.Join(r.Health.Why, "; "))
	}
	return nil
}

// describeLoad prints, before the run, what is about to be offered to whom.
func describeLoad(w io.Writer, s *session) {
	if s.sessions != nil {
		describeSessions(w, s)
		return
	}
	if m := mixOf(s.set); m != nil {
		m.describe(w, s)
		return
	}
	n := s.plan.NumPrompts
	if n == 0 {
		n = s.set.Len()
	}
	d := datasets.Describe(s.set, n)
	fmt.Fprintf(w, "dataset    %s\n", s.set)
	fmt.Fprint(w, "           ")
	if s.plan.Duration > 0 && (s.plan.NumPrompts > 0 || s.set.Timed()) {
		fmt.Fprint(w, "up to ")
	}
	fmt.Fprintf(w, "%d requests, mean %.1f tokens in, %.1f out", d.Items, d.MeanIn(), d.MeanOut())
	if rate, ok := d.Rate(); ok {
		fmt.Fprintf(w, ", recorded over %s at %.4g/s", d.Span.Round(time.Millisecond), rate)
		if rate < 0.01 || rate > 10_000 {
			fmt.Fprintf(w, " (is the time unit of the file what %s says?)", s.plan.DatasetName)
		}
	}
	expectHits(w, s, n)
	for _, note := range traceNotes(s.set) {
		fmt.Fprintf(w, "           %s\n", note)
	}
	describeWarmup(w, &s.plan)
	fmt.Fprintf(w, "target     %s\n", s.targetText)
	fmt.Fprintf(w, "arrivals   %s\n", s.plan.ArrivalText())
}

// runDir is where the run goes: --out, or a name of its own below runs/.
func runDir(p *plan.Plan) string {
	if p.Out != "" {
		return p.Out
	}
	return filepath.Join("runs", clock.Wall().UTC().Format("20060102T150405.000Z")+"-"+p.Hash())
}

// modelsTimeout is how long a server may take to list its models.
const modelsTimeout = 10 * time.Second

// modelName asks the server for its first model when none was named.
func modelName(p *plan.Plan, list func(context.Context) ([]string, error)) (string, error) {
	if p.Model != "" {
		return p.Model, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), modelsTimeout)
	defer cancel()
	names, err := list(ctx)
	if err != nil {
		return "", &exitError{exitTarget, err}
	}
	return names[0], nil
}

// toFile writes to the named file, or to w without a name. The file is touched
// only when there is something to write.
func toFile(w io.Writer, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(w)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}
