package query

import (
	"fmt"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// MostWindows bounds the stretches of a run that Windows tells apart.
const MostWindows = 2000

// Windows computes the figures of each stretch of the run that lasts width: of the
// requests due in it, by their intended times. Each begins half a width after the one
// before, and all lie within the run's window; there are none if that is shorter. With
// scopes they are of the requests in all of them. Gaps between tokens are not among them.
func Windows(dir string, width time.Duration, scopes ...Scope) ([]*Figures, error) {
	if width <= 0 {
		return nil, fmt.Errorf("stretches of %v of %s: need more than nothing", width, dir)
	}
	in, err := newFilter(scopes)
	if err != nil {
		return nil, err
	}
	if in.phase != record.Measure {
		return nil, fmt.Errorf("stretches are those of the window, and the phase %s is outside of it: leave one of the two out", in.phase)
	}
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	whole, err := Load(dir) // which knows where the window is
	if err != nil {
		return nil, err
	}
	n := 0
	if whole.Window >= width {
		n = int(2*(whole.Window-width)/width) + 1
	}
	if n > MostWindows {
		return nil, fmt.Errorf("%s lasts %v, which is more than %d stretches of %v: give a longer time", dir, whole.Window, MostWindows/2, width)
	}
	all, probes := make([]*collector, n), ofProbes(scopes)
	for i := range all {
		all[i] = newCollector(dir, run.Manifest)
		all[i].itl = stats.NewHist()
		all[i].probes = probes
	}
	half := width / 2
	if err := run.Requests(func(r *record.Request) error {
		if !in.pass(r) || r.Phase != record.Measure && (r.Phase != record.Probe || !probes) {
			return nil
		}
		at := r.Intended.Sub(whole.Start)
		last := int(at / max(half, 1))
		for i := max(0, last-2); i <= min(last, n-1); i++ {
			if from := time.Duration(i) * half; at >= from && at < from+width {
				if err := all[i].add(r); err != nil {
					return err
				}
			}
		}
		return nil
	}, record.Columns(columns...)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	if err := in.check(dir); err != nil {
		return nil, err
	}
	out := make([]*Figures, n)
	for i, c := range all {
		out[i] = c.finish()
		out[i].Start, out[i].Window = whole.Start+clock.Time(time.Duration(i)*half), width
		if c.end.Known() {
			out[i].Span = c.end.Sub(out[i].Start)
		}
		out[i].Checks.Decided = -1
	}
	return out, nil
}
