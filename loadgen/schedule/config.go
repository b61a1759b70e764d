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
	// Weibull has independent, Weibull distributed gaps. Below shape 1 they have a
	// heavier tail than gamma gaps of the same coefficient of variation.
	Weibull Process = "weibull"
	// MMPP is Poisson with a rate that switches between two levels at random times: a
	// Markov-modulated Poisson process, whose bursts last for many arrivals.
	MMPP Process = "mmpp"
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
	MinWeibull    = 0.1 // shape; the coefficient of variation is 430
	MaxWeibull    = 1e3
)

// Config describes an arrival process.
type Config struct {
	Process Process
	// Rate is the mean number of arrivals per second; +Inf makes all due at 0. For
	// Trace, 0 keeps the times as they were recorded, and another rate scales them
	// all by one factor, such that the mean gap of the whole trace is 1/Rate.
	Rate float64
	// Stages are the rate over time, and Rate is then 0; empty: it is Rate throughout.
	// The first is at 0, and the rate of the last holds on. A trace has none.
	Stages []Stage
	// Burstiness is the shape of the gaps of Gamma and Weibull. For Gamma their
	// coefficient of variation is 1/sqrt(Burstiness). 1 is Poisson, and +Inf Constant,
	// to the nanosecond. The other processes ignore it.
	Burstiness float64
	// Bursts are the states of MMPP; the other processes ignore them.
	Bursts Bursts
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

// Stage is a point of a rate that changes over time. From it to the next one the rate
// goes in a straight line, or, if Geometric, by the same factor in equal times; two
// stages at one instant are a jump.
type Stage struct {
	At        time.Duration
	Rate      float64 // arrivals per second; 0: none
	Geometric bool
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
	if c.Process == Trace {
		if len(c.Stages) > 0 {
			return fmt.Errorf("a trace has its own times: leave the stages out")
		}
		return c.validateTrace()
	}
	if err := c.validateProcess(); err != nil {
		return err
	}
	if len(c.Stages) > 0 {
		if c.Rate != 0 {
			return fmt.Errorf("both a rate and stages are given: leave one out")
		}
		if err := validateStages(c.Stages); err != nil {
			return err
		}
	} else if c.Rate == 0 {
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

// validateProcess checks what only some processes have.
func (c Config) validateProcess() error {
	b := c.Burstiness
	switch c.Process {
	case Poisson, Constant:
	case Gamma:
		if !math.IsInf(b, 1) && !(b >= MinBurstiness && b <= MaxBurstiness) {
			return fmt.Errorf("burstiness %v: must be from %v to %v, or infinite for constant gaps", b, MinBurstiness, MaxBurstiness)
		}
	case Weibull:
		if !math.IsInf(b, 1) && !(b >= MinWeibull && b <= MaxWeibull) {
			return fmt.Errorf("burstiness %v: the shape of Weibull gaps must be from %v to %v, or infinite for constant gaps", b, MinWeibull, MaxWeibull)
		}
	case MMPP:
		if err := c.Bursts.validate(); err != nil {
			return err
		}
		cycle := (c.Bursts.Burst + c.Bursts.Calm).Seconds()
		for _, r := range append([]Stage{{Rate: c.Rate}}, c.Stages...) {
			if r.Rate > 0 && r.Rate*cycle < minPerCycle {
				return fmt.Errorf("rate %v: bursts that come every %v s cannot be seen in it: make them longer", r.Rate, cycle)
			}
		}
	default:
		return fmt.Errorf("arrival process %q is unknown: choose %s, %s, %s, %s, %s or %s", c.Process, Poisson, Gamma, Weibull, MMPP, Constant, Trace)
	}
	return nil
}

func validateStages(list []Stage) error {
	any := false
	for i, s := range list {
		next := i + 1
		switch {
		case i == 0 && s.At != 0:
			return fmt.Errorf("the first stage is at %v: it must be at 0", s.At)
		case i > 0 && s.At < list[i-1].At:
			return fmt.Errorf("stage %d is at %v, before the one ahead of it: sort them by time", i, s.At)
		case s.Rate != 0 && !(s.Rate >= MinRate && s.Rate <= MaxRate):
			return fmt.Errorf("rate %v of stage %d: must be 0, or from %v to %v arrivals per second", s.Rate, i, MinRate, MaxRate)
		case s.Geometric && next < len(list) && (s.Rate == 0 || list[next].Rate == 0):
			return fmt.Errorf("stage %d: a rate cannot grow exponentially from 0 or to 0: begin or end with a small one", i)
		}
		any = any || s.Rate > 0
	}
	if !any {
		return fmt.Errorf("the rates of all stages are 0: nothing would arrive")
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
