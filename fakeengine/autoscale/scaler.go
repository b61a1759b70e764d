package autoscale

import (
	"errors"
	"fmt"
	"math"
	"time"

	"goodput/loadgen/clock"
)

// Host is who serves the replicas.
type Host interface {
	// Report is what replica i shows of the signal now.
	Report(i int, s Signal) float64
	// Busy reports whether replica i has requests; Idle whether nothing is under way at
	// all, so that there is nothing to evaluate until the next request.
	Busy(i int) bool
	Idle() bool
	// Boot gives replica i an engine without cached content, Admit has routers send to
	// it, or not.
	Boot(i int)
	Admit(i int, up bool)
}

// state is how far a replica is.
type state uint8

const (
	absent state = iota
	starting
	serving
	draining
)

// Event is a change of a replica.
type Event struct {
	At      clock.Time
	Replica int
	What    string // for people
}

// replica is the account of one.
type replica struct {
	state state
	since clock.Time // of the last change from absent
	start uint64     // number of the start, so that a start that was given up says nothing
}

// Scaler follows a Config. It belongs to the loop: except for New its methods are called
// from within events, or before the loop runs.
type Scaler struct {
	cfg      Config
	loop     clock.Loop
	host     Host
	replicas []replica
	used     time.Duration // of replicas that are gone
	armed    bool
	next     clock.Time // of the next evaluation
	starts   uint64
	history  []Event
	// wanted are the numbers of the last cool-down, oldest first.
	wanted []want
}

type want struct {
	at clock.Time
	n  int
}

var _ clock.Event = (*Scaler)(nil)

