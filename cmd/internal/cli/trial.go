package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
	"goodput/report/knee"
)

// Of the probes that precede a search: requests sent one after the other, and a short
// burst that tells about how much the target can do.
const (
	zeroRequests  = 40
	burstRequests = 128
)

// trialRunner runs the trials of one plan, each on engines of its own or, one after the
// other, against its server. In virtual time trials may run side by side.
type trialRunner struct {
	env *Env
	// plan is that of a sweep: NumPrompts is the size of the cohort.
	plan plan.Plan
	slo  observe.SLO
	// whole trials are not ended by their verdict or by a growing backlog, so that their
	// figures are of all requests.
	whole bool
	// look, if not nil, is called when a trial begins, and over when it has ended.
	look func(*session, *dispatch.Config, *knee.Trial) (over func())

	warmFor time.Duration // --warmup
	warmN   int
	zero    []record.Request // what requests see that are alone; nil: not probed yet
	alone   time.Duration    // P95 of their E2E

	lock   sync.Mutex
	sets   map[uint64]trialSet
	number uint64 // of trials begun
}

// trialSet is what a seed asks.
type trialSet struct {
	plan plan.Plan
	set  datasets.Set
}

// prober judges the trials of a runner by one objective.
type prober struct {
	*trialRunner
	objective knee.Objective
}

var _ knee.Prober = (*prober)(nil)

func newTrialRunner(env *Env, p plan.Plan, slo observe.SLO) (*trialRunner, error) {
	r := &trialRunner{env: env, plan: p, slo: slo, sets: map[uint64]trialSet{}}
	var err error
	if r.warmFor, r.warmN, err = p.Warming(); err != nil {
		return nil, fmt.Errorf("--warmup: %w", err)
	}
	_, err = r.load(p.Seed) // complain of the load before anything is sent
	return r, err
}

// virtual reports whether trials are on engines of this process.
func (r *trialRunner) virtual() bool { return !r.plan.Remote() }

// load is the dataset of a seed. Its size is the same at all rates, so that request i
// is the same, and leaves room for a warm-up and for the tail.
func (r *trialRunner) load(seed uint64) (trialSet, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if s, ok := r.sets[seed]; ok {
		return s, nil
	}
	p := r.plan
	p.Seed, p.RequestRate, p.Warmup = seed, 1, ""
	p.NumPrompts = 4*r.plan.NumPrompts + 4096
	if plan.IsTrace(p.DatasetName) && !p.TraceLoop {
		p.NumPrompts = 0 // all rows
	}
	if p.Mixed() {
		p.RequestRate = r.plan.RequestRate
	}
	set, sessions, p, err := openLoad(p)
	if m := mixOf(set); m != nil && err == nil {
		err = m.checkScalable()
	}
	if err == nil && sessions != nil {
		err = fmt.Errorf("--dataset-name: a sweep is of single requests, and %s is sessions: take another, or send the steps of a trace open-loop (--trace-sessions open)", p.DatasetName)
	}
	if err != nil {
		return trialSet{}, err
	}
	s := trialSet{p, set}
	r.sets[seed] = s
	return s, nil
}

// warmup is the number of requests before the cohort: a tenth of it, and what arrives
// while the first requests take their time.
func (r *trialRunner) warmup(rate float64) int {
	arriving := func(d time.Duration) int { return int(math.Ceil(rate * d.Seconds())) }
	return max((r.plan.NumPrompts+9)/10, arriving(2*r.alone), r.warmN, arriving(r.warmFor))
}

