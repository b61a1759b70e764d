package schedule

import (
	"fmt"
	"math"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// New returns the schedule that c describes. It fails for values that no process
// can have, and names the row if a trace is out of order. Each call returns a
// source of its own, at its start; equal configurations give equal arrivals.
func New(c Config) (Source, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("planning arrivals: %w", err)
	}
	s := &limited{n: math.MaxUint64, end: latest}
	if c.N > 0 {
		s.n = uint64(c.N)
	}
	if c.Duration > 0 {
		s.end = min(clock.Time(c.Duration), latest)
	}
	switch {
	case c.Process == Trace:
		s.process = newTrace(c)
		s.n = min(s.n, uint64(c.Len))
	case c.Process == Constant, c.Process == Gamma && math.IsInf(c.Burstiness, 1):
		s.process = constant{c.Rate}
	case c.Process == Poisson:
		s.process = &renewal{stream: rng.New(c.Seed, "arrivals", 0), rate: c.Rate, shape: 1}
	default:
		s.process = &renewal{stream: rng.New(c.Seed, "arrivals", 0), rate: c.Rate, shape: c.Burstiness}
	}
	if r, random := s.process.(*renewal); random && c.Rescale {
		r.rescale(c.N)
	}
	return s, nil
}

// limited ends a process after n arrivals, or with the first that lies at end or
// after it.
type limited struct {
	process process
	next    uint64
	n       uint64
	end     clock.Time
}

var _ Source = (*limited)(nil)

// String names the process.
func (s *limited) String() string { return s.process.String() }

// Next returns the next arrival. After the end it keeps returning false.
func (s *limited) Next() (Arrival, bool) {
	if s.next >= s.n {
		return Arrival{}, false
	}
	at := s.process.at(s.next)
	if at >= s.end {
		s.n = s.next
		return Arrival{}, false
	}
	a := Arrival{Seq: s.next, At: at, Item: s.next}
	s.next++
	return a, true
}