// New returns a scaler of Max replicas, of which the first n serve.
func New(c Config, n int, loop clock.Loop, h Host) (*Scaler, error) {
	if loop == nil || h == nil {
		return nil, errors.New("scaling a pool needs a loop and a host for the replicas")
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	if n < c.Min || n > c.Max {
		return nil, fmt.Errorf("the pool begins with %d replicas, and scales from %d to %d: begin within that", n, c.Min, c.Max)
	}
	s := &Scaler{cfg: c, loop: loop, host: h, replicas: make([]replica, c.Max), next: clock.Time(c.Every)}
	s.wanted = append(s.wanted, want{0, n}) // somebody wanted those at the start
	for i := range n {
		s.replicas[i].state = serving
	}
	return s, nil
}

// Start takes the replicas away that are not there at the start.
func (s *Scaler) Start() {
	for i := range s.replicas {
		if s.replicas[i].state == absent {
			s.host.Admit(i, false)
		}
	}
}

// Wake goes on with evaluations when a request comes after a time without any. Those that
// would have been in between have found nothing to do for any replica.
func (s *Scaler) Wake(now clock.Time) {
	if s.armed {
		return
	}
	for ; s.next <= now; s.next = s.next.Add(s.cfg.Every) {
		if len(s.wanted) > 0 && s.wanted[len(s.wanted)-1].n == s.cfg.Min && s.present() == s.cfg.Min {
			// All that follow are like the last one.
			left := (now-s.next)/clock.Time(s.cfg.Every) + 1
			s.next = s.next.Add(time.Duration(left) * s.cfg.Every)
			break
		}
		s.evaluate(s.next, 0)
	}
	s.armed = true
	s.loop.At(s.next, clock.RankControl, s)
}

// Fire implements clock.Event: it evaluates.
func (s *Scaler) Fire(now clock.Time) {
	sum := 0.0
	for i := range s.replicas {
		if s.replicas[i].state == serving {
			sum += s.host.Report(i, s.cfg.Signal)
		}
	}
	s.evaluate(now, sum)
	s.next = now.Add(s.cfg.Every)
	if s.armed = !s.host.Idle(); s.armed {
		s.loop.At(s.next, clock.RankControl, s)
	}
}

// Entity implements clock.Event. Faults, which are events of 0, come first.
func (s *Scaler) Entity() uint64 { return 1 }

// tolerance is by how much the metric may miss the target without a change.
const tolerance = 0.1

// evaluate starts and stops replicas, given the sum of the metric.
func (s *Scaler) evaluate(now clock.Time, sum float64) {
	n := s.present()
	desired := n
	if ratio := sum / (s.cfg.Target * float64(n)); math.Abs(ratio-1) > tolerance {
		desired = int(math.Ceil(min(sum/s.cfg.Target, maxReplicas)))
	}
	desired = min(max(desired, s.cfg.Min), s.cfg.Max)
	s.wanted = append(s.wanted, want{now, desired})
	old := 0
	for s.wanted[old].at < now.Add(-s.cfg.CoolDown) {
		old++
	}
	s.wanted = append(s.wanted[:0], s.wanted[old:]...)
	if desired > n {
		for ; n < desired; n++ {
			s.launch(now)
		}
		return
	}
	most := 0
	for _, w := range s.wanted {
		most = max(most, w.n)
	}
	for ; n > most; n-- {
		s.withdraw(now)
	}
}

// present is how many replicas serve or start.
func (s *Scaler) present() int {
	n := 0
	for i := range s.replicas {
		if st := s.replicas[i].state; st == starting || st == serving {
			n++
		}
	}
	return n
}

// launch starts the replica with the lowest number that is not there; one that drains
// takes requests again instead.
func (s *Scaler) launch(now clock.Time) {
	at := -1
	for i := range s.replicas {
		switch r := &s.replicas[i]; {
		case r.state == draining:
			r.state = serving
			s.host.Admit(i, true)
			s.note(now, i, "serves again")
			return
		case r.state == absent && at < 0:
			at = i
		}
	}
	if at < 0 {
		return
	}
	r := &s.replicas[at]
	s.starts++
	r.state, r.since, r.start = starting, now, s.starts
	s.note(now, at, "starts")
	s.loop.At(now.Add(s.cfg.ColdStart), clock.RankControl, &ready{s, at, r.start})
}

// withdraw stops a replica.
func (s *Scaler) withdraw(now clock.Time) {
	at := -1
	for i := range s.replicas {
		switch s.replicas[i].state {
		case starting:
			if at < 0 || s.replicas[at].state != starting || i > at {
				at = i
			}
		case serving:
			if at < 0 || s.replicas[at].state != starting {
				at = i
			}
		}
	}
	r := &s.replicas[at]
	if r.state == starting {
		s.leave(now, at)
		return
	}
	r.state = draining
	s.host.Admit(at, false)
	s.note(now, at, "drains")
	if !s.host.Busy(at) {
		s.leave(now, at)
	}
}

// leave takes a replica away.
func (s *Scaler) leave(now clock.Time, i int) {
	r := &s.replicas[i]
	s.used += now.Sub(r.since)
	r.state = absent
	s.note(now, i, "is gone")
}

// Released says that replica i has one request less.
func (s *Scaler) Released(i int) {
	if s.replicas[i].state == draining && !s.host.Busy(i) {
		s.leave(s.loop.Now(), i)
	}
}

// Serving reports whether replica i takes requests, as far as scaling goes.
func (s *Scaler) Serving(i int) bool { return s.replicas[i].state == serving }

// Running reports whether replica i has an engine: it serves, or drains.
func (s *Scaler) Running(i int) bool {
	return s.replicas[i].state == serving || s.replicas[i].state == draining
}

// Used is the time that replicas have taken until then, from the start of each to its
// end, cold starts among it, all added up.
func (s *Scaler) Used(until clock.Time) time.Duration {
	out := s.used
	for i := range s.replicas {
		if r := &s.replicas[i]; r.state != absent {
			out += until.Sub(r.since)
		}
	}
	return out
}

// History is what has happened so far, in order of time.
func (s *Scaler) History() []Event { return s.history }

func (s *Scaler) note(now clock.Time, i int, what string) {
	s.history = append(s.history, Event{now, i, what})
}

// ready is the end of a cold start.
type ready struct {
	s     *Scaler
	i     int
	start uint64
}

var _ clock.Event = (*ready)(nil)

// Fire implements clock.Event.
func (e *ready) Fire(now clock.Time) {
	r := &e.s.replicas[e.i]
	if r.state != starting || r.start != e.start {
		return
	}
	r.state = serving
	e.s.host.Boot(e.i)
	e.s.host.Admit(e.i, true)
	e.s.note(now, e.i, "serves")
}

// Entity implements clock.Event: starts end in order.
func (e *ready) Entity() uint64 { return 1 + e.start }
