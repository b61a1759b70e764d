package dispatch

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// OnCap says what becomes of a request that finds no place.
type OnCap uint8

// The choices.
const (
	Queue OnCap = iota // it is sent when another one ends, first come, first served
	Drop               // it is never sent
)

var onCapNames = [...]string{"queue", "drop"}

// String returns the name.
func (o OnCap) String() string { return onCapNames[o] }

// Closed is a closed loop: requests follow on answers instead of a schedule.
type Closed struct {
	// Concurrency is how many requests are kept in flight.
	Concurrency int
	// N is the number of requests, and Until the time after which none is sent; 0: no
	// limit. One of the two is needed.
	N     int
	Until time.Duration
	// Items are asked for in this order, again and again; nil: all of the set.
	Items []uint64
}

// Capped is the account of the requests that found no place when they were due.
type Capped struct {
	// Queued were sent late, or are waiting still; Dropped were never sent. Longest is
	// the most that waited at a time.
	Queued, Dropped, Longest int64
}

// placeless is a request that is due and has no place.
type placeless struct {
	due   schedule.Arrival
	taken clock.Time // when the loop took it up
}

// places bounds the requests in flight. As an event of the loop it is the place of one
// that ended, given to the first that waits.
type places struct {
	d       *Dispatcher
	queue   []placeless
	head    int // queue[:head] is gone
	granted int // places that are given, but not yet taken
	counts  Capped
}

var _ clock.Event = (*places)(nil)

// Entity is the number of the request that comes first.
func (p *places) Entity() uint64 { return p.queue[p.head].due.Seq }

// Fire sends the first that waits.
func (p *places) Fire(now clock.Time) {
	p.granted--
	if p.n() == 0 {
		return // all were given up meanwhile
	}
	w := p.pop()
	p.d.start(w.taken, now, w.due)
}

func (p *places) n() int { return len(p.queue) - p.head }

func (p *places) pop() placeless {
	w := p.queue[p.head]
	if p.head++; p.head == len(p.queue) || p.head > 1024 && 2*p.head > len(p.queue) {
		p.queue = append(p.queue[:0], p.queue[p.head:]...)
		p.head = 0
	}
	return w
}

// offer starts the request that is due, if there is a place for it.
func (d *Dispatcher) offer(now clock.Time, due schedule.Arrival) {
	p := &d.places
	most := int64(d.cfg.MaxConcurrency)
	switch {
	case most == 0 || d.flying.n-d.probes.inFlight+int64(p.granted) < most && p.n() == p.granted:
		d.start(now, now, due)
	case d.cfg.OnCap == Drop:
		p.counts.Dropped++
		d.unsent(due, record.DroppedCap, "as many requests as --max-concurrency allows were in flight")
	default:
		p.counts.Queued++
		p.queue = append(p.queue, placeless{due, now})
		p.counts.Longest = max(p.counts.Longest, int64(p.n()))
	}
}

// vacate gives the place of a request that ended to another one.
func (d *Dispatcher) vacate(now clock.Time) {
	if d.cfg.Closed != nil {
		d.follow(now)
		return
	}
	if p := &d.places; d.stage <= draining && p.n() > p.granted {
		p.granted++
		d.cfg.Loop.At(now, clock.RankArrival, p)
	}
}

// giveUp ends those that wait for a place, when nothing is sent any more.
func (d *Dispatcher) giveUp() {
	for d.places.n() > 0 {
		d.unsent(d.places.pop().due, record.Censored, "no place under --max-concurrency became free in time")
	}
}

// unsent writes the row of a request that is never sent.
func (d *Dispatcher) unsent(due schedule.Arrival, o record.Outcome, why string) {
	f := d.fill(due)
	f.begin()
	f.waited = 0
	f.plannedCached, f.poolCached = record.Null32, record.Null32 // no server sees it
	a := &f.first
	a.began = clock.Never
	a.req.NamePrefix = d.cfg.Identity.NamePrefix
	a.req.TraceID, a.req.SpanID = traceIDs(d.ids, a.req.Seq, 0)
	row := d.begin(&d.spare, a)
	row.Outcome, row.Error = o, why
	d.flying.add(f)
	d.counts.Scheduled++
	d.land(f, row)
	d.flying.idle = append(d.flying.idle, f)
}

// closed is the next request of a closed loop, as an event.
type closed struct {
	d   *Dispatcher
	seq uint64
}

var _ clock.Event = (*closed)(nil)

// Entity is the number of the request that the event was made for.
func (c *closed) Entity() uint64 { return c.seq }

// Fire sends it. It is due now, because another one has ended.
func (c *closed) Fire(now clock.Time) {
	d, most := c.d, c.d.cfg.Closed
	if d.stage != offering {
		return
	}
	seq := d.followed
	d.followed++
	d.last = now
	d.start(now, now, schedule.Arrival{Seq: seq, At: now, Item: d.itemOf(seq)})
	if most.N > 0 && d.followed >= uint64(most.N) {
		d.drain(now)
	}
}

// itemOf is what request seq of a closed loop asks for.
func (d *Dispatcher) itemOf(seq uint64) uint64 {
	if list := d.cfg.Closed.Items; len(list) > 0 {
		return list[seq%uint64(len(list))]
	}
	return seq % uint64(d.cfg.Set.Len())
}

// follow arranges the next request of a closed loop.
func (d *Dispatcher) follow(now clock.Time) {
	if d.stage == offering {
		d.cfg.Loop.At(now, clock.RankArrival, &closed{d, d.arranged})
		d.arranged++
	}
}

// loop begins a closed loop.
func (d *Dispatcher) loop() {
	c, now := d.cfg.Closed, d.cfg.Loop.Now()
	n := c.Concurrency
	if c.N > 0 {
		n = min(n, c.N)
	}
	for range n {
		d.follow(now)
	}
	if c.Until > 0 {
		d.cfg.Loop.At(now.Add(c.Until), clock.RankControl, endOfLoop{d})
	}
}

// endOfLoop ends a closed loop by time.
type endOfLoop struct{ d *Dispatcher }

func (e endOfLoop) Fire(now clock.Time) { e.d.drain(now) }
func (e endOfLoop) Entity() uint64      { return math.MaxUint64 }

// Capped is the account of requests that found no place.
func (d *Dispatcher) Capped() Capped { return d.places.counts }
