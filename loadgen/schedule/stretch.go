package schedule

import "goodput/loadgen/clock"

// The shares of the planned rate, in per cent, that a Stretch takes.
const (
	MinPercent     = 10
	MaxPercent     = 1000
	PlannedPercent = 100
)

// Stretch says when arrivals are due if the rate is changed on the way. From each change
// on, what is still to come keeps its pattern and comes in 100/percent of the planned
// time; what came before stays. The zero value is the schedule as planned.
//
// With the last change at due, when the schedule stood at planned, an arrival planned for
// t is due at due + (t-planned) 100/percent, cut to whole nanoseconds: a function that
// never falls, of t and of the changes only.
type Stretch struct {
	planned, due clock.Time
	percent      int64 // 0: PlannedPercent
}

// Percent is the share of the planned rate that holds.
func (s *Stretch) Percent() int64 {
	if s.percent == 0 {
		return PlannedPercent
	}
	return s.percent
}

// At is when an arrival that was planned for t is due. A t before the last change is due
// at that change.
func (s *Stretch) At(t clock.Time) clock.Time {
	return s.due + scaled(max(0, t-s.planned), PlannedPercent, s.Percent())
}

// Change makes percent of the planned rate hold from now on, which must not be before an
// earlier change.
func (s *Stretch) Change(now clock.Time, percent int64) {
	s.planned += scaled(max(0, now-s.due), s.Percent(), PlannedPercent)
	s.due, s.percent = now, percent
}

// scaled is t times/by, without an overflow in between.
func scaled(t clock.Time, times, by int64) clock.Time {
	n := int64(t)
	return clock.Time(n/by*times + n%by*times/by)
}
