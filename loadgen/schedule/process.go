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
	_ process = (*paced)(nil)
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

// paced is a process of unit rate, u, whose time is stretched to a rate: arrival i
// is due when the rate's integral has reached u's arrival i. This time-rescaling is
// exact: a unit Poisson process becomes the Poisson process of that rate, constant
// or not.
type paced struct {
	name Process
	unit unit
	pace pace
}

func (p *paced) String() string { return string(p.name) }

func (p *paced) at(i uint64) clock.Time { return p.pace.instant(p.unit.at(i)) }

// unit is a process with one arrival per unit of time in the mean. It is asked for
// arrivals 0, 1, 2 and so on, each once. Its numbers never fall.
type unit interface{ at(i uint64) float64 }

var (
	_ unit = (*renewal)(nil)
	_ unit = constant{}
)

// renewal has independent gaps of one distribution with mean 1. The sum is kept at
// unit rate, where no rounding to nanoseconds enters it.
type renewal struct {
	stream rng.Stream
	gaps   gaps
	sum    float64
	mean   float64 // what stands for 1 in sum: 1, unless rescaled
}

func (p *renewal) at(uint64) float64 {
	p.sum += p.gaps.draw(&p.stream)
	return p.sum / p.mean
}

// gaps is a distribution of gaps with mean 1.
type gaps interface {
	draw(s *rng.Stream) float64
	String() string
}

// rescale makes arrival n, the last, be due at n in units of time.
func (p *renewal) rescale(n int) {
	ahead := *p
	for i := range n {
		ahead.at(uint64(i))
	}
	p.mean = ahead.sum / float64(n)
}

var (
	_ gaps = exponential{}
	_ gaps = gamma{}
	_ gaps = weibull{}
)

type exponential struct{}

func (exponential) String() string { return string(Poisson) }

func (exponential) draw(s *rng.Stream) float64 { return s.Exp() }

type gamma struct{ shape float64 }

func (gamma) String() string { return string(Gamma) }

func (g gamma) draw(s *rng.Stream) float64 { return s.Gamma(g.shape) / g.shape }

// weibull is a power of an exponential variable: E^(1/shape) has mean
// Gamma(1 + 1/shape).
type weibull struct{ power, mean float64 }

func newWeibull(shape float64) weibull { return weibull{1 / shape, math.Gamma(1 + 1/shape)} }

func (weibull) String() string { return string(Weibull) }

func (w weibull) draw(s *rng.Stream) float64 { return math.Pow(s.Exp(), w.power) / w.mean }

// constant has equal gaps.
type constant struct{}

func (constant) at(i uint64) float64 { return float64(i) }

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
