package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/report/compare"
	"goodput/report/gate"
	"goodput/report/query"
)

// gateFlags are those of goodput gate.
type gateFlags struct {
	rules                  []string
	margin                 string
	arm, baseArm           string
	junit, markdown        string
	strict, asJSON, github bool
	force, plan            bool
	test, slo              string
}

func newGate(env *Env) *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use:   "gate RUN [BASELINE]",
		Short: "pass or fail finished runs by rules, for CI",
		Long: `Gate judges finished runs by rules: one run, a run against a baseline with the same
load and seed, or the runs of a directory that goodput compare wrote, whose second arm
is judged, against the first, paired by seed. A rule is

  [{class=NAME}] METRIC [AGGREGATE] < <= > >= ==  VALUE [for DURATION]
  [{class=NAME}] METRIC [AGGREGATE] vs baseline <= +10%

'for 30s' asks it of each 30 s of the run. The knee is that of a directory that goodput
sweep wrote, or goodput compare --knee: 'knee >= 40', 'knee vs baseline >= -5%'. Others are
such as 'ttft p(95) <= 800ms', 'error_rate <= 0.1%' or 'ttft p(99) vs baseline <= +10%'.
A rule fails only if the runs make it certain at 95 %, all rules taken together;
if they leave it open, it is inconclusive, which passes unless --strict. A rule without
data, or of a run whose generator was late, is invalid: it never passes.

Exit codes: 0 passed, 1 failed, 2 usage, 3 inconclusive and --strict, 4 invalid,
5 more errors than the run's --max-error-rate and no rule about errors.`,
		Example: `  goodput gate runs/a --gate 'ttft p(95) <= 800ms' --gate 'error_rate <= 0.1%'
  goodput compare --router p2c --router round-robin --request-rate 60 --out runs/c
  goodput gate runs/c --gate 'ttft p(95) vs baseline <= +10%' --junit gate.xml --markdown gate.md
  goodput gate --plan runs/c --gate 'ttft p(95) vs baseline <= +5%'`,
		RunE: func(c *cobra.Command, args []string) error {
			margin, err := parseMargin(f.margin)
			if err != nil {
				return err
			}
			if f.plan && len(f.rules) == 0 {
				f.rules = planRules
			}
			rules, err := parseRules(f.rules, margin)
			if err != nil {
				return err
			}
			if _, err := gate.ParseTest(f.test); err != nil {
				return fmt.Errorf("--test: %w", err)
			}
			g, err := f.open(args, rules)
			if err != nil {
				return err
			}
			if f.plan {
				return g.plan(env.Stdout, f.asJSON)
			}
			g.outcome.Command = "goodput gate " + quoted(env.Args[min(1, len(env.Args)):])
			return g.judge(env, &f)
		},
	}
	c.AddCommand(newCalibrate(env))
	c.Flags().StringArrayVar(&f.rules, "gate", nil, "a rule; repeatable")
	c.Flags().StringVar(&f.margin, "margin", "5%", "what a rule that ends in 'vs baseline' allows to get worse")
	c.Flags().StringVar(&f.arm, "arm", "", "the arm of a comparison to judge; empty: the second")
	c.Flags().StringVar(&f.baseArm, "baseline-arm", "", "the arm of a comparison to judge by; empty: the first")
	c.Flags().StringVar(&f.test, "test", string(gate.Student), "what decides rules against a baseline: t (Student's, of the pairs) or signflip (exact, of six pairs or more, whatever their distribution)")
	c.Flags().StringVar(&f.slo, "slo", "", "of a sweep with several objectives, the one whose knee rules are about")
	c.Flags().BoolVar(&f.strict, "strict", false, "an inconclusive rule ends with exit code 3")
	c.Flags().BoolVar(&f.force, "force", false, "compare runs of different loads or seeds all the same")
	c.Flags().StringVar(&f.junit, "junit", "", "file for the verdicts as JUnit XML")
	c.Flags().StringVar(&f.markdown, "markdown", "", "file for the verdicts as a comment on a pull request")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the verdicts as JSON")
	c.Flags().BoolVar(&f.github, "github", false, "print annotations for GitHub's workflows, too")
	c.Flags().BoolVar(&f.plan, "plan", false, "judge nothing: print how many seeds and requests would tell changes, by the spread between the seeds of a comparison")
	return c
}

