package cli

import (
	"fmt"
	"path/filepath"

	"goodput/loadgen/plan"
	"goodput/report/compare"
)

// splitRuns adds a run for each seed in which both routers have a part of the load: by is
// request or session, empty: none. They follow on the runs of the arms.
func (x *comparison) splitRuns(by string) error {
	if by == "" {
		return nil
	}
	if len(x.index.Arms) != 2 {
		return fmt.Errorf("--split: it is of two arms, and there are %d", len(x.index.Arms))
	}
	x.index.Split = &compare.SplitIndex{By: by}
	for i, seed := range x.index.Seeds {
		p, other := x.all[x.at[[2]int{0, i}]].plan, x.all[x.at[[2]int{1, i}]].plan
		p.Out, p.Canary, p.CanaryBy = "", other.Router, by
		if by == plan.CanaryBySession && !p.InSessions() {
			return fmt.Errorf("--split: the requests of %s belong to no sessions: use request, or --dataset-name agent", p.DatasetName)
		}
		if err := p.Validate(); err != nil {
			return fmt.Errorf("--split: %w", err)
		}
		if other.Out, other.Router, other.Canary, other.CanaryBy = "", p.Router, p.Canary, p.CanaryBy; p.Remote() || p.Hash() != other.Hash() {
			return fmt.Errorf("--split: the arms of one pool differ in their --router and in nothing else")
		}
		name := fmt.Sprintf("split-%d", seed)
		p.Out = filepath.Join(x.dir, name)
		x.index.Split.Dirs = append(x.index.Split.Dirs, name)
		x.all = append(x.all, trial{n: int32(i), plan: p})
	}
	return nil
}
