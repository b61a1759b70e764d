package schedule

import (
	"fmt"
	"math"
	"slices"

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
	if c.Process == Trace {
		s.process = newTrace(c)
		s.n = min(s.n, uint64(c.Len))
	} else {
		s.process = &paced{c.Process, c.unit(), c.pace()}
	}
	return s, nil
}

// Names of the random streams: one for the gaps, one for the states of MMPP.
const (
	streamGaps   = "arrivals"
	streamStates = "arrival bursts"
)

// unit makes the process at one arrival a second.
func (c Config) unit() unit {
	u := c.pattern()
	if r, random := u.(*renewal); random && c.Rescale {
		r.rescale(c.N)
	}
	return u
}

func (c Config) pattern() unit {
	stream := rng.New(c.Seed, streamGaps, 0)
	shaped := c.Process == Gamma || c.Process == Weibull
	switch {
	case c.Process == Constant, shaped && math.IsInf(c.Burstiness, 1):
		return constant{}
	case shaped && c.Burstiness == 1, !shaped:
		return &renewal{stream: stream, gaps: exponential{}, mean: 1}
	case c.Process == Gamma:
		return &renewal{stream: stream, gaps: gamma{c.Burstiness}, mean: 1}
	}
	return &renewal{stream: stream, gaps: newWeibull(c.Burstiness), mean: 1}
}

func (c Config) pace() pace {
	if len(c.Stages) == 0 && c.Process != MMPP || math.IsInf(c.Rate, 1) {
		return flat(c.Rate)
	}
	var rate course = &stages{list: []Stage{{Rate: c.Rate}}}
	if len(c.Stages) > 0 {
		rate = &stages{list: slices.Clone(c.Stages)}
	}
	if c.Process == MMPP {
		rate = newModulated(rate, c.Bursts, rng.New(c.Seed, streamStates, 0))
	}
	return newWarp(rate)
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