// parseMargin reads a percentage.
func parseMargin(text string) (float64, error) {
	r, err := gate.Parse("ttft p(50) vs baseline <= +" + strings.TrimPrefix(text, "+"))
	if err != nil || r.Value < 0 || strings.ContainsAny(text, "@ ") {
		return 0, fmt.Errorf("--margin: %q is no percentage such as 5%%", text)
	}
	return r.Value, nil
}

// parseRules reads the rules and refuses those that finished runs can't be judged by.
func parseRules(texts []string, margin float64) ([]gate.Rule, error) {
	if len(texts) == 0 {
		return nil, errors.New("by which rule? give --gate, as in: --gate 'ttft p(95) <= 800ms'")
	}
	var out []gate.Rule
	var errs []error
	for _, text := range texts {
		r, err := gate.ParseWith(text, margin)
		switch {
		case err != nil:
			err = fmt.Errorf("--gate: %w", err)
		}
		for _, l := range r.Scope {
			switch {
			case err != nil:
			case !slices.Contains([]string{"class", "tenant", "replica", "phase", "arm", "policy"}, l.Name):
				err = fmt.Errorf("--gate %q: the requests of a run have no column %s: use class, tenant, replica, phase, or arm and policy in a comparison", text, l.Name)
			case l.Name == "phase" && !slices.Contains([]string{"warmup", "measure", "drain"}, l.Value):
				err = fmt.Errorf("--gate %q: no phase is called %s: use warmup, measure or drain, by when requests were due", text, l.Value)
			case l.Name == "phase" && l.Value != "measure" && r.For > 0:
				err = fmt.Errorf("--gate %q: stretches of a time are those of the window, and %s is outside of it: leave one of the two out", text, l.Value)
			}
		}
		out, errs = append(out, r), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// gating is a gate with what it judges.
type gating struct {
	rules     []gate.Rule
	blocks    [][]gate.Block // of each rule
	why       []string       // of each rule, why its runs can't be judged; "": they can
	failed    error          // too many errors
	exact     bool
	outcome   gate.Outcome
	base, run *side
	arms      map[string]*side
}

// open reads what the rules need.
func (f *gateFlags) open(args []string, rules []gate.Rule) (*gating, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errors.New("which runs? name the directory of one, and perhaps of its baseline, or one of goodput compare: goodput gate runs/a")
	}
	_, isSet, err := compare.ReadIndex(args[0])
	if err != nil {
		return nil, err
	}
	g := &gating{rules: rules, arms: map[string]*side{}, exact: true}
	if g.run, err = openSide(args[0], f.arm, 1); err != nil {
		return nil, err
	}
	switch {
	case len(args) == 2:
		g.base, err = openSide(args[1], f.baseArm, 0)
	case isSet:
		g.base, err = openSide(args[0], f.baseArm, 0)
	case f.baseArm != "":
		err = errors.New("--baseline-arm: there is no comparison")
	}
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if r.Baseline && g.base == nil {
			return nil, fmt.Errorf("--gate %q: there is no baseline: name its directory behind that of the run", r)
		}
	}
	for _, r := range rules {
		collect := g.collect
		if r.Metric.Name == "knee" {
			collect = func(r gate.Rule, force bool) error { return g.knees(r, f.slo, force) }
		}
		if err := collect(r, f.force); err != nil {
			return nil, err
		}
	}
	if err := f.enough(g); err != nil {
		return nil, err
	}
	g.describe()
	return g, nil
}

