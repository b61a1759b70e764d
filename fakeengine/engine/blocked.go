package engine

import "goodput/loadgen/clock"

// block sets a waiting sequence aside until unblock: it cannot be admitted yet,
// and those behind it need not wait for it (R9). The time is that of a transfer.
func (e *Engine) block(s *Seq, now clock.Time) {
	e.stuck = false
	e.waiting.remove(s)
	e.blocked.pushBack(s)
	s.sched.blockedAt = now
}

// unblock puts a blocked sequence back to its turn in the queue and has the
// engine look at it: now, or at the end of the step that executes.
func (e *Engine) unblock(s *Seq, now clock.Time) {
	e.catchUp()
	e.stuck = false
	s.arrived(now)
	e.blocked.remove(s)
	e.waiting.restore(s)
	e.wake()
}

// arrived closes the account of a transfer, if one is open. A preemption before
// it did not last for that time.
func (s *Seq) arrived(now clock.Time) {
	if !s.sched.blockedAt.Known() {
		return
	}
	d := now.Sub(s.sched.blockedAt)
	s.sched.blockedAt = clock.Never
	s.TransferNS += int64(d)
	switch {
	case s.sched.preemptedAt.Known():
		s.sched.preemptedAt = s.sched.preemptedAt.Add(d)
	case !s.Scheduled.Known():
		s.sched.blockedNS += int64(d)
	}
}
