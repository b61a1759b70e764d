package monitor

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Feed carries events from a Monitor to a Board. The load puts them in, and never
// waits: while nobody takes them out they fill the Feed, and what comes then is lost
// and counted.
type Feed struct {
	starts   ring[start]
	samples  ring[Sample]
	sessions ring[record.Session]
}

// start is when a request was sent, and how late by the wall clock; Unknown: its row
// tells, or nobody does.
type start struct {
	at   clock.Time
	late Nanos
}

// NewFeed returns a feed that holds about 16,000 requests.
func NewFeed() *Feed {
	return &Feed{starts: newRing[start](14), samples: newRing[Sample](14), sessions: newRing[record.Session](10)}
}

func (f *Feed) started(now clock.Time, late Nanos) {
	if s := f.starts.next(); s != nil {
		*s = start{now, late}
		f.starts.done()
	}
}

func (f *Feed) ended(now clock.Time, r *record.Request) {
	if s := f.samples.next(); s != nil {
		s.fill(now, r)
		f.samples.done()
	}
}

// Session notes how a session ended. It belongs to one goroutine, which need not be
// the loop's.
func (f *Feed) Session(s *record.Session) {
	if x := f.sessions.next(); x != nil {
		*x = *s
		x.Turns = nil
		f.sessions.done()
	}
}

// Lost counts the events that found no room.
func (f *Feed) Lost() int64 {
	return f.starts.lost.Load() + f.samples.lost.Load() + f.sessions.lost.Load()
}

// Gauges are the levels of a pool at one instant.
type Gauges struct {
	At       clock.Time
	Replicas []ReplicaGauge
	Sessions SessionGauge
	Live     []LiveSession // the KeptLive earliest of the live ones
	Seen     bool          // what Sessions.Seen is
}

// ReplicaGauge is one replica's own state, and what the router believes of it.
type ReplicaGauge struct {
	Name             string
	Running, Waiting int
	KVUsed           float64 // 0 to 1
	// HitTokens of QueryTokens prompt tokens were in the prefix cache, so far.
	HitTokens, QueryTokens int64
	Preemptions            int64
	// Outstanding requests were sent to it and have not ended. Stale is the age of what
	// the router knows of its queues; Unknown: it knows nothing.
	Outstanding int
	Stale       Nanos
}

// SessionGauge counts sessions.
type SessionGauge struct {
	Scheduled int64 `json:"scheduled"`
	Waiting   int64 `json:"waiting"` // for a place
	Live      int64 `json:"live"`
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"` // overflow and dropped included
	Censored  int64 `json:"censored"`
}

// Publish tells the levels of the pool; g must not change any more. It belongs to the
// loop's goroutine.
func (m *Monitor) Publish(g *Gauges) { m.gauges.Store(g) }

// Tell makes all that m hears of from now on go to f too. It belongs before the run.
func (m *Monitor) Tell(f *Feed) { m.feeds = append(m.feeds, f) }
