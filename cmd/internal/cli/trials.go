package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/report/compare"
	"goodput/report/query"
)

// trial is one run to make: of an arm, with a seed.
type trial struct {
	arm  string
	n    int32
	plan plan.Plan // its Out is where it goes
}

// made is a trial that was run.
type made struct {
	*compare.Trial
	err error
}

// trials runs trials: those in virtual time spread over the processors, real ones one
// after the other. An interrupt ends those under way, as it does a run, and no others
// are begun.
type trials struct {
	env  *Env
	live liveFlags // who looks on
	// begun is called before a trial, on its goroutine, one at a time.
	begun func(t *trial) error
	// done is called with each one that has ended, one at a time.
	done func(i int, t *trial, m made)

	mu      sync.Mutex
	next    int
	halted  bool
	ongoing map[chan os.Signal]bool
}

// run makes all trials and returns the first error.
func (r *trials) run(all []trial) error {
	r.ongoing = map[chan os.Signal]bool{}
	interrupts, release := r.env.interrupts()
	over := make(chan struct{})
	defer func() {
		close(over)
		release()
	}()
	go r.relay(interrupts, over)
	workers := 1
	if len(all) > 0 && virtual(&all[0].plan) {
		workers = min(runtime.GOMAXPROCS(0), len(all))
	}
	env := *r.env
	if workers > 1 || virtual(&all[0].plan) {
		env.Stderr, env.Terminal = io.Discard, false
	}
	env.Catch = r.catch
	var group sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		group.Go(func() { errs[w] = r.work(&env, all) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if r.stopped() {
		return exitf(exitInterrupted, "interrupted: %d of %d runs were begun", r.next, len(all))
	}
	return nil
}

func virtual(p *plan.Plan) bool { return !p.Remote() && p.Speed.Virtual() }

// relay hands interrupts to the runs under way.
func (r *trials) relay(interrupts <-chan os.Signal, over chan struct{}) {
	for {
		select {
		case s := <-interrupts:
			r.mu.Lock()
			r.halted = true
			for c := range r.ongoing {
				select {
				case c <- s:
				default:
				}
			}
			r.mu.Unlock()
		case <-over:
			return
		}
	}
}

// catch is Env.Catch of a single run.
func (r *trials) catch() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ongoing[c] = true
	if r.halted {
		c <- os.Interrupt
	}
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.ongoing, c)
	}
}

func (r *trials) stopped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.halted
}

// take is the next trial; ok is false when there is none.
func (r *trials) take(all []trial) (i int, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.halted || r.next == len(all) {
		return 0, false, nil
	}
	i = r.next
	r.next++
	if r.begun != nil {
		err = r.begun(&all[i])
	}
	return i, true, err
}

func (r *trials) work(env *Env, all []trial) error {
	for {
		i, ok, err := r.take(all)
		if err != nil || !ok {
			return err
		}
		t := &all[i]
		m := t.make(env, r.live)
		r.mu.Lock()
		if m.err != nil {
			r.next = len(all)
		}
		r.done(i, t, m)
		r.mu.Unlock()
		if m.err != nil {
			return fmt.Errorf("%s, seed %d: %w", t.arm, t.plan.Seed, m.err)
		}
	}
}

// make runs the trial and reads its figures back.
func (t *trial) make(env *Env, live liveFlags) made {
	slo, err := observe.ParseSLO(sloItems(&t.plan))
	if err != nil {
		return made{err: fmt.Errorf("--goodput: %w", err)}
	}
	set, sessions, p, err := openLoad(t.plan)
	if err != nil {
		return made{err: err}
	}
	s, err := newSession(env, p, set, slo)
	if err != nil {
		return made{err: err}
	}
	s.sessions, s.arm, s.trial, s.live = sessions, t.arm, t.n, live
	if err := s.open(env); err != nil {
		return made{err: err}
	}
	lost := s.run(env)
	f, err := query.Load(s.dir)
	if err != nil {
		return made{err: exitf(exitInternal, "the run can't be read back: %w", errors.Join(err, lost))}
	}
	if err := s.dispatcher.Err(); err != nil {
		lost = exitf(exitInternal, "the schedule broke off: %w", err)
	}
	if s.dispatcher.Interrupted() && lost == nil {
		lost = exitf(exitInterrupted, "interrupted: %s holds what was recorded", s.dir)
	}
	r := judged(f, &p, slo)
	if err := loadClasses(r, &p); err != nil {
		return made{err: exitf(exitInternal, "the run can't be read back: %w", err)}
	}
	whole, err := wholeTrial(&p, t.arm, r)
	if err != nil {
		return made{err: exitf(exitInternal, "the run can't be read back: %w", errors.Join(err, lost))}
	}
	return made{whole, lost}
}

// checkTrials says of finished runs what makes the program end with an error.
func checkTrials(s *compare.Set, maxErrors float64) error {
	for a, name := range s.Arms {
		for i, t := range s.Trials[a] {
			r := t.Report
			if failed := r.Failed(); r.Scheduled > 0 && float64(failed) > maxErrors*float64(r.Scheduled) {
				return exitf(exitTarget, "%s, seed %d: %d of %d requests failed, more than --max-error-rate %v allows", name, s.Seeds[i], failed, r.Scheduled, maxErrors)
			}
		}
	}
	for a, name := range s.Arms {
		for i, t := range s.Trials[a] {
			if h := t.Report.Health; !h.Valid() {
				return exitf(exitInvalid, "%s, seed %d: the measurement is invalid (%s): %s", name, s.Seeds[i], h.Verdict, strings.Join(h.Why, "; "))
			}
		}
	}
	return nil
}

// showTrials prints now and then how many are done, until stop is called.
func showTrials(env *Env, total int, done func() int) (stop func()) {
	return clock.Every(linesEvery, func() { fmt.Fprintf(env.Stderr, "%d of %d runs are done\n", done(), total) })
}
