package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/compare"
	"goodput/report/tui"
)

// compareLab follows a comparison. Each change is a new value, which screens may keep.
// A nil one follows nothing.
type compareLab struct {
	*lab
	x        *comparison
	results  []*compare.Trial // as those of the comparison
	underWay []string
}

// show begins the view of the comparison if it was asked for, and tells others how far it
// is; stop ends the view, and done the rest.
func (x *comparison) show(env *Env, live *liveFlags, r *trials) (l *compareLab, stop, done func()) {
	l = &compareLab{lab: newLab(x.dir, len(x.all)), x: x, results: make([]*compare.Trial, len(x.all))}
	l.publish()
	if done = l.keepProgress(x.dir); !live.tui {
		return l, func() {}, done
	}
	real := !virtual(&x.all[0].plan)
	if real {
		r.live = liveFlags{tui: true, elsewhere: l.watch}
	}
	return l, l.show(env, live, screensOf(tui.Compare, real), x.dir), done
}

func (l *compareLab) named(t *trial) string { return fmt.Sprintf("%s seed %d", t.arm, t.plan.Seed) }

// begins notes that a run begins.
func (l *compareLab) begins(t *trial) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay = append(slices.Clone(l.underWay), l.named(t))
	l.publish()
}

// ended takes a run that has.
func (l *compareLab) ended(i int, t *trial, m made) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = nil
	l.underWay = slices.DeleteFunc(slices.Clone(l.underWay), func(s string) bool { return s == l.named(t) })
	l.results[i] = m.Trial
	l.done++
	l.publish()
}

// publish shows what has changed; the lock is held.
func (l *compareLab) publish() {
	l.doing.Comparison = l.x.shown(l.results)
	l.doing.Comparison.UnderWay = l.underWay
}

// shown is what screens show of the runs that there are. Figures are of the seeds that
// all arms have run.
func (x *comparison) shown(results []*compare.Trial) *tui.Comparison {
	s := x.set(results)
	out := &tui.Comparison{Seeds: len(s.Seeds)}
	for a, name := range s.Arms {
		arm := tui.Arm{Name: name}
		for _, t := range s.Trials[a] {
			if t != nil {
				arm.Done++
			}
		}
		out.Arms = append(out.Arms, arm)
	}
	fillComparison(out, s)
	return out
}

// fillComparison adds the figures of the seeds of s that all arms have run.
func fillComparison(out *tui.Comparison, s *compare.Set) {
	paired := s.Paired()
	for a, name := range s.Arms {
		for i, t := range paired.Trials[a] {
			if h := t.Report.Health; !h.Valid() {
				out.Invalid = append(out.Invalid, fmt.Sprintf("%s, seed %d (%s): %s", name, paired.Seeds[i], h.Verdict, strings.Join(h.Why, "; ")))
			}
		}
	}
	if out.Paired = len(paired.Seeds); out.Paired == 0 {
		return
	}
	pairs := paired.Pairs()
	for i := range pairs {
		p := &pairs[i]
		n := len(out.Figures)
		if n == 0 || out.Figures[n-1].Title != p.Title {
			out.Figures = append(out.Figures, tui.Figure{Title: p.Title, Base: figureText(p, p.BaseMean)})
		}
	}
	for i := range out.Figures { // a figure that only some arms have
		f := &out.Figures[i]
		cells := make([]tui.Difference, len(s.Arms)-1)
		for j := range cells {
			cells[j] = tui.Difference{Mean: "-", Change: "-", Value: monitor.None(), Lo: monitor.None(), Hi: monitor.None()}
		}
		for j := range pairs {
			if pairs[j].Title == f.Title {
				cells[slices.Index(s.Arms, pairs[j].Arm)-1] = difference(&pairs[j])
			}
		}
		f.Cells = cells
	}
	for _, c := range paired.Costs() {
		out.Costs = append(out.Costs, tui.RouterCost{
			Arm: c.Arm, Figure: c.Metric + " " + c.Agg, Via: monitor.Nanos(c.Via), Direct: monitor.Nanos(c.Direct),
			Cost: milliseconds(c.Value), Lo: milliseconds(c.Lo), Hi: milliseconds(c.Hi),
		})
	}
}

// milliseconds are those of v ns; unknown if v is no number.
func milliseconds(v float64) monitor.Number {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return monitor.None()
	}
	return monitor.Number(v / 1e6)
}

func figureText(p *compare.Pair, v float64) string { return compare.Format(p.Title, v) }

// difference is how an arm differs, and whether that is conclusive.
func difference(p *compare.Pair) tui.Difference {
	out := tui.Difference{
		Mean: figureText(p, p.ArmMean), Change: p.Change(), Verdict: tui.Inconclusive,
		Value: monitor.None(), Lo: monitor.None(), Hi: monitor.None(),
	}
	if p.Ratio {
		out.Value, out.Lo, out.Hi = monitor.Number(p.Value-1), monitor.Number(p.Lo-1), monitor.Number(p.Hi-1)
	}
	switch {
	case math.IsNaN(p.Value) || out.Change == "the same":
		out.Verdict = tui.NoVerdict
	case !p.Conclusive() || p.ArmMean == p.BaseMean:
	case p.Better():
		out.Verdict = tui.Better
	default:
		out.Verdict = tui.Worse
	}
	return out
}

// openComparison reads the runs of a comparison.
func openComparison(dir string, x *compare.Index, title string) (*finished, error) {
	s, err := readSet(dir, x)
	if err != nil {
		return nil, err
	}
	c := &tui.Comparison{Seeds: len(x.Seeds)}
	for a, arm := range s.Arms {
		done := len(x.Seeds)
		for _, t := range s.Trials[a] {
			if t == nil {
				done--
			}
		}
		c.Arms = append(c.Arms, tui.Arm{Name: arm, Done: done})
	}
	fillComparison(c, s)
	out := &finished{pic: monitor.Blank(title), doing: tui.Doing{Comparison: c}}
	out.pic.State = "over"
	if len(x.Runs) < len(x.Arms)*len(x.Seeds) {
		out.pic.State = string(record.Interrupted)
	}
	return out, nil
}