// source makes the arrivals of a seed at a rate. It does not end before a trial does,
// unless the times are recorded.
func (s *trialSet) source(rate float64) (schedule.Source, error) {
	if m := mixOf(s.set); m != nil {
		return m.scaled(rate)
	}
	c, err := generated(&s.plan, plan.Rate(rate), math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if s.set.Timed() && c.Process == schedule.Trace {
		c.N = s.set.Len()
		c.Len, c.Times = c.N, recorded(s.set)
	}
	return schedule.New(c)
}

// around repeats the items of a set, of which only the tail of a trial takes more than
// there are.
type around struct {
	schedule.Source
	n uint64
	// from and to are when the cohort's first and last request are due: those of the
	// numbers first and last.
	first, last uint64
	from, to    clock.Time
}

// Next implements schedule.Source.
func (s *around) Next() (schedule.Arrival, bool) {
	a, ok := s.Source.Next()
	if !ok {
		return a, false
	}
	switch a.Seq {
	case s.first:
		s.from = a.At
	case s.last:
		s.to = a.At
	}
	a.Item %= s.n
	return a, true
}

// open makes the target of one trial, and what a dispatcher needs to load it. The caller
// closes the session.
func (r *trialRunner) open(s *trialSet) (*session, dispatch.Config, error) {
	x, err := newSession(r.env, s.plan, s.set, r.slo)
	if err != nil {
		return nil, dispatch.Config{}, err
	}
	assign, err := newAssignment(&s.plan)
	if err != nil {
		x.close()
		return nil, dispatch.Config{}, err
	}
	r.lock.Lock()
	number := r.number
	r.number++
	r.lock.Unlock()
	id := dispatch.Identity{RunID: s.plan.Hash(), Salt: s.plan.Seed, NamePrefix: s.plan.IDPrefix}
	if real, ok := x.loop.(*clock.Real); ok {
		epoch := real.Start(startLead)
		id.RunID = epoch.UTC().Format("20060102T150405.000000Z") + "-" + id.RunID
		stream := rng.New(s.plan.Seed, id.RunID, number)
		id.Salt = stream.Uint64()
	}
	c := dispatch.Config{
		Loop: x.loop, Target: x.target, Set: datasets.Salted(s.set, x.salt(id.Salt)), Identity: id,
		IgnoreEOS: s.plan.IgnoreEOS, SLO: r.slo, Priority: s.plan.Priority, Drain: s.plan.Drain, Client: newClient(&s.plan),
		Assign: assign, Finished: x.loop.Stop,
	}
	limitPlaces(&c, &s.plan)
	if m := mixOf(s.set); m != nil {
		if c.Classes, err = m.classes(m.First); err != nil {
			x.close()
			return nil, dispatch.Config{}, err
		}
	}
	return x, c, nil
}

// stopWith ends the loop of x when ctx does.
func stopWith(ctx context.Context, x *session, d *dispatch.Dispatcher) (release func() bool) {
	return context.AfterFunc(ctx, func() {
		if x.stamp == nil {
			x.loop.Stop()
			return
		}
		d.Interrupt()
		d.Interrupt()
	})
}

// probe offers a load of known length and returns the rows of its requests.
func (r *trialRunner) probe(ctx context.Context, change func(*dispatch.Config) error) ([]record.Request, error) {
	s, err := r.load(r.plan.Seed)
	if err != nil {
		return nil, err
	}
	x, c, err := r.open(&s)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if err := change(&c); err != nil {
		return nil, err
	}
	var rows []record.Request
	c.Record = func(row *record.Request) {
		if row.Final {
			kept := *row
			kept.TokenGapsUS, kept.ChunkTokens = nil, nil
			rows = append(rows, kept)
		}
	}
	d, err := dispatch.New(c)
	if err != nil {
		return nil, err
	}
	defer stopWith(ctx, x, d)()
	d.Begin()
	x.loop.Run()
	if err := errors.Join(ctx.Err(), d.Err()); err != nil {
		return nil, err
	}
	if !succeededAny(rows) {
		return nil, exitf(exitTarget, "none of %d requests succeeded: %s", len(rows), firstError(rows))
	}
	return rows, nil
}

// mixed sets what n requests of the load ask for, if it is of classes.
func (r *trialRunner) mixed(n int, to *[]uint64) error {
	s, err := r.load(r.plan.Seed)
	if err != nil {
		return err
	}
	if m := mixOf(s.set); m != nil {
		*to, err = m.items(n)
	}
	return err
}

func succeededAny(rows []record.Request) bool {
	for i := range rows {
		if rows[i].Outcome == record.OK {
			return true
		}
	}
	return false
}

// firstError says what became of the first request.
func firstError(rows []record.Request) string {
	if len(rows) == 0 {
		return "nothing was sent"
	}
	return fmt.Sprintf("the first ended as %s %s", rows[0].Outcome, rows[0].Error)
}

// Zero implements knee.Prober.
func (p *prober) Zero(ctx context.Context) (knee.Zero, error) {
	if err := p.probeAlone(ctx); err != nil {
		return knee.Zero{}, err
	}
	out := knee.Zero{Requests: len(p.zero)}
	out.Tightest, out.Good, out.Feasible = p.objective.Tightest(p.zero)
	var f figures
	for i := range p.zero {
		f.add(&p.zero[i])
	}
	out.TTFT, out.TPOT, out.E2E = f.ttft.Summary(), f.tpot.Summary(), f.e2e.Summary()
	return out, nil
}

// probeAlone sends requests one after the other, once for all objectives.
func (r *trialRunner) probeAlone(ctx context.Context) error {
	if r.zero != nil {
		return nil
	}
	rows, err := r.probe(ctx, func(c *dispatch.Config) error {
		c.MaxConcurrency = 0
		c.Closed = &dispatch.Closed{Concurrency: 1, N: zeroRequests}
		return r.mixed(zeroRequests, &c.Closed.Items)
	})
	if err != nil {
		return fmt.Errorf("sending requests one after the other: %w", err)
	}
	r.zero = rows
	var f figures
	for i := range rows {
		f.add(&rows[i])
	}
	if q, ok := f.e2e.Quantile(0.95); ok {
		r.alone = time.Duration(q)
	}
	return nil
}

// burst is about how many requests a second the target completes at the most: of some
// that are sent at once.
func (r *trialRunner) burst(ctx context.Context) (rate float64, err error) {
	rows, err := r.probe(ctx, func(c *dispatch.Config) (err error) {
		n := min(burstRequests, c.Set.Len())
		if len(c.Classes) > 0 {
			c.MaxConcurrency = 0
			c.Closed = &dispatch.Closed{Concurrency: n, N: n}
			return r.mixed(n, &c.Closed.Items)
		}
		c.Source, err = schedule.New(schedule.Config{Process: schedule.Poisson, Rate: math.Inf(1), N: n})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("sending a burst of requests: %w", err)
	}
	last, n := clock.Time(0), 0
	for i := range rows {
		if rows[i].Outcome == record.OK {
			n++
			last = max(last, rows[i].LastToken, rows[i].Done)
		}
	}
	if last <= 0 {
		return 0, exitf(exitTarget, "the time of a burst of %d requests is unknown: give --start", len(rows))
	}
	return float64(n) / last.Sub(0).Seconds(), nil
}

// Trial implements knee.Prober: one load of the seed at the rate.
func (p *prober) Trial(ctx context.Context, seed uint64, rate float64) (knee.Trial, error) {
	if err := p.probeAlone(ctx); err != nil {
		return knee.Trial{}, err
	}
	s, err := p.load(seed)
	if err != nil {
		return knee.Trial{}, err
	}
	n, warm := p.plan.NumPrompts, p.warmup(rate)
	out := knee.Trial{Seed: seed, Rate: rate, N: n, Warmup: warm, Open: p.objective.Open()}
	if have := s.set.Len(); warm+n > have {
		out.Invalid = fmt.Sprintf("%d requests and %d before them for the warm-up are more than the %d of the dataset", n, warm, have)
		return out, nil
	}
	arrivals, err := s.source(rate)
	if err != nil {
		return out, err
	}
	if !p.virtual() {
		if err := p.rest(ctx); err != nil {
			return out, err
		}
	}
	x, c, err := p.open(&s)
	if err != nil {
		return out, err
	}
	defer x.close()
	source := &around{Source: arrivals, n: uint64(s.set.Len()), first: uint64(warm), last: uint64(warm + n - 1), from: clock.Never, to: clock.Never}
	l, err := newTrialLoad(p, x, source, &out)
	if err != nil {
		return out, err
	}
	c.Source, c.Record = source, l.take
	if p.look != nil {
		defer p.look(x, &c, &out)()
	}
	if l.d, err = dispatch.New(c); err != nil {
		return out, err
	}
	release := stopWith(ctx, x, l.d)
	l.d.Begin()
	x.loop.At(0, clock.RankSample, l)
	x.loop.Run()
	release()
	if err := errors.Join(ctx.Err(), l.d.Err()); err != nil {
		return out, err
	}
	l.finish()
	return out, nil
}

var _ schedule.Source = (*around)(nil)