// candidate is the side that a rule judges.
func (g *gating) candidate(r gate.Rule) (*side, error) {
	for _, l := range r.Scope {
		if l.Name == "policy" {
			name, err := armOfRouter(g.run.dir, l.Value)
			if err != nil {
				return nil, fmt.Errorf("--gate %q: %w", r, err)
			}
			l.Value = name
		} else if l.Name != "arm" || g.run.arm == "" {
			continue // of one run it is a column
		}
		if s := g.arms[l.Value]; s != nil {
			return s, nil
		}
		s, err := openSide(g.run.dir, l.Value, 1)
		if err != nil {
			return nil, fmt.Errorf("--gate %q: %w", r, err)
		}
		g.arms[l.Value] = s
		return s, nil
	}
	return g.run, nil
}

// collect takes the statistics of one rule.
func (g *gating) collect(r gate.Rule, force bool) error {
	run, err := g.candidate(r)
	if err != nil {
		return err
	}
	base := g.base
	if !r.Baseline {
		base = nil
	} else if err := paired(run, base, force); err != nil {
		return err
	}
	if run.sweeps() {
		return exitf(exitUsage, "--gate %q: %s is a sweep, which keeps trials and no requests: gate on its knee, or on a run", r, run.dir)
	}
	var blocks []gate.Block
	why := ""
	scopes := scopesOf(r, run.arm == "")
	for i := range run.runs {
		b := gate.Block{Seed: run.runs[i].seed}
		for _, x := range []struct {
			side *side
			to   *gate.Statistic
		}{{run, &b.Candidate}, {base, &b.Baseline}} {
			if x.side == nil {
				continue
			}
			t, problem, err := g.trial(x.side, i, r, scopes)
			if err != nil {
				return fmt.Errorf("--gate %q: %w", r, err)
			}
			if why == "" {
				why = problem
			}
			*x.to = t.Statistic(r.Metric, r.Agg)
			if r.For > 0 {
				if *x.to, err = x.side.worst(i, r, scopes); err != nil {
					return exitf(exitInvalid, "--gate %q: %w", r, err)
				}
			}
		}
		blocks = append(blocks, b)
	}
	g.blocks, g.why = append(g.blocks, blocks), append(g.why, why)
	return nil
}

// trial reads one run, and says why it can't be judged, if it can't.
func (g *gating) trial(s *side, i int, r gate.Rule, scopes []query.Scope) (*compare.Trial, string, error) {
	whole, err := s.trial(i, nil)
	if err != nil {
		return nil, "", err
	}
	g.exact = g.exact && whole.Report.Manifest.Virtual
	why := problem(whole, &s.runs[i])
	most, failed, all := s.runs[i].plan.MaxErrorRate, whole.Report.Failed(), whole.Report.Scheduled
	if float64(failed) > most*float64(all) && !g.aboutErrors() {
		why = fmt.Sprintf("%d of %d requests of %s failed, more than its --max-error-rate %v allows", failed, all, s.runs[i].dir, most)
		g.failed = exitf(exitTarget, "%s; a rule about error_rate would judge that", why)
	}
	if len(scopes) == 0 {
		return whole, why, nil
	}
	t, err := s.trial(i, scopes)
	return t, why, err
}

// enough checks that the test can tell anything of so many pairs.
func (f *gateFlags) enough(g *gating) error {
	least, most := gate.Test(f.test).Pairs()
	for i, r := range g.rules {
		if n := len(g.blocks[i]); r.Baseline && gate.Test(f.test) == gate.SignFlip && (n < least || n > most) {
			return exitf(exitUsage, "--test %s: it takes %d to %d pairs, and %q has %d: compare with as many --seeds, or leave it out", f.test, least, most, r, n)
		}
	}
	return nil
}

// aboutErrors reports whether a rule judges errors.
func (g *gating) aboutErrors() bool {
	return slices.ContainsFunc(g.rules, func(r gate.Rule) bool {
		return slices.Contains([]string{"error_rate", "shed", "truncated"}, r.Metric.Name)
	})
}

