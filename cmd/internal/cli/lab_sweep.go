package cli

import (
	"math"
	"slices"

	"goodput/loadgen/dispatch"
	"goodput/loadgen/monitor"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/tui"
)

// sweepLab follows a sweep. Each change is a new value, which screens may keep. A nil
// one follows nothing.
type sweepLab struct {
	*lab
	arm    string
	seeds  []uint64
	shown  bool         // on a screen
	trials []knee.Trial // of the objective that is searched
	search tui.Search
}

func newSweepLab(title, arm, method string, n int, tolerance float64, seeds []uint64) *sweepLab {
	return &sweepLab{lab: newLab(title, 0), arm: arm, seeds: seeds, search: tui.Search{Method: method, N: n, Tolerance: tolerance}}
}

// show begins the view that was asked for, and tells others how far it is; stop ends the
// view, and done the rest.
func (s *sweepRun) show() (stop, done func()) {
	method := s.out.Method
	if len(s.objectives) == 0 {
		method = plan.SweepGrid
	}
	title := s.out.Target
	if s.arm != "" {
		title = s.arm + ": " + title
	}
	s.lab = newSweepLab(title, s.out.Arm, method, s.out.N, s.out.Tolerance, s.out.Seeds)
	s.lab.shown, s.runner.look = s.live.tui, s.lab.begins
	s.lab.publish()
	if done = s.lab.keepProgress(s.out.Dir); !s.live.tui {
		return func() {}, done
	}
	return s.lab.show(s.env, &s.live, screensOf(tui.Knee, !s.out.Virtual), s.out.Dir), done
}

// publish shows what has changed; the lock is held.
func (s *sweepLab) publish() {
	out := s.search
	out.Objectives = slices.Clone(out.Objectives)
	s.doing.Search = &out
}

// objective begins the search of one; empty: the trials draw a curve.
func (s *sweepLab) objective(slo string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trials = nil
	s.search.Objectives = append(s.search.Objectives, tui.Objective{SLO: slo, Rate: monitor.None(), Lo: monitor.None(), Hi: monitor.None()})
	s.publish()
}

// ended takes a trial that has.
func (s *sweepLab) ended(t knee.Trial) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.search.UnderWay = probes(s.search.UnderWay).without(t.Seed)
	s.done++
	if n := len(s.search.Objectives); n > 0 {
		o := &s.search.Objectives[n-1]
		s.trials = append(s.trials, t)
		o.Trials = append(slices.Clone(o.Trials), trialRow(s.arm, o.SLO, &t))
		if s.search.Method == plan.SweepBisect {
			stand(o, knee.Stand(s.seeds, s.search.Tolerance, s.trials))
		}
	}
	s.publish()
}

// found takes the result of the search.
func (s *sweepLab) found(k *knee.Knee) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.search.Objectives[len(s.search.Objectives)-1]
	o.Outcome, o.Why = string(k.Outcome), k.Why
	if !math.IsNaN(k.Rate) {
		o.Rate, o.Lo, o.Hi = monitor.Number(k.Rate), monitor.Number(k.Lo), monitor.Number(k.Hi)
	}
	s.publish()
}

// begins looks at a trial: at its load too, if that takes its time. The caller calls
// over when it has ended.
func (s *sweepLab) begins(x *session, c *dispatch.Config, t *knee.Trial) (over func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	s.search.UnderWay = probes(s.search.UnderWay).with(tui.Probe{Seed: t.Seed, Rate: t.Rate})
	s.publish()
	s.mu.Unlock()
	if x.stamp == nil || !s.shown {
		return func() {}
	}
	x.newMonitor(int64(t.Warmup + t.N))
	c.Monitor = x.monitor
	s.watch(x.newBoard())
	return func() { s.watch(nil) }
}

// stand tells how far the search of an objective is.
func stand(o *tui.Objective, s knee.Standing) {
	o.Seeds, o.Settled = s.Seeds, s.Settled
	o.Rate, o.Lo, o.Hi = monitor.Number(s.Rate), monitor.Number(s.Lo), monitor.Number(s.Hi)
}

// openSweep reads a sweep.
func openSweep(run *record.Run, title string) (*finished, error) {
	p, err := recordedPlan(run.Dir)
	if err != nil {
		return nil, err
	}
	p = p.WithSweepDefaults()
	trials, _, err := run.Trials()
	if err != nil {
		return nil, err
	}
	knees, _, err := run.Knees()
	if err != nil {
		return nil, err
	}
	out := &finished{pic: monitor.Blank(title)}
	out.pic.State = "over"
	if run.Manifest.State != record.Complete {
		out.pic.State = string(run.Manifest.State)
	}
	s := &tui.Search{Method: p.Method, N: p.NumPrompts, Tolerance: float64(p.Tolerance)}
	for i := range trials {
		slo := ""
		if trials[i].SLO != nil {
			slo = *trials[i].SLO
		}
		at := slices.IndexFunc(s.Objectives, func(o tui.Objective) bool { return o.SLO == slo })
		if at < 0 {
			at = len(s.Objectives)
			s.Objectives = append(s.Objectives, tui.Objective{SLO: slo, Rate: monitor.None(), Lo: monitor.None(), Hi: monitor.None()})
		}
		s.Objectives[at].Trials = append(s.Objectives[at].Trials, trials[i])
	}
	for i := range s.Objectives {
		o := &s.Objectives[i]
		if p.Method == plan.SweepBisect {
			stand(o, knee.Stand(seedsFrom(p.Seed, p.Seeds), float64(p.Tolerance), judgedTrials(o.Trials)))
		}
		conclude(o, knees)
	}
	out.doing.Search = s
	return out, nil
}

// judgedTrials is what rows tell of brackets.
func judgedTrials(rows []record.Trial) []knee.Trial {
	out := make([]knee.Trial, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = knee.Trial{Seed: uint64(r.Seed), Rate: r.Rate, Pass: r.Verdict == "pass", Verify: r.Verify}
		if r.Invalid != nil {
			out[i].Invalid = *r.Invalid
		}
	}
	return out
}

// conclude takes what became of the objective from the rows of knees.
func conclude(o *tui.Objective, rows []record.Knee) {
	for i := range rows {
		r := &rows[i]
		if r.Seed != nil || r.SLO != o.SLO {
			continue
		}
		o.Outcome = r.Outcome
		if r.Why != nil {
			o.Why = *r.Why
		}
		if r.Rate != nil {
			o.Rate, o.Lo, o.Hi = numberOf(r.Rate), numberOf(r.Lo), numberOf(r.Hi)
		}
	}
}

func numberOf(v *float64) monitor.Number {
	if v == nil {
		return monitor.None()
	}
	return monitor.Number(*v)
}
