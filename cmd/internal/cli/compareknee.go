package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"goodput/loadgen/plan"
	"goodput/report/compare"
	"goodput/report/knee"
)

// searchKnees prepares the search of each arm's knee, if an objective is given, and
// checks it before anything is sent. All searches have the seeds of the comparison, and so
// the same arrivals and requests.
func (x *comparison) searchKnees(env *Env, objective, preset string) error {
	if objective == "" {
		return nil
	}
	for a := range x.index.Arms {
		one := &x.all[x.at[[2]int{a, 0}]]
		p := one.plan
		p.SLO, p.Goodput, p.Method, p.Preset = []string{objective}, nil, plan.SweepBisect, preset
		p.RequestRate, p.NumPrompts, p.Duration, p.Seeds, p.Warmup = 0, 0, 0, len(x.index.Seeds), ""
		p.Out = filepath.Join(x.dir, x.kneeDir(a))
		if err := p.ValidateSweep(); err != nil {
			return fmt.Errorf("--knee: %w", err)
		}
		s, err := newSweepRun(env, p)
		if err != nil {
			return fmt.Errorf("--knee: %w", err)
		}
		s.arm = one.arm
		x.knees = append(x.knees, s)
	}
	return nil
}

// kneeDir is the directory of an arm's search, below that of the comparison.
func (x *comparison) kneeDir(a int) string {
	of := x.index.Runs[x.at[[2]int{a, 0}]].Dir
	return of[:len(of)-len(fmt.Sprint(x.index.Seeds[0]))] + "knee"
}

// findKnees searches those that were prepared, one arm after the other.
func (x *comparison) findKnees(set *compare.Set) error {
	for a, s := range x.knees {
		if s.live = x.live; !s.live.tui && !s.runner.virtual() {
			fmt.Fprintf(s.env.Stderr, "%s: searching the knee\n", s.arm)
		}
		failure, err := s.perform()
		if err != nil {
			return err
		}
		x.index.Knees = append(x.index.Knees, compare.Search{Arm: s.arm, Dir: x.kneeDir(a)})
		if err := x.index.Write(x.dir); err != nil {
			return err
		}
		switch {
		case errors.Is(failure, context.Canceled):
			return exitf(exitInterrupted, "interrupted: %s holds the trials that were complete", s.out.Dir)
		case failure != nil:
			return fmt.Errorf("arm %s: searching the knee: %w", s.arm, failure)
		}
		k := &compare.Knee{SLO: s.out.Knees[0].SLO, N: s.out.N, Knee: s.out.Knees[0].Knee}
		set.SetKnee(a, k)
	}
	return nil
}

// spoiledKnee is the error that a search ends with whose trials the generator spoiled.
func (x *comparison) spoiledKnee() error {
	for _, s := range x.knees {
		for i := range s.out.Knees {
			if k := &s.out.Knees[i]; k.Outcome == knee.Inconclusive || k.Spoiled() {
				return exitf(exitInvalid, "%s: trials of the knee were spoiled by the generator: %s", s.arm, k.Why)
			}
		}
	}
	return nil
}
