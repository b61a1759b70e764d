package pool

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"goodput/fakeengine/fault"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// statusBadGateway is what a router answers for a replica that is not there.
const statusBadGateway = 502

// prepare sets up the script of faults. What clients of a server would see of each
// is what senders see here: refused requests their status, those that a replica
// had when it went down a broken connection, and those of which an event was cut
// off a stream that cannot be read.
func (p *Pool) prepare(s fault.Script, replicas int) error {
	for i := range s {
		f := &s[i]
		p.cuts = p.cuts || f.Kind == fault.Truncate
		if f.OnWire() {
			return fmt.Errorf("fault %d (%v at %v): engines in process publish nothing that could show it: leave it out, or put it before a server (goodput serve --faults)", i+1, f.Kind, f.At)
		}
	}
	var err error
	if p.faults, err = fault.New(s, replicas, p.loop, (*host)(p)); err != nil {
		return fmt.Errorf("setting up the faults of the pool: %w", err)
	}
	p.faulty = len(s) > 0
	return nil
}

// Faults is what has gone wrong so far.
func (p *Pool) Faults() []fault.Event { return p.faults.History() }

// host is the pool as its fault script sees it.
type host Pool

var _ fault.Host = (*host)(nil)

// Crash breaks off all that replica i has, in order of starting.
func (h *host) Crash(i int) {
	p := (*Pool)(h)
	var lost []*attempt
	for _, a := range p.live {
		if a.replica == i || a.remote && a.source == i && a.handoff.Prefilling() {
			lost = append(lost, a)
		}
	}
	slices.SortFunc(lost, func(a, b *attempt) int { return cmp.Compare(a.seq.ID, b.seq.ID) })
	for _, a := range lost {
		// Ends come as events of their own, so that none of them ends another one.
		a.cut(target.CauseReset, "the replica went down")
	}
}

// Boot puts a new engine in the place of the old one: cold, and with its counters
// at 0.
func (h *host) Boot(i int) {
	p := (*Pool)(h)
	old := p.engines[i].Stats()
	add(&p.retired, &old)
	e, err := p.equip(i)
	if err != nil {
		panic(err) // the same configuration was accepted at the start
	}
	p.engines[i] = e
}

// Admit has the routers send to replica i, or not: both the faults and the scaler must
// have it take requests.
func (h *host) Admit(i int, _ bool) {
	p := (*Pool)(h)
	up := !p.faults.State(i).Out && (p.scaler == nil || p.scaler.Serving(i))
	if i < p.first {
		p.prefill.Fleet().SetUp(i, up)
		return
	}
	for _, g := range p.gates {
		g.fleet.SetUp(i-p.first, up)
	}
}

// struck is the answer to a request whose replica would not take it.
type struck struct {
	status     int
	why        string
	retryAfter time.Duration
}

func (s *struck) Error() string { return s.why }

// strike is what a request that comes to replica i gets because of a fault; nil:
// an engine.
func (p *Pool) strike(i int) error {
	if !p.faulty {
		return nil
	}
	switch s := p.faults.State(i); {
	case s.Down:
		return &struck{status: statusBadGateway, why: fmt.Sprintf("replica %d is down", i)}
	case s.Status != 0:
		return &struck{s.Status, fmt.Sprintf("a fault script wants every request to get status %d now", s.Status), s.RetryAfter}
	}
	return nil
}

// turnAway ends an attempt that a replica did not take, because of err, unless the router
// has another one for it, or something in front of it sends it on again.
func (a *attempt) turnAway(err error) {
	var s *struck
	if !errors.As(err, &s) {
		if a.elsewhere(statusBadRequest) {
			return
		}
		a.pool.n.refused++
		a.refuse(statusBadRequest, err.Error())
		return
	}
	if a.wish = s.retryAfter; a.elsewhere(s.status) || a.again(s.status, s.retryAfter) {
		return
	}
	a.pool.n.broken++
	a.refuse(s.status, s.why)
	a.result.RetryAfter = int64(s.retryAfter)
}

// elsewhere has the router pick another replica for a, which its own refused with the
// status, if its rule does so.
func (a *attempt) elsewhere(status int) bool {
	if a.replica == router.None || !a.gate.fleet.Again(&a.route, a.replica-a.pool.first, status) {
		return false
	}
	a.quit(status)
	a.replica = router.None
	a.pool.place(a)
	return true
}

// cut has the replica drop a, which a fault breaks off.
func (a *attempt) cut(cause target.Cause, why string) {
	a.cause, a.why = cause, why
	a.abort()
}

// garbled reports whether a fault cuts off the event that would hold the next
// tokens, and with it the answer.
func (a *attempt) garbled() bool {
	if !a.pool.faulty || !a.pool.faults.State(a.replica).Truncate {
		return false
	}
	a.cut(target.CauseStreamError, "malformed chunk: a fault cut it off")
	return true
}

// misreport falsifies the counts of u as a fault would have it.
func (a *attempt) misreport(u *target.Usage) {
	if !a.pool.faulty {
		return
	}
	factor := a.pool.faults.State(a.replica).Usage
	for _, n := range []*int{&u.Prompt, &u.Completion, &u.Cached} {
		*n = int(math.Round(float64(*n) * factor))
	}
}

// head reports what comes before the body of an answer.
func (a *attempt) head(now clock.Time, status int) {
	a.sink.Event(target.Event{At: now, Kind: target.Header, Status: status})
	a.sink.Event(target.Event{At: now, Kind: target.FirstByte})
}
