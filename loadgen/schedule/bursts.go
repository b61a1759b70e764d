package schedule

import (
	"fmt"
	"math"
	"time"

	"goodput/loadgen/rng"
)

// Bursts describes the two states between which the rate of MMPP switches, each
// exponentially long. The mean of the rate over both is that of the Config.
type Bursts struct {
	// Factor is the rate within bursts over that between them.
	Factor float64
	// Burst and Calm are the mean durations of the two states.
	Burst, Calm time.Duration
}

// Limits of Bursts. A cycle that is much shorter than the gaps between arrivals
// would average out, and cost a draw for each state.
const (
	MaxBurstFactor = 1e6
	MinState       = time.Millisecond
	MaxState       = 30 * 24 * time.Hour
	minPerCycle    = 1e-3
)

func (b Bursts) validate() error {
	if !(b.Factor >= 1 && b.Factor <= MaxBurstFactor) {
		return fmt.Errorf("burst factor %v: must be from 1 to %g times the rate between bursts", b.Factor, MaxBurstFactor)
	}
	for _, d := range []time.Duration{b.Burst, b.Calm} {
		if d < MinState || d > MaxState {
			return fmt.Errorf("mean duration %v of bursts or of the calm between them: must be from %v to %v", d, MinState, MaxState)
		}
	}
	return nil
}

// levels are what the rate is multiplied with in calm and in bursts; their mean
// over time is 1.
func (b Bursts) levels() (calm, burst float64) {
	share := b.share()
	calm = 1 / (b.Factor*share + 1 - share)
	return calm, b.Factor * calm
}

// share is the part of the time that bursts take.
func (b Bursts) share() float64 {
	return b.Burst.Seconds() / (b.Burst.Seconds() + b.Calm.Seconds())
}

// modulated multiplies a course by the level of a two-state Markov chain that
// starts in its stationary distribution.
type modulated struct {
	course course
	stream rng.Stream
	mean   [2]float64 // seconds, by state
	level  [2]float64
	state  int     // 1: burst
	until  float64 // when the state ends
	rest   piece   // of the course; empty: none left
}

var _ course = (*modulated)(nil)

func newModulated(c course, b Bursts, s rng.Stream) *modulated {
	m := &modulated{course: c, stream: s, mean: [2]float64{b.Calm.Seconds(), b.Burst.Seconds()}}
	m.level[0], m.level[1] = b.levels()
	if m.stream.Float64() < b.share() {
		m.state = 1
	}
	m.until = m.stream.Exp() * m.mean[m.state]
	return m
}

func (m *modulated) next() piece {
	if m.rest.from >= m.rest.to {
		m.rest = m.course.next()
	}
	if m.rest.a == 0 && m.rest.b == 0 {
		// No state of it can be seen, and none needs to be remembered: what is left of
		// an exponential duration is distributed as all of it.
		p := m.rest
		m.rest = piece{}
		if m.until < p.to {
			m.until = p.to + m.stream.Exp()*m.mean[m.state]
		}
		return p
	}
	p := m.rest
	if p.to > m.until {
		p.to, p.b = m.until, m.rest.at(m.until)
		if math.IsInf(m.rest.to, 1) {
			p.b = p.a
		}
	}
	m.rest.from, m.rest.a = p.to, p.b
	level := m.level[m.state]
	for m.until <= p.to && !math.IsInf(p.to, 1) {
		m.state = 1 - m.state
		m.until += m.stream.Exp() * m.mean[m.state]
	}
	p.a, p.b = p.a*level, p.b*level
	return p
}
