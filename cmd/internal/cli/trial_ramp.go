package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/report/knee"
	"goodput/report/render"
)

// A ramp is judged in windows of so many requests, and rises slowly enough that the
// first miss of a wait is at most this share above capacity.
const (
	rampWindow    = 100
	rampOvershoot = 0.1
	mostRamp      = 1_000_000 // requests
)

// ramp is one load whose rate rises in a straight line.
type ramp struct {
	slope   float64 // requests/s per second
	windows map[int64]*knee.Judge
	met     func() (*knee.Judge, error)
	err     error

	missed  clock.Time // when the window that missed began; Never: none has
	stop    func()
	started map[int64]clock.Time // of windows: the earliest due
}

// take judges a request within its window.
func (m *ramp) take(r *record.Request) {
	if !r.Final || m.missed.Known() || m.err != nil {
		return
	}
	w := r.Seq / rampWindow
	j := m.windows[w]
	if j == nil {
		if j, m.err = m.met(); m.err != nil {
			m.stop()
			return
		}
		m.windows[w], m.started[w] = j, r.Intended
	}
	m.started[w] = min(m.started[w], r.Intended)
	j.Add(r)
	if pass, decided := j.Decided(); decided && !pass {
		m.missed = m.started[w]
		m.stop()
	}
	if j.Known() == rampWindow {
		delete(m.windows, w)
		delete(m.started, w)
	}
}

// rampTo raises the rate from 0 until a window of requests misses the objective, and
// returns the rate at which it was; NaN: none did up to most.
func (p *prober) rampTo(ctx context.Context, capacity, most float64) (at, slope float64, err error) {
	s, err := p.load(p.plan.Seed)
	if err != nil {
		return 0, 0, err
	}
	wait := p.objective.FirstToken(p.slo.TTFT)
	if wait == 0 {
		wait = max(p.alone, time.Millisecond)
	}
	slope = knee.Slope(capacity, wait.Seconds(), rampOvershoot)
	if n := most * most / (2 * slope); n > mostRamp {
		return 0, slope, fmt.Errorf("--method ramp: it would take %.3g requests to rise to %.4g/s slowly enough for a wait of %v: lower --max-rate", n, most, wait)
	}
	c, err := generated(&s.plan, 0, mostRamp)
	if err != nil {
		return 0, slope, err
	}
	lasts := time.Duration(most / slope * 1e9)
	c.Rate, c.Duration, c.Stages = 0, lasts, []schedule.Stage{{}, {At: lasts, Rate: most}}
	source, err := schedule.New(c)
	if err != nil {
		return 0, slope, err
	}
	x, d, err := p.open(&s)
	if err != nil {
		return 0, slope, err
	}
	defer x.close()
	m := &ramp{slope: slope, windows: map[int64]*knee.Judge{}, started: map[int64]clock.Time{}, missed: clock.Never}
	m.met = func() (*knee.Judge, error) { return p.objective.Judge(rampWindow) }
	d.Source, d.Record = &around{Source: source, n: uint64(s.set.Len())}, m.take
	load, err := dispatch.New(d)
	if err != nil {
		return 0, slope, err
	}
	m.stop = x.loop.Stop
	if x.stamp != nil {
		m.stop = func() { load.Interrupt(); load.Interrupt() }
	}
	release := stopWith(ctx, x, load)
	load.Begin()
	x.loop.Run()
	release()
	if err := errors.Join(ctx.Err(), load.Err(), m.err); err != nil {
		return 0, slope, err
	}
	if !m.missed.Known() {
		return math.NaN(), slope, nil
	}
	return slope * m.missed.Sub(0).Seconds(), slope, nil
}

// ramp locates about where the knee is.
func (s *sweepRun) ramp(ctx context.Context, c knee.Config) error {
	p := &prober{s.runner, s.objectives[0]}
	zero, err := p.Zero(ctx)
	if err != nil {
		return err
	}
	k := render.SweepKnee{SLO: s.objectives[0].String()}
	k.Zero = zero
	s.out.Knees = append(s.out.Knees, k)
	most := 16 * c.Start // 8 times what a burst has shown, which is less than the capacity
	if s.plan.MaxRate > 0 {
		most = float64(s.plan.MaxRate)
	}
	at, slope, err := p.rampTo(ctx, 2*c.Start, most)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("no %d requests in a row missed the objective up to %.4g/s", rampWindow, most)
	if !math.IsNaN(at) {
		note = fmt.Sprintf("first miss of %d requests in a row, at %.3g requests/s more each second; a locator, not the knee, and not comparable with another slope's: search from there with --start %.3g",
			rampWindow, slope, 0.8*at)
	}
	s.out.Bends = append(s.out.Bends, render.Bend{Name: plan.SweepRamp, Rate: at, Note: note})
	return nil
}
