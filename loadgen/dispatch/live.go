package dispatch

import "goodput/loadgen/clock"

// LiveSession is how far a session is that has begun and not ended.
type LiveSession struct {
	ID, Tenant string
	Arrival    clock.Time
	// Of StepsPlanned steps, StepsOK succeeded and StepsFailed did not.
	StepsPlanned, StepsOK, StepsFailed int32
	// InFlight steps were sent and have not ended, Queued ones are due and wait for the
	// session to have fewer in flight. With neither it waits for a user or a tool.
	InFlight, Queued int
	// Model and Wait are the time along its main thread that is over, in nanoseconds:
	// requests, of which one in flight counts until now, and planned waits.
	Model, Wait int64
}

// LiveSessions calls f for each, earliest arrival first, until it returns false. What f is
// given is good until it returns.
func (d *Dispatcher) LiveSessions(now clock.Time, f func(*LiveSession) bool) {
	var out LiveSession
	for s := d.sessions.first; s != nil; s = s.next {
		main := &s.threads[0]
		out = LiveSession{
			ID: s.id, Tenant: s.tenant, Arrival: s.arrival,
			StepsPlanned: s.row.StepsPlanned, StepsOK: s.row.StepsOK, StepsFailed: s.row.StepsFailed,
			InFlight: s.inFlight, Queued: len(s.queue), Model: main.cost.model, Wait: main.cost.wait,
		}
		switch main.state {
		case sent:
			out.Model += int64(max(0, now-main.sent))
		case waiting: // the wait is in its cost as a whole
			out.Wait -= int64(max(0, main.due-now))
		}
		if !f(&out) {
			return
		}
	}
}
