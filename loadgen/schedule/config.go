package schedule

import (
	"fmt"
	"math"
	"time"
)

// Process names a kind of arrival process.
type Process string

// The processes.
const (
	// Poisson has independent, exponentially distributed gaps: many users who do
	// not know of each other.
	Poisson Process = "poisson"
	// Gamma has independent, gamma distributed gaps: burstier or smoother.
	Gamma Process = "gamma"
	// Constant has equal gaps. Arrival i, counted from 0, is due at i/rate.
	Constant Process = "constant"
	// Trace repeats recorded times.
	Trace Process = "trace"
)

// Limits of what New accepts. A rate past them is a slip of the pen, or means
// "all at once", which is an infinite rate.
const (
	MinRate       = 1e-9 // arrivals per second: one in 32 years
	MaxRate       = 1e9  // one per nanosecond
	MinBurstiness = 1e-3
	MaxBurstiness = 1e6
)

// Config describes an arrival process.
type Config struct {
	Process Process
	// Rate is the mean number of arrivals per second; +Inf makes all due at 0. For
	// Trace, 0 keeps the times as they were recorded, and another rate scales them
	// all by one factor, such that the mean gap of the whole trace is 1/Rate.
	Rate float64
	// Burstiness is the shape of Gamma's gaps: their coefficient of variation is
	// 1/sqrt(Burstiness). 1 is Poisson, and +Inf Constant, to the nanosecond. The
	// other processes ignore it.
	Burstiness float64
	// N is the number of arrivals, and Duration is what their instants stay below;
	// what comes first ends the schedule. 0 is no limit. A random process needs one
	// of the two. A trace ends with its last row at the latest, also if N is more.
	N        int
	Duration time.Duration
	// Rescale stretches random gaps by one factor, such that arrival N, the last, is
	// due at N/Rate: as vLLM's benchmark does it, which fixes the count and damps
	// bursts. It needs a finite rate and N alone.
	Rescale bool
	// Seed is the run's seed; 0 is a seed like any other.
	Seed uint64
	// Times gives the recorded offset of row i < Len of a trace from its start:
	// not negative, never falling, and the same each time it is asked.
	Times func(i int) time.Duration
	Len   int
}

// validate checks c. It reads all times of a trace.
func (c Config) validate() error {
	if c.N < 0 {
		return fmt.Errorf("%d arrivals: the number cannot be negative; leave it at 0 for no limit", c.N)
	}
	if c.Duration < 0 {
		return fmt.Errorf("duration %v: cannot be negative; leave it at 0 for no limit", c.Duration)
	}
	// Written so that NaN fails.
	if c.Rate != 0 && !math.IsInf(c.Rate, 1) && !(c.Rate >= MinRate && c.Rate <= MaxRate) {
		return fmt.Errorf("rate %v: must be from %v to %v arrivals per second, or infinite for all at once", c.Rate, MinRate, MaxRate)
	}
	if c.Rescale && (c.Process == Trace || c.N == 0 || c.Duration > 0 || math.IsInf(c.Rate, 1)) {
		return fmt.Errorf("rescaling %s arrivals: it needs a number of them, a finite rate and no duration", c.Process)
	}
	switch c.Process {
	case Trace:
		return c.validateTrace()
	case Poisson, Constant:
	case Gamma:
		if b := c.Burstiness; !math.IsInf(b, 1) && !(b >= MinBurstiness && b <= MaxBurstiness) {
			return fmt.Errorf("burstiness %v: must be from %v to %v, or infinite for constant gaps", b, MinBurstiness, MaxBurstiness)
		}
	default:
		return fmt.Errorf("arrival process %q is unknown: choose %s, %s, %s or %s", c.Process, Poisson, Gamma, Constant, Trace)
	}
	if c.Rate == 0 {
		return fmt.Errorf("%s arrivals need a rate above 0", c.Process)
	}
	if c.N == 0 && c.Duration == 0 {
		return fmt.Errorf("%s arrivals never end: limit their number or their duration", c.Process)
	}
	if c.N == 0 && math.IsInf(c.Rate, 1) {
		return fmt.Errorf("an infinite rate makes infinitely many arrivals at once: limit their number")
	}
	return nil
}

func (c Config) validateTrace() error {
	if c.Len < 0 || c.Len > 0 && c.Times == nil {
		return fmt.Errorf("a trace of %d rows has no times", c.Len)
	}
	for i, last := 0, time.Duration(0); i < c.Len; i++ {
		t := c.Times(i)
		switch {
		case t < 0:
			return fmt.Errorf("trace row %d is at %v: times cannot lie before the trace's start", i, t)
		case t < last:
			return fmt.Errorf("trace row %d is at %v, before row %d at %v: sort the trace by time", i, t, i-1, last)
		}
		last = t
	}
	scaled := c.Rate != 0 && !math.IsInf(c.Rate, 1)
	if scaled && c.Len > 0 && c.Times(0) == c.Times(c.Len-1) {
		return fmt.Errorf("trace of %d rows at one instant has no rate that could be scaled to %v: leave the rate out", c.Len, c.Rate)
	}
	return nil
}
