package monitor

import (
	"sync/atomic"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Window is the time that "the last seconds" of a Snapshot go back, including
// the second that is running.
const Window = slots * time.Second

const slots = 10

// Monitor is fed by the loop's goroutine, through Started and Ended, and read
// from any goroutine, through Snapshot. Neither ever waits for the other.
type Monitor struct {
	total int64

	last     atomic.Int64 // latest instant that was reported
	sent     atomic.Int64
	inFlight atomic.Int64
	outcomes [record.NumOutcomes]atomic.Int64
	tokens   atomic.Int64
	unknown  atomic.Int64

	ttft, lag histogram
	recent    [slots]second

	loopTime bool
	stamp    clock.Stamper // nil: rows tell how late requests left, or nobody does

	feeds  []*Feed
	gauges atomic.Pointer[Gauges] // nil: none were published
}

// second holds what ended within one second of the run.
type second struct {
	number    atomic.Int64 // 1 + seconds since the epoch; 0: nothing yet
	ttft, lag histogram
}

// New returns a monitor of a run of total requests; 0: the number is not known.
func New(total int64) *Monitor { return &Monitor{total: total} }

// LoopTime says that the target lives in the loop's own time, in which nothing is late
// whatever the wall clock says, so that rows tell no lag. Lag is then how late requests
// are handed over by stamp; nil, as in virtual time: it is unknown. It belongs before the
// run.
func (m *Monitor) LoopTime(stamp clock.Stamper) { m.loopTime, m.stamp = true, stamp }

// Started notes that a request was handed to its target.
func (m *Monitor) Started(now clock.Time) {
	late := m.late(now)
	m.last.Store(int64(now))
	m.sent.Add(1)
	m.inFlight.Add(1)
	for _, f := range m.feeds {
		f.started(now, late)
	}
}

// late is how late what the loop does at now is by the wall clock, which it notes.
func (m *Monitor) late(now clock.Time) Nanos {
	if m.stamp == nil {
		return Unknown
	}
	v := max(0, int64(m.stamp.Stamp()-now))
	m.lag.add(v)
	m.second(now).lag.add(v)
	return Nanos(v)
}

// Ended notes how a request ended. r is not kept.
func (m *Monitor) Ended(now clock.Time, r *record.Request) {
	m.last.Store(int64(now))
	if r.OutputTokens != record.Null32 {
		m.tokens.Add(int64(r.OutputTokens))
	} else {
		m.unknown.Add(1)
	}
	s := m.second(now)
	if v := r.TTFT(); v != record.Null {
		m.ttft.add(v)
		s.ttft.add(v)
	}
	if v := r.Lag(); v != record.Null && !m.loopTime {
		m.lag.add(v)
		s.lag.add(v)
	}
	m.outcomes[r.Outcome].Add(1)
	if r.Dispatched.Known() { // otherwise it was never sent
		m.inFlight.Add(-1)
	}
	for _, f := range m.feeds {
		f.ended(now, r)
	}
}

// second returns the slot of now, cleared if it held an earlier second.
func (m *Monitor) second(now clock.Time) *second {
	number := secondOf(now)
	s := &m.recent[number%slots]
	if s.number.Load() != number {
		s.number.Store(0) // readers leave it out while it is cleared
		s.ttft.clear()
		s.lag.clear()
		s.number.Store(number)
	}
	return s
}

func secondOf(now clock.Time) int64 { return 1 + int64(max(now, 0))/int64(time.Second) }
