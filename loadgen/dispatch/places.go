package dispatch

import (
	"math"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// arrive takes the session that is due: it becomes live, or waits for its place, or is
// dropped for want of one.
func (d *Dispatcher) arrive(now clock.Time, due schedule.Arrival) {
	l := &d.sessions
	l.counts.Scheduled++
	d.last = due.At
	switch most := int64(d.cfg.MaxSessions); {
	case most == 0 || l.counts.Live < most:
		d.startSession(due.At, due)
	case d.cfg.DropSessions:
		d.skipSession(now, due, record.SessionDropped)
	default:
		l.waiting = append(l.waiting, due)
		l.counts.Waiting++
	}
}

// freed gives the place of a session that ended to the next one.
func (d *Dispatcher) freed() {
	l := &d.sessions
	if d.cfg.Concurrent > 0 {
		l.lane.refill(d)
		return
	}
	if len(l.waiting) == 0 || d.stage > draining || l.counts.Live >= int64(d.cfg.MaxSessions) {
		return
	}
	due := l.waiting[0]
	l.waiting = append(l.waiting[:0], l.waiting[1:]...)
	l.counts.Waiting--
	d.startSession(d.cfg.Loop.Now(), due)
}

// skipSession writes the row of a session that never becomes live.
func (d *Dispatcher) skipSession(now clock.Time, due schedule.Arrival, why record.SessionOutcome) {
	l, s := &d.sessions, d.newSession(now, due)
	s.row.Outcome, s.row.StepsUnsent = why, s.row.StepsPlanned
	l.counts.Outcomes[why]++
	l.counts.StepsUnsent += int64(s.row.StepsUnsent)
	s.stopped, s.running = true, 0
	if d.cfg.RecordSession != nil {
		d.cfg.RecordSession(&s.row)
	}
	d.retire(s)
}

// endWaiting ends the sessions that wait for a place.
func (d *Dispatcher) endWaiting(why record.SessionOutcome) {
	l := &d.sessions
	for _, due := range l.waiting {
		l.counts.Waiting--
		d.skipSession(d.cfg.Loop.Now(), due, why)
	}
	l.waiting = l.waiting[:0]
}

// lanes starts the sessions of a closed loop. As an event of the loop it fills the
// places that are free.
type lanes struct {
	d       *Dispatcher
	next    uint64 // session of the set
	pending bool
}

var _ clock.Event = (*lanes)(nil)

// Entity comes after all sessions that arrive at the same instant.
func (*lanes) Entity() uint64 { return math.MaxUint64 }

func (l *lanes) begin(d *Dispatcher) {
	if l.refill(d); d.cfg.Until > 0 {
		d.cfg.Loop.At(d.cfg.Until, clock.RankControl, noArrivals{d})
	}
}

// refill arranges that free places are filled, after all that happens now.
func (l *lanes) refill(d *Dispatcher) {
	if l.pending || d.stage != offering {
		return
	}
	l.d, l.pending = d, true
	d.cfg.Loop.At(d.cfg.Loop.Now(), clock.RankArrival, l)
}

// Fire starts sessions, whose scheduled arrivals are the present instant.
func (l *lanes) Fire(now clock.Time) {
	d := l.d
	l.pending = false
	n := uint64(d.cfg.items())
	for d.stage == offering && l.next < n && d.sessions.counts.Live < int64(d.cfg.Concurrent) {
		d.sessions.counts.Scheduled++
		d.last = now
		l.next++
		d.startSession(now, schedule.Arrival{Seq: l.next - 1, At: now, Item: l.next - 1})
	}
	if l.next == n {
		d.drain(now)
	}
}

// underway reports whether the thread had begun, or was on its way to its first step,
// before the run.
func (t *thread) underway() bool {
	for t.number > 0 && t.plan.Spawn < 0 {
		t = &t.s.threads[t.plan.Parent]
	}
	return t.s.plan.Underway && t.number == 0
}
