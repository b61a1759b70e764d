package dispatch

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/schedule"
)

// RateChange is a change of the rate by hand: from At on, Percent of the planned rate
// holds.
type RateChange struct {
	At      clock.Time
	Percent int64
}

// Steer adds so many points, in per cent of the planned rate, to the rate of the arrivals
// that are still to come (schedule.Stretch), from the moment at which the loop takes it
// up. It stays from schedule.MinPercent to MaxPercent. Nothing is waited for: the schedule
// is as open as before, and the instants at which requests are due, which their rows
// tell, are the new ones. It does nothing to a closed loop, during a warm-up, and once
// the last arrival was taken. It may be called from any goroutine.
func (d *Dispatcher) Steer(points int64) { d.cfg.Loop.Post(steer{d, points}) }

type steer struct {
	d      *Dispatcher
	points int64
}

func (e steer) Entity() uint64 { return 0 }

func (e steer) Fire(now clock.Time) {
	d, a := e.d, e.d.arrivals
	if d.stage != offering || d.cfg.Source == nil || !d.warm.open || d.warm.held || now < d.warm.opens {
		return
	}
	percent := min(max(a.stretch.Percent()+e.points, schedule.MinPercent), schedule.MaxPercent)
	if percent == a.stretch.Percent() {
		return
	}
	a.steer(now, percent)
	if d.cfg.Steered != nil {
		d.cfg.Steered(RateChange{now, percent})
	}
}

// steer moves the arrival that is pending and lets those behind it follow. Its event can't
// be taken out of the loop, so that another one takes its place.
func (a *arrivals) steer(now clock.Time, percent int64) {
	a.stretch.Change(now, percent)
	if a.next.At <= now {
		return
	}
	b := *a
	a.over = true
	b.next.At = b.stretch.At(b.planned)
	a.d.arrivals = &b
	a.d.cfg.Loop.At(b.next.At, clock.RankArrival, &b)
}
