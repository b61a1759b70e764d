package schedule

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// process is an arrival process without an end. It is asked for arrivals 0, 1, 2
// and so on, each once.
type process interface {
	at(i uint64) clock.Time
	String() string
}

var (
	_ process = (*renewal)(nil)
	_ process = constant{}
	_ process = trace{}
)

// latest is 146 years: what lies after it does not happen.
const latest clock.Time = 1 << 62

// instant converts nanoseconds to the nearest instant.
func instant(ns float64) clock.Time {
	if !(ns < float64(latest)) {
		return latest
	}
	return clock.Time(math.Round(ns))
}

// renewal has independent gaps of one distribution. The sum of gaps is kept at
// unit rate, where no rounding to nanoseconds enters it; arrival i is that sum
// over the rate.
type renewal struct {
	stream rng.Stream
	rate   float64 // arrivals per second
	shape  float64 // of the gamma distribution; 1: exponential
	sum    float64 // of gaps with mean 1
}

func (p *renewal) String() string {
	if p.shape == 1 {
		return string(Poisson)
	}
	return string(Gamma)
}

func (p *renewal) at(uint64) clock.Time {
	if p.shape == 1 {
		p.sum += p.stream.Exp()
	} else {
		p.sum += p.stream.Gamma(p.shape) / p.shape
	}
	return instant(p.sum * 1e9 / p.rate)
}

// rescale makes arrival n, the last, be due at n/rate.
func (p *renewal) rescale(n int) {
	ahead := *p
	for i := range n {
		ahead.at(uint64(i))
	}
	p.rate *= ahead.sum / float64(n)
}

// constant has equal gaps.
type constant struct{ rate float64 }

func (constant) String() string { return string(Constant) }

func (p constant) at(i uint64) clock.Time { return instant(float64(i) * 1e9 / p.rate) }

// trace repeats recorded times, stretched by a factor.
type trace struct {
	times  func(i int) time.Duration
	factor float64
}

func (trace) String() string { return string(Trace) }

func (p trace) at(i uint64) clock.Time {
	t := p.times(int(i))
	if p.factor == 1 {
		return min(clock.Time(t), latest)
	}
	return instant(float64(t) * p.factor)
}

// newTrace scales the trace to c.Rate. The recorded rate is that of its gaps: n
// rows have n-1.
func newTrace(c Config) trace {
	switch {
	case c.Rate == 0:
		return trace{times: c.Times, factor: 1}
	case math.IsInf(c.Rate, 1) || c.Len == 0:
		return trace{times: c.Times, factor: 0}
	}
	span := float64(c.Times(c.Len-1)-c.Times(0)) / 1e9
	return trace{times: c.Times, factor: float64(c.Len-1) / span / c.Rate}
}
