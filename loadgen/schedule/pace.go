package schedule

import (
	"math"

	"goodput/loadgen/clock"
)

// pace says at which instant the integral of the rate, in arrivals, reaches u. It
// is asked for numbers that never fall.
type pace interface {
	instant(u float64) clock.Time
}

var (
	_ pace = flat(0)
	_ pace = (*warp)(nil)
)

// flat is one rate for ever, in arrivals per second.
type flat float64

func (r flat) instant(u float64) clock.Time { return instant(u * 1e9 / float64(r)) }

// piece is a stretch of time, in seconds since the epoch, within which the rate
// goes from one value to another: in a straight line, or by the same factor in
// equal times. The last piece of a course has no end, and a constant rate.
type piece struct {
	from, to  float64
	a, b      float64 // arrivals per second at from and at to
	geometric bool
}

// mass is the number of arrivals to expect within the piece.
func (p *piece) mass() float64 {
	d := p.to - p.from
	switch {
	case p.a == p.b:
		if p.a == 0 {
			return 0
		}
		return p.a * d
	case p.geometric:
		return d * (p.b - p.a) / math.Log(p.b/p.a)
	}
	return d * (p.a + p.b) / 2
}

// when is the time, in seconds since the epoch, at which x arrivals of the piece
// are to be expected; 0 <= x <= mass.
func (p *piece) when(x float64) float64 {
	d := p.to - p.from
	switch {
	case x <= 0:
		return p.from
	case p.a == p.b:
		return p.from + x/p.a
	case p.geometric:
		k := math.Log(p.b/p.a) / d
		return p.from + math.Log1p(x*k/p.a)/k
	}
	// x = a t + s t^2/2 with slope s, solved without the difference of near numbers.
	s := (p.b - p.a) / d
	return p.from + 2*x/(p.a+math.Sqrt(max(0, p.a*p.a+2*s*x)))
}

// at is the rate at time t within the piece.
func (p *piece) at(t float64) float64 {
	if p.a == p.b {
		return p.a
	}
	share := (t - p.from) / (p.to - p.from)
	if p.geometric {
		return p.a * math.Pow(p.b/p.a, share)
	}
	return p.a + (p.b-p.a)*share
}

// course is the rate over time, piece by piece without gaps. After the endless one
// it must not be asked again.
type course interface{ next() piece }

// warp inverts the integral of a course.
type warp struct {
	course course
	now    piece
	before float64 // arrivals to expect until now begins
	upTo   float64 // and until it ends
}

func newWarp(c course) *warp {
	w := &warp{course: c, now: c.next()}
	w.upTo = w.now.mass()
	return w
}

func (w *warp) instant(u float64) clock.Time {
	for u > w.upTo {
		if math.IsInf(w.now.to, 1) {
			return latest // the rate is 0 from here on
		}
		w.now = w.course.next()
		w.before = w.upTo
		w.upTo += w.now.mass()
	}
	return instant(min(w.now.when(u-w.before), w.now.to) * 1e9)
}

// stages is the course of Config.Stages.
type stages struct {
	list []Stage
	i    int
}

var _ course = (*stages)(nil)

func (s *stages) next() piece {
	a := s.list[s.i]
	s.i++
	from := a.At.Seconds()
	if s.i == len(s.list) {
		return piece{from: from, to: math.Inf(1), a: a.Rate, b: a.Rate}
	}
	b := s.list[s.i]
	return piece{from: from, to: b.At.Seconds(), a: a.Rate, b: b.Rate, geometric: a.Geometric}
}
