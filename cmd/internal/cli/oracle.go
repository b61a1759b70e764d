package cli

import (
	"fmt"
	"strconv"

	"goodput/datasets"
	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// oracle tells how long the requests of a session take when nobody else is there: it
// runs one session after the other, in the order in which it is asked, on one replica
// like those of the run, in virtual time. Its cache keeps what earlier sessions have
// left, as it would in a run at concurrency 1.
//
// It belongs to one goroutine, that of the session log.
type oracle struct {
	plan   plan.Plan
	setup  engineSetup
	config dispatch.Config // what it has in common with the run
	set    datasets.SessionSet

	loop *clock.Virtual
	pool *pool.Pool
}

// aloneFor is the time that a session is given, and about the time after which the loop
// is replaced: engines can't count for much longer than a hundred days.
const aloneFor = plan.DeadlineCap

// endless is the loop without what would end a session too early: the dispatcher's
// deadline.
type endless struct{ *clock.Virtual }

// At implements clock.Loop.
func (l endless) At(t clock.Time, r clock.Rank, e clock.Event) {
	if t < l.Now().Add(aloneFor) {
		l.Virtual.At(t, r, e)
	}
}

// newOracle asks for sessions of the set as the run of p does. p must be for engines
// in this process.
func newOracle(p plan.Plan, c *dispatch.Config) (*oracle, error) {
	p.Replicas, p.Router, p.PrefillRouter = 1, "round-robin", ""
	p.Routers, p.Scrape, p.ScrapeStagger, p.Shaper = 1, 0, false, nil
	p.GPU = plan.FirstGPU(p.GPU) // of a mix, the first replica is the one that is asked alone
	if p.Split() {
		p.Replicas, p.PrefillReplicas, p.DecodeReplicas = 2, 1, 1
	}
	if p.EngineDP > 1 {
		p.Replicas = p.EngineDP
	}
	p.Autoscale, p.Faults, p.TTFTTimeout, p.RequestTimeout = "", "", 0, 0
	setup, err := newEngineSetup(&p)
	if err != nil {
		return nil, err
	}
	return &oracle{plan: p, setup: setup, set: c.Sessions, config: dispatch.Config{
		MaxInFlight: c.MaxInFlight, Live: c.Live, Assign: c.Assign, IgnoreEOS: c.IgnoreEOS,
	}}, nil
}

// complete adds to a completed session how long its requests take alone.
func (o *oracle) complete(s *record.Session) {
	if s.Outcome != record.SessionCompleted || s.ModelTime == record.Null {
		return
	}
	id, err := strconv.ParseUint(s.SessionID, 10, 64)
	if id &= 1<<dispatch.ClassBit - 1; err != nil || id < 1 || id > uint64(o.set.Sessions()) {
		return
	}
	if t, err := o.alone(int(id - 1)); err == nil {
		s.Unloaded = t
	}
}

// alone is the model time of session i; Null if it does not complete.
func (o *oracle) alone(i int) (int64, error) {
	if o.loop == nil || o.loop.Now() > clock.Time(aloneFor) {
		o.loop = clock.NewVirtual()
		var err error
		if o.pool, err = newPool(&o.plan, o.setup, o.loop); err != nil {
			return record.Null, err
		}
	}
	model := record.Null
	c := o.config
	c.Loop, c.Target, c.Drain = endless{o.loop}, o.pool, aloneFor
	c.Sessions, c.Source = oneSession{o.set, i}, &oneArrival{at: o.loop.Now()}
	c.Record, c.Finished = func(*record.Request) {}, func() {}
	c.RecordSession = func(s *record.Session) { model = s.ModelTime }
	d, err := dispatch.New(c)
	if err != nil {
		return record.Null, fmt.Errorf("running session %d alone: %w", i, err)
	}
	d.Begin()
	o.loop.Run() // until nothing is left to do
	return model, nil
}

// oneSession is one of a set's.
type oneSession struct {
	datasets.SessionSet
	i int
}

func (s oneSession) Sessions() int                      { return 1 }
func (s oneSession) Session(_ int, d *datasets.Session) { s.SessionSet.Session(s.i, d) }

// oneArrival is a schedule of one session.
type oneArrival struct {
	at   clock.Time
	done bool
}

var (
	_ schedule.Source     = (*oneArrival)(nil)
	_ datasets.SessionSet = oneSession{}
	_ clock.Loop          = endless{}
)

// Next implements schedule.Source.
func (a *oneArrival) Next() (schedule.Arrival, bool) {
	if a.done {
		return schedule.Arrival{}, false
	}
	a.done = true
	return schedule.Arrival{At: a.at}, true
}
