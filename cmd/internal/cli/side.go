package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/compare"
	"goodput/report/gate"
	"goodput/report/health"
	"goodput/report/query"
)

// side is what a gate judges, or judges by: the runs of one arm, or one run.
type side struct {
	dir   string
	arm   string // "": dir is one run
	runs  []sideRun
	cache map[string]*compare.Trial
	sweep string // directory of the search of its knee; "": there is none
}

// sideRun is one run of a side.
type sideRun struct {
	seed uint64
	dir  string
	plan plan.Plan
}

// openSide reads what there is in dir. Of a comparison the arm with the given name
// counts, or that of the given number.
func openSide(dir, arm string, number int) (*side, error) {
	x, isSet, err := compare.ReadIndex(dir)
	if err != nil {
		return nil, err
	}
	s := &side{dir: dir, cache: map[string]*compare.Trial{}}
	if !isSet {
		if arm != "" {
			return nil, fmt.Errorf("%s is one run and has no arm %s: name a directory that goodput compare wrote", dir, arm)
		}
		p, err := recordedPlan(dir)
		if err != nil {
			return nil, fmt.Errorf("%w; name the directory of a run, or one that goodput compare wrote", err)
		}
		s.runs = []sideRun{{p.Seed, dir, p}}
		if _, err := os.Stat(filepath.Join(dir, record.KneesName)); err == nil {
			s.sweep = dir
		}
		return s, nil
	}
	if s.arm, err = pickArm(&x, dir, arm, number); err != nil {
		return nil, err
	}
	for _, k := range x.Knees {
		if k.Arm == s.arm {
			s.sweep = filepath.Join(dir, k.Dir)
		}
	}
	for _, e := range x.Runs {
		if e.Arm != s.arm {
			continue
		}
		p, err := recordedPlan(filepath.Join(dir, e.Dir))
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, sideRun{e.Seed, filepath.Join(dir, e.Dir), p})
	}
	slices.SortFunc(s.runs, func(a, b sideRun) int { return slices.Index(x.Seeds, a.seed) - slices.Index(x.Seeds, b.seed) })
	return s, nil
}

func pickArm(x *compare.Index, dir, arm string, number int) (string, error) {
	names := make([]string, len(x.Arms))
	for i, a := range x.Arms {
		names[i] = a.Name
	}
	switch {
	case arm != "" && !slices.Contains(names, arm):
		return "", fmt.Errorf("%s has no arm %q: there are %s", dir, arm, strings.Join(names, ", "))
	case arm != "":
		return arm, nil
	case number == 1 && len(names) > 2:
		return "", fmt.Errorf("%s has %d arms: name the one to judge with --arm, of %s", dir, len(names), strings.Join(names[1:], ", "))
	case number >= len(names):
		return "", fmt.Errorf("%s has one arm: give a baseline", dir)
	}
	return names[number], nil
}

// sweeps reports whether the side is a sweep and has no runs.
func (s *side) sweeps() bool { return s.sweep == s.dir }

// worst is the statistic of a rule in that stretch of run i in which it is furthest from
// holding. Stretches with too few requests for it, or none, do not count.
func (s *side) worst(i int, r gate.Rule, scopes []query.Scope) (gate.Statistic, error) {
	run := &s.runs[i]
	all, err := query.Windows(run.dir, r.For, scopes...)
	if err != nil {
		return gate.Statistic{}, err
	}
	if len(all) == 0 {
		return gate.Statistic{}, fmt.Errorf("%s is shorter than %v: there is no such stretch of it", run.dir, r.For)
	}
	slo, err := recordedSLO(run.dir)
	if err != nil {
		return gate.Statistic{}, err
	}
	worst := gate.Statistic{Value: math.NaN()}
	for _, f := range all {
		v := newTrial(&run.plan, s.arm, judged(f, &run.plan, slo)).Statistic(r.Metric, r.Agg)
		if math.IsNaN(v.Value) || r.Metric.Kind == gate.Latency && v.N < r.MinRequests() {
			continue
		}
		if math.IsNaN(worst.Value) || r.Worse(v.Value, worst.Value) {
			worst = v
		}
	}
	return worst, nil
}

// armOfRouter names the arm of a comparison that a rule routes.
func armOfRouter(dir, router string) (string, error) {
	x, isSet, err := compare.ReadIndex(dir)
	if err != nil {
		return "", err
	}
	if !isSet {
		return "", fmt.Errorf("{policy=%s}: %s is one run: a policy is an arm of a comparison", router, dir)
	}
	for _, a := range x.Arms {
		for _, set := range a.Set {
			if set.Key == "router" && set.Value == router {
				return a.Name, nil
			}
		}
	}
	return "", fmt.Errorf("{policy=%s}: no arm of %s has this router", router, dir)
}

// text names the side for people.
func (s *side) text() string {
	if s.arm == "" {
		return s.dir
	}
	return s.dir + ", arm " + s.arm
}

// trial reads run i, of which the requests in all scopes count.
func (s *side) trial(i int, scopes []query.Scope) (*compare.Trial, error) {
	run := &s.runs[i]
	key := fmt.Sprintf("%d %q", i, scopes)
	if t := s.cache[key]; t != nil {
		return t, nil
	}
	f, err := query.Load(run.dir, scopes...)
	if err != nil {
		return nil, err
	}
	slo, err := recordedSLO(run.dir)
	if err != nil {
		return nil, err
	}
	t := newTrial(&run.plan, s.arm, judged(f, &run.plan, slo))
	if len(scopes) == 0 {
		if t, err = wholeTrial(&run.plan, s.arm, t.Report); err != nil {
			return nil, err
		}
	}
	s.cache[key] = t
	return t, nil
}

// scopesOf are those labels of a rule that rows have. The arm is one in a run with several,
// and not in a comparison, whose runs have one each.
func scopesOf(r gate.Rule, several bool) []query.Scope {
	var out []query.Scope
	for _, l := range r.Scope {
		if l.Name != "policy" && (l.Name != "arm" || several) {
			out = append(out, query.Scope{Label: l.Name, Value: l.Value})
		}
	}
	return out
}

// differing names the fields in which the loads of two runs differ; the seed is not one.
func differing(a, b *plan.Plan, groups ...string) []string {
	var out []string
	groups = append(groups, "load", "dataset")
	for _, f := range plan.Fields() {
		if !slices.Contains(groups, f.Group) || !f.Hashed || f.Key == "seed" || f.Key == "max-error-rate" {
			continue
		}
		if x, y := f.Get(a), f.Get(b); x != y {
			out = append(out, fmt.Sprintf("%s is %s, %s in the baseline", f.Key, orNone(x), orNone(y)))
		}
	}
	if virtual(a) != virtual(b) {
		out = append(out, "one is in virtual time, the other in real time")
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "not given"
	}
	return s
}

// problem says why the run can't be judged; "": it can. That nothing completed is for
// the rules: one about latencies is invalid, one about errors is not.
func problem(t *compare.Trial, r *sideRun) string {
	if h := t.Report.Health; !h.Valid() && (h.Verdict != health.TooFewSamples || t.Report.Scheduled == 0) {
		return fmt.Sprintf("%s is invalid (%s): %s", r.dir, h.Verdict, strings.Join(h.Why, "; "))
	}
	if n, _, _ := t.Report.Manifest.Steered(); n > 0 {
		return fmt.Sprintf("the rate of %s was changed by hand (%d times): it did not have the load of its plan; run it again without --tui-control", r.dir, n)
	}
	if state := t.Report.Manifest.State; state != record.Complete {
		return fmt.Sprintf("%s is not complete (%s): run it again", r.dir, state)
	}
	return ""
}
