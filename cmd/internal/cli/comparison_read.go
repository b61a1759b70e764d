package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"goodput/report/compare"
	"goodput/report/query"
)

// readSet reads the runs of a comparison from their files, and what was searched and split
// beside them. A run that the comparison did not come to is nil.
func readSet(dir string, x *compare.Index) (*compare.Set, error) {
	s := &compare.Set{Dir: dir, Seeds: x.Seeds, Trials: make([][]*compare.Trial, len(x.Arms))}
	for a, arm := range x.Arms {
		s.Arms = append(s.Arms, arm.Name)
		s.Trials[a] = make([]*compare.Trial, len(x.Seeds))
	}
	for _, e := range x.Runs {
		t, err := readArm(filepath.Join(dir, e.Dir), e.Arm)
		if err != nil {
			return nil, err
		}
		s.Trials[slices.Index(s.Arms, e.Arm)][slices.Index(x.Seeds, e.Seed)] = t
	}
	for _, k := range x.Knees {
		sweep, err := loadSweep(filepath.Join(dir, k.Dir))
		if err != nil {
			return nil, err
		}
		if len(sweep.Knees) != 1 {
			return nil, fmt.Errorf("%s: %d knees for one objective", filepath.Join(dir, k.Dir), len(sweep.Knees))
		}
		s.SetKnee(slices.Index(s.Arms, k.Arm), &compare.Knee{SLO: sweep.Knees[0].SLO, N: sweep.N, Knee: sweep.Knees[0].Knee})
	}
	return s, readCanary(s, x.Split)
}

// readArm reads one run.
func readArm(dir, arm string) (*compare.Trial, error) {
	p, err := recordedPlan(dir)
	if err != nil {
		return nil, err
	}
	r, err := loadReport(dir)
	if err != nil {
		return nil, err
	}
	return wholeTrial(&p, arm, r)
}

// readCanary adds what each arm saw of the split runs, if there are any.
func readCanary(s *compare.Set, x *compare.SplitIndex) error {
	if x == nil {
		return nil
	}
	if len(x.Dirs) != len(s.Seeds) || len(s.Arms) != len(canaryArms) {
		return fmt.Errorf("reading %s: %d split runs of %d arms for %d seeds", s.Dir, len(x.Dirs), len(s.Arms), len(s.Seeds))
	}
	out := &compare.Set{Dir: s.Dir, Arms: s.Arms, Seeds: s.Seeds}
	for a, name := range s.Arms {
		var row []*compare.Trial
		for _, dir := range x.Dirs {
			dir = filepath.Join(s.Dir, dir)
			p, err := recordedPlan(dir)
			if err != nil {
				return err
			}
			slo, err := recordedSLO(dir)
			if err != nil {
				return err
			}
			f, err := query.Load(dir, query.Scope{Label: "arm", Value: canaryArms[a]})
			if err != nil {
				return err
			}
			row = append(row, newTrial(&p, name, judged(f, &p, slo)))
		}
		out.Trials = append(out.Trials, row)
	}
	s.Split = &compare.Split{By: x.By, Set: out}
	return nil
}

// isComparison reports whether dir holds a comparison.
func isComparison(dir string) bool {
	_, ok, err := compare.ReadIndex(dir)
	return ok || err != nil
}

// loadComparison reads a comparison, of which those seeds count that all arms have run.
func loadComparison(dir string) (*compare.Set, error) {
	x, ok, err := compare.ReadIndex(dir)
	if err == nil && !ok {
		err = fmt.Errorf("%s has no %s", dir, compare.IndexName)
	}
	if err != nil {
		return nil, err
	}
	s, err := readSet(dir, &x)
	if err != nil {
		return nil, err
	}
	if s = s.Paired(); len(s.Seeds) == 0 {
		return nil, exitf(exitUsage, "%s: no seed was run with all %d arms: report its runs by themselves, such as %s", dir, len(s.Arms), filepath.Join(dir, "ARM-SEED"))
	}
	return s, nil
}

// writeComparison writes a comparison as itself did; in Markdown it has tables.
func writeComparison(w io.Writer, dir, format string) error {
	s, err := loadComparison(dir)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		return s.JSON(w)
	case "markdown":
		return s.Markdown(w)
	}
	return s.Text(w)
}