// paired checks that the runs of two sides, one by one, had the same load.
func paired(run, base *side, force bool) error {
	if len(run.runs) != len(base.runs) {
		return exitf(exitInvalid, "the runs are not paired: %s has %d, %s has %d", run.text(), len(run.runs), base.text(), len(base.runs))
	}
	for i := range run.runs {
		a, b := &run.runs[i], &base.runs[i]
		if force {
			continue
		}
		if a.seed != b.seed {
			return exitf(exitInvalid, "the runs are not paired: %s has seed %d, %s has seed %d; equal seeds have equal arrivals and prompts (--force compares them all the same)",
				a.dir, a.seed, b.dir, b.seed)
		}
		if d := differing(&a.plan, &b.plan); len(d) > 0 {
			return exitf(exitUsage, "%s and %s had different loads, so that their difference says nothing of what answered (--force compares them all the same):\n  %s",
				a.dir, b.dir, strings.Join(d, "\n  "))
		}
	}
	return nil
}

// judge decides, prints and writes the verdicts.
func (g *gating) judge(env *Env, f *gateFlags) error {
	o := &g.outcome
	o.Results = gate.Judge(g.rules, g.blocks, gate.Data{Exact: g.exact, Test: gate.Test(f.test)})
	for i, why := range g.why {
		if why != "" {
			o.Results[i].Verdict, o.Results[i].Why = gate.Invalid, why
		}
	}
	o.Verdict = gate.Worst(o.Results)
	print := gate.Text
	if f.asJSON {
		print = gate.JSON
	}
	if err := print(env.Stdout, o); err != nil {
		return err
	}
	if f.github {
		to := env.Stdout
		if f.asJSON {
			to = env.Stderr
		}
		if err := gate.Annotations(to, o); err != nil {
			return err
		}
	}
	for _, out := range []struct {
		flag, name string
		write      func(io.Writer, *gate.Outcome) error
	}{{"junit", f.junit, gate.JUnit}, {"markdown", f.markdown, gate.Markdown}} {
		if out.name == "" {
			continue
		}
		if err := toFile(nil, out.name, func(w io.Writer) error { return out.write(w, o) }); err != nil {
			return fmt.Errorf("--%s: %w", out.flag, err)
		}
	}
	return g.code(f.strict)
}

// code is the error that carries the exit code.
func (g *gating) code(strict bool) error {
	var why []string
	for _, r := range g.outcome.Results {
		if r.Verdict == g.outcome.Verdict {
			why = append(why, r.Rule.String())
		}
	}
	of := strings.Join(why, "; ")
	switch {
	case g.failed != nil:
		return g.failed
	case g.outcome.Verdict == gate.Fail:
		return exitf(exitGate, "gate failed: %s", of)
	case g.outcome.Verdict == gate.Invalid:
		return exitf(exitInvalid, "gate invalid: %s", of)
	case g.outcome.Verdict == gate.Inconclusive && strict:
		return exitf(exitUnsure, "gate inconclusive: %s", of)
	}
	return nil
}

// describe fills in what the verdicts rest on.
func (g *gating) describe() {
	o := &g.outcome
	o.Scenario = g.run.text()
	add := func(name, value string) {
		if value != "" {
			o.Conditions = append(o.Conditions, [2]string{name, value})
		}
	}
	about := func(prefix string, s *side) {
		t, err := s.trial(0, nil)
		if err != nil {
			return // it was read before
		}
		m := t.Report.Manifest
		add(prefix, s.text())
		add(prefix+" target", m.Target["text"])
		add(prefix+" plan", m.PlanHash)
		add(prefix+" version", m.Version)
	}
	about("candidate", g.run)
	if g.base != nil && slices.ContainsFunc(g.rules, func(r gate.Rule) bool { return r.Baseline }) {
		o.Scenario += " against " + g.base.text()
		about("baseline", g.base)
	}
	seeds := make([]string, len(g.run.runs))
	for i, r := range g.run.runs {
		seeds[i] = fmt.Sprint(r.seed)
	}
	add("seeds", strings.Join(seeds, " "))
	clock := "real time"
	if g.exact {
		clock = "virtual time"
	}
	add("clock", clock)
}

// quoted is a command line as a shell reads it.
func quoted(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if out[i] = a; a == "" || strings.ContainsAny(a, " \t'\"$`\\!*?[]{}()<>|&;#~\n") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}
