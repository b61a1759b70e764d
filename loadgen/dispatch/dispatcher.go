package dispatch

import (
	"fmt"
	"sync/atomic"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// Dispatcher sends the requests of one schedule to one target. Everything but
// Interrupt belongs to the loop's goroutine, or to the time before and after the
// loop runs.
type Dispatcher struct {
	cfg   Config
	plain Class // what holds for requests without a class
	// bySending: requests are numbered as they are sent, not as they arrive.
	bySending bool
	ids       rng.Family      // of the trace ids
	canceler  target.Canceler // nil if the target cannot cancel
	patience  *patience       // nil: each request is one attempt

	arrivals *arrivals
	warm     warmup
	flying   flights
	sessions sessions
	places   places
	probes   probing
	sinks    []sink
	texts    texts
	// spare makes the rows of abandoned requests, whose own assembler may still be
	// in the hands of the target.
	spare observe.Assembler

	counts   Counts
	counters Counters
	attempts Attempts
	stray    atomic.Int64
	last     clock.Time // intended instant of the last arrival
	// Requests of a closed loop that were sent, and those with their events.
	followed, arranged uint64
	err                error

	stage      stage
	cutoff     clock.Time // when the waiting ended; Never: it has not
	interrupts int
}

// stage says how far the run is.
type stage uint8

const (
	offering stage = iota // arrivals are due or to come
	draining              // waiting for answers
	cutting               // the rest was cancelled
	finished
)

// grace is how long cancelled attempts may take to deliver End.
const grace = 2 * time.Second

// New checks the configuration. The run starts with Begin.
func New(c Config) (*Dispatcher, error) {
	err := c.check()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{cfg: c, ids: traceFamily(c.Identity.Salt), last: clock.Never, cutoff: clock.Never}
	d.plain = Class{
		SLO: c.SLO, IgnoreEOS: c.IgnoreEOS, Assign: c.Assign, Priority: c.Priority,
		Sessions: c.Sessions, MaxInFlight: c.MaxInFlight, Live: c.Live, ContinueOnError: c.ContinueOnError,
	}
	d.bySending = c.inSessions()
	d.canceler, _ = c.Target.(target.Canceler)
	d.arrivals, d.places.d, d.probes.d = &arrivals{d: d}, d, d
	d.warm.opens = clock.Time(c.Warmup)
	if c.Client.Active() {
		if d.patience, err = newPatience(d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Begin arranges the first arrival. Call it once, before the loop runs or from
// within an event.
func (d *Dispatcher) Begin() {
	switch {
	case d.cfg.Concurrent > 0:
		d.sessions.lane.begin(d)
		d.probes.begin(d.cfg.Loop.Now())
		return
	case d.cfg.Closed != nil:
		d.loop()
		d.probes.begin(d.cfg.Loop.Now())
		return
	}
	if !d.arrivals.arrange() {
		d.cfg.Loop.At(d.cfg.Loop.Now(), clock.RankControl, noArrivals{d})
	}
}

// noArrivals ends a run without arrivals from within the loop.
type noArrivals struct{ d *Dispatcher }

func (e noArrivals) Fire(now clock.Time) { e.d.drain(now) }
func (e noArrivals) Entity() uint64      { return 0 }

// arrivals is the event of the next arrival. There is never more than one pending.
type arrivals struct {
	d       *Dispatcher
	next    schedule.Arrival
	planned clock.Time // for next, of the window: when it would be due at the planned rate
	stretch schedule.Stretch
	over    bool // another one has taken its place
}

// Entity is the request's number.
func (a *arrivals) Entity() uint64 { return a.next.Seq }

// arrange puts the next arrival into the loop; false if there is none.
func (a *arrivals) arrange() bool {
	next, ok := a.d.cfg.Source.Next()
	if ok {
		a.next = next
		a.d.warm.arrange(a)
	}
	return ok
}

// Fire sends the request that is due. The next arrival is arranged first: nothing
// that this request does can delay it.
func (a *arrivals) Fire(now clock.Time) {
	d := a.d
	if d.stage != offering || a.over {
		return // interrupted, or the arrival was moved
	}
	due := a.next
	more := a.arrange()
	if n := d.cfg.items(); due.Item >= uint64(n) {
		d.err = fmt.Errorf("arrival %d asks for item %d of the %d in %v: the schedule and the dataset do not belong together", due.Seq, due.Item, n, d.cfg.asked())
		d.drain(now)
		return
	}
	if d.class(d.classOf(due)).Sessions != nil {
		d.arrive(now, due)
	} else {
		if due.Warm {
			d.warm.inFlight++
		} else {
			d.last = due.At
		}
		d.offer(now, due)
	}
	if !more {
		d.drain(now)
	}
}

// start hands one request to the target, which may answer at once, within Start. The
// loop took it up at the instant taken, and it has a place since now.
func (d *Dispatcher) start(taken, now clock.Time, due schedule.Arrival) {
	f := d.fill(due)
	f.waited = now.Sub(taken)
	d.plan(f)
	d.launch(now, f)
}

// fill makes the request of an arrival.
func (d *Dispatcher) fill(due schedule.Arrival) *flight {
	f := d.flying.take(d)
	f.item.Prompt = f.spans // a step's is its session's, and a probe's that of all
	d.cfg.Set.Item(int(due.Item), &f.item)
	f.spans = f.item.Prompt
	f.thread, f.warm, f.probe = nil, due.Warm, false
	it := &f.item
	session, turn := due.Session, due.Turn
	if session == 0 {
		session, turn = it.Session, it.Turn
	}
	number := due.Class
	if len(d.cfg.Classes) > 0 {
		number = d.classOf(due)
	}
	c := d.class(number)
	f.first.req = target.Request{
		Seq: due.Seq, Intended: due.At,
		Prompt: it.Prompt, In: it.In, Out: it.Out, OutKey: it.OutKey, Prefix: it.Prefix,
		Session: session, Turn: turn, Class: number, IgnoreEOS: c.IgnoreEOS, Priority: c.Priority,
	}
	if c.Assign != nil {
		if len(d.cfg.Classes) > 0 {
			f.first.req.Seq = due.Item - c.First
		}
		c.Assign.Fill(&f.first.req)
	}
	f.first.req.Seq = due.Seq
	if d.bySending {
		f.first.req.Seq = d.sendNumber()
	}
	return f
}

// send is start for the next step of a thread. All steps of a session have its
// adapter and its salt.
func (d *Dispatcher) send(now clock.Time, t *thread) {
	t.prompt()
	f := d.flying.take(d)
	st, id, c := &t.plan.Steps[t.next], t.s.name, t.s.class
	turn := t.plan.First + t.next
	f.probe = false
	f.thread, f.warm, f.waited = t, t.next == 0 && t.underway(), t.sent.Sub(t.ready)
	if f.warm {
		d.warm.sent++
		d.warm.inFlight++
	}
	quoted := c.Live && t.quoted()
	f.item = datasets.Item{Prompt: t.context, In: st.In, Out: st.Out, OutKey: st.OutKey, Quoted: quoted, Session: id, Turn: uint16(turn)}
	f.first.req = target.Request{
		Seq: t.s.plan.ID - 1, Intended: t.due, Prompt: t.context, In: st.In, Out: st.Out, OutKey: st.OutKey, Quoted: quoted, Quotes: t.quotes,
		Session: id, Turn: uint16(turn), Class: t.s.number, IgnoreEOS: c.IgnoreEOS, Priority: c.Priority,
	}
	if d.cfg.Shapes {
		f.first.req.Shape = t.plan.Shape(t.next)
	}
	if c.Assign != nil {
		c.Assign.FillFor(t.s.plan.Tenant, &f.first.req)
	}
	f.first.req.Seq = d.sendNumber()
	d.plan(f)
	d.launch(now, f)
}

// sendNumber is the next number in the order in which requests are sent. Processes that
// share a schedule have numbers of their own.
func (d *Dispatcher) sendNumber() uint64 {
	n := d.sessions.requests
	d.sessions.requests++
	if id := d.cfg.Identity; id.Shards > 1 {
		return n*uint64(id.Shards) + uint64(id.Shard)
	}
	return n
}

// plan asks what an ideal cache would hold of the request, and one of the pool's size.
func (d *Dispatcher) plan(f *flight) {
	f.plannedCached, f.poolCached = record.Null32, record.Null32
	if d.cfg.PlannedCached != nil {
		f.plannedCached = d.cfg.PlannedCached(&f.item, f.first.req.Scope())
	}
	if d.cfg.PoolCached != nil {
		f.poolCached = d.cfg.PoolCached(&f.item, f.first.req.Scope())
	}
}

// launch hands a request to the target; f must not be touched after it.
func (d *Dispatcher) launch(now clock.Time, f *flight) {
	f.begin()
	a := &f.first
	a.req.NamePrefix = d.cfg.Identity.NamePrefix
	a.req.TraceID, a.req.SpanID = traceIDs(d.ids, a.req.Seq, 0)
	d.flying.add(f)
	d.counts.Scheduled++
	if d.cfg.Monitor != nil && !f.probe {
		d.cfg.Monitor.Started(now)
	}
	if d.patient(f) {
		d.patience.admit(now, f)
	}
	d.try(now, f, a)
}

// patient reports whether the client layer cares for the request.
func (d *Dispatcher) patient(f *flight) bool { return d.patience != nil && !f.probe }

// try hands one attempt to the target; f must not be touched after it.
func (d *Dispatcher) try(now clock.Time, f *flight, a *attempt) {
	a.began, a.row = now, nil
	f.tries++
	f.live++
	if !f.probe {
		d.attempts.Sent++
	}
	d.begin(&a.asm, a)
	s := d.newSink(a)
	if !d.patient(f) {
		d.cfg.Target.Start(&a.req, s)
		return
	}
	d.cfg.Target.Start(&a.req, d.patience.watch(a, s))
}

// begin starts the row of an attempt in asm.
func (d *Dispatcher) begin(asm *observe.Assembler, a *attempt) *record.Request {
	f := a.f
	row := asm.Begin(&a.req, a.began)
	id := &d.cfg.Identity
	row.RunID, row.Arm, row.Trial, row.Shard = id.RunID, id.Arm, id.Trial, id.Shard
	if id.ArmOf != nil {
		row.Arm = id.ArmOf(&a.req)
	}
	row.Class = d.class(a.req.Class).Name
	row.RequestID = d.texts.request(&a.req)
	row.Attempt, row.Hedge, row.AttemptDue = int32(a.req.Attempt), a.hedge, a.due
	row.PrefixKey = d.texts.number(a.req.Prefix)
	if f.thread == nil {
		row.SessionID = d.texts.number(a.req.Session)
	} else {
		d.describe(f.thread, row)
	}
	row.PlannedCachedTokens, row.PoolCachedTokens = f.plannedCached, f.poolCached
	row.Final, row.Phase = true, record.Measure
	switch {
	case f.warm:
		row.Phase = record.Warmup
	case f.probe:
		row.Phase, row.Class = record.Probe, record.ProbeClass
	}
	return row
}

// ended takes back an attempt that got its End.
func (d *Dispatcher) ended(a *attempt) {
	d.counters.Anomalies.Add(a.asm.Anomalies())
	f := a.f
	if f.abandoned {
		d.counters.LateEnds++
		return
	}
	a.row = a.asm.Finish(d.cutoff)
	if f.thread == nil && a.row.Attempt == 0 {
		d.place(a.row, f)
	}
	f.live--
	switch {
	case !d.patient(f):
		f.winner = a
	case !d.patience.settle(a):
		return
	}
	d.decide(f)
}

// decide ends a request whose attempts have all ended.
func (d *Dispatcher) decide(f *flight) {
	row, t := f.winner.row, f.thread
	f.gen++
	if t == nil {
		d.land(f, row)
		d.flying.idle = append(d.flying.idle, f)
		if !f.probe {
			d.vacate(d.cfg.Loop.Now())
		}
	} else {
		d.landStep(f, row, t)
	}
	d.finishIfEmpty()
}

// landStep is land for a step of a session, which then goes on.
func (d *Dispatcher) landStep(f *flight, row *record.Request, t *thread) {
	c := closing{outcome: row.Outcome, overflow: tooLong(row), at: row.Closed, from: f.first.row.Dispatched}
	if f.item.Quoted && row.Outcome == record.OK {
		c.said = d.heard(f, row)
	}
	if row.Attempt == 0 {
		d.place(row, f)
	}
	d.land(f, row)
	c.met = row.SLOMet
	d.flying.idle = append(d.flying.idle, f)
	t.s.landed(t, c)
}

// place tells the wait for a place in flight from lateness: the transport hands over
// after both, and only lateness is the generator's lag.
func (d *Dispatcher) place(row *record.Request, f *flight) {
	bounded := d.cfg.MaxConcurrency > 0 && !f.probe
	if f.thread != nil {
		bounded = f.thread.s.class.MaxInFlight > 0 || d.cfg.MaxSessions > 0
	}
	if bounded && row.Dispatched.Known() {
		row.Permitted = row.Dispatched
		row.Dispatched -= clock.Time(f.waited)
	}
}

// land records f's row, and takes f out of the air.
func (d *Dispatcher) land(f *flight, row *record.Request) {
	if !f.probe { // which was promised nothing
		row.SLOMet = d.class(f.first.req.Class).SLO.Met(row)
	}
	d.flying.remove(f)
	d.counts.Outcomes[row.Outcome]++
	d.cfg.Record(row)
	if f.probe {
		d.probes.landed(row.Outcome)
		return
	}
	if d.cfg.Monitor != nil {
		d.cfg.Monitor.Ended(d.cfg.Loop.Now(), row)
	}
	if f.warm {
		d.warm.landed(d.arrivals, row.Outcome)
	}
}

// Counts is the account so far.
func (d *Dispatcher) Counts() Counts {
	c := d.counts
	c.Scheduled += int64(d.places.n())
	c.InFlight = d.flying.n + int64(d.places.n())
	return c
}

// Counters are those of the run so far.
func (d *Dispatcher) Counters() Counters {
	c := d.counters
	c.Anomalies[observe.AfterEnd] += d.stray.Load()
	return c
}

// Attempts is the account of attempts so far.
func (d *Dispatcher) Attempts() Attempts { return d.attempts }

// Interrupted reports whether Interrupt was called before the run was over.
func (d *Dispatcher) Interrupted() bool { return d.interrupts > 0 }

// Err is why the schedule was ended early, other than by Interrupt; nil: it was not.
func (d *Dispatcher) Err() error { return d.err }

// Window is the part of the run in which arrivals could fall: from the epoch or the end
// of the warm-up to the intended instant of the last request. Both are Never before the
// first that is not of the warm-up.
func (d *Dispatcher) Window() (from, to clock.Time) {
	if !d.last.Known() {
		return clock.Never, clock.Never
	}
	return d.warm.opens, d.last
}

// Offered is the rate at which requests became due, per second of the window; ok
// is false for an empty window, as when all were due at once.
func (d *Dispatcher) Offered() (perSecond float64, ok bool) {
	from, to := d.Window()
	if !to.Known() || to <= from {
		return 0, false
	}
	c := d.Counts()
	return float64(c.Scheduled-d.warm.sent-d.probes.sent) / to.Sub(from).Seconds(), true
}
