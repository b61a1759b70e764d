package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// How the search for the generator's limit goes: runs of about a second at doubled
// rates until one is not honest, then between the last two until they are close, and a
// longer one at the highest, which has to hold. All of it takes about 20 s.
const (
	calibrateFrom   = 1000.0 // requests per second
	calibrateLeast  = 100.0
	calibrateMost   = 1e6
	calibrateFor    = 800 * time.Millisecond
	calibrateFinal  = 2500 * time.Millisecond
	calibrateBudget = 14 * time.Second // before the final run
	calibrateClose  = 1.1

	honestLag      = time.Millisecond // P99
	honestAchieved = 0.99
)

// rung is one run of the search.
type rung struct {
	rate float64
	dir  string
	f    *query.Figures
}

// honest reports whether requests left when they were to, and all were recorded.
func (t *rung) honest() bool {
	lag, ok := t.f.Metric("lag")
	offered, rated := t.f.Offered()
	achieved, sent := t.f.Achieved()
	return ok && rated && sent && lag.P99 < float64(honestLag) && achieved >= honestAchieved*offered &&
		t.f.Manifest.Counters[record.CounterDropped] == 0 && t.f.Manifest.Problem == ""
}

// calibration looks for the highest honest rate.
type calibration struct {
	env    *Env
	plan   plan.Plan
	folder string // of the trials
	trials []*rung
	begun  time.Time
}

// calibrate runs the search, leaves the run at the highest rate behind, and prints it.
func calibrate(env *Env, p plan.Plan, asJSON bool) (err error) {
	dir := runDir(&p)
	if _, err := os.Stat(dir); err == nil {
		return exitf(exitUsage, "--out: %s exists already: name another directory", dir)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	c := &calibration{env: env, plan: p, begun: clock.Wall()}
	if c.folder, err = os.MkdirTemp(filepath.Dir(dir), ".calibrate-"); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.folder)) }()
	if c.plan.Arrival == "" {
		c.plan.Arrival = "constant"
	}
	best, err := c.search()
	if err != nil {
		return err
	}
	kept := best
	if kept == nil {
		kept = c.trials[len(c.trials)-1]
	}
	if err := os.Rename(kept.dir, dir); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	print := c.text
	if asJSON {
		print = c.json
	}
	if err := print(env.Stdout, dir, best); err != nil {
		return fmt.Errorf("printing the figures: %w", err)
	}
	if best == nil {
		return exitf(exitInvalid, "no rate is honest here, not even %g/s: lag P99 never came below %v; end what else runs on the machine, or give this program a higher priority", calibrateLeast, honestLag)
	}
	return nil
}

// search returns the run at the highest honest rate, nil if there is none.
func (c *calibration) search() (*rung, error) {
	spent := func() time.Duration { return clock.Wall().Sub(c.begun) }
	l := ladder{
		from: calibrateFrom, least: calibrateLeast, most: calibrateMost, near: calibrateClose,
		holds: c.holds, over: func() bool { return spent() > calibrateBudget },
	}
	highest, err := l.climb()
	if err != nil {
		return nil, err
	}
	// A short run may have been lucky. What is reported held for longer.
	for rate := highest; rate >= calibrateLeast && spent() < 2*calibrateBudget; rate *= 0.8 {
		t, err := c.run(rate, calibrateFinal)
		if err != nil || t.honest() {
			return t, err
		}
	}
	return nil, nil
}

// holds reports whether one of two short runs at the rate is honest: others on the
// machine may have spoiled one.
func (c *calibration) holds(rate float64) (bool, error) {
	for range 2 {
		t, err := c.run(rate, calibrateFor)
		if err != nil || t.honest() {
			return err == nil, err
		}
	}
	return false, nil
}

// run makes one run of about the given length.
func (c *calibration) run(rate float64, d time.Duration) (*rung, error) {
	p := c.plan
	p.RequestRate, p.NumPrompts = plan.Rate(rate), max(20, int(rate*d.Seconds()))
	p.Out = filepath.Join(c.folder, fmt.Sprint(len(c.trials)))
	quiet := *c.env
	quiet.Stderr, quiet.Terminal = io.Discard, false
	run := trial{plan: p}
	m := run.make(&quiet, liveFlags{})
	if m.err != nil {
		return nil, m.err
	}
	t := &rung{rate: rate, dir: p.Out, f: m.Report.Figures}
	c.trials = append(c.trials, t)
	fmt.Fprintf(c.env.Stderr, "%.0f requests/s: %s\n", rate, t.text())
	return t, nil
}
