package cli

import (
	"cmp"
	"slices"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// seenSessions are the sessions of a run as far as its rows tell. One is live from the end
// of its first step until its own row comes; nobody tells of one whose first step goes on.
type seenSessions struct {
	live   map[string]*monitor.LiveSession
	counts monitor.SessionGauge
	// over are those that have ended: the rows of their last steps may be read later. older
	// are the ones before them, so that neither grows with the run.
	over, older map[string]struct{}
}

// mostOver bounds seenSessions.over.
const mostOver = 1 << 14

// step takes a request that has ended.
func (s *seenSessions) step(r *record.Request) {
	if r.SessionID == "" || s.isOver(r.SessionID) {
		return
	}
	x := s.live[r.SessionID]
	if x == nil {
		if s.live == nil {
			s.live = map[string]*monitor.LiveSession{}
		}
		x = &monitor.LiveSession{
			ID: r.SessionID, Tenant: r.Tenant, Arrival: monitor.Nanos(r.Intended), ModelTime: monitor.Unknown, WaitTime: monitor.Unknown,
			InFlight: monitor.Whole(monitor.Unknown), Queued: monitor.Whole(monitor.Unknown),
		}
		s.live[r.SessionID] = x
	}
	x.Arrival = min(x.Arrival, monitor.Nanos(r.Intended))
	switch r.Outcome {
	case record.OK:
		x.StepsOK++
	case record.Censored:
	default:
		x.StepsFailed++
	}
}

func (s *seenSessions) isOver(id string) bool {
	_, over := s.over[id]
	_, older := s.older[id]
	return over || older
}

// end takes a session that has ended.
func (s *seenSessions) end(r *record.Session) {
	delete(s.live, r.SessionID)
	if s.over == nil || len(s.over) >= mostOver {
		s.over, s.older = map[string]struct{}{}, s.over
	}
	s.over[r.SessionID] = struct{}{}
	switch r.Outcome {
	case record.SessionCompleted:
		s.counts.Completed++
	case record.SessionCensored:
		s.counts.Censored++
	default:
		s.counts.Failed++
	}
}

// gauges are the levels at now; nil: no session has been seen.
func (s *seenSessions) gauges(now clock.Time) *monitor.Gauges {
	s.counts.Live = int64(len(s.live))
	if s.counts == (monitor.SessionGauge{}) {
		return nil
	}
	out := &monitor.Gauges{At: now, Sessions: s.counts, Seen: true}
	for _, x := range s.live {
		y := *x
		y.Age = max(0, monitor.Nanos(now)-y.Arrival)
		out.Live = append(out.Live, y)
	}
	slices.SortFunc(out.Live, func(a, b monitor.LiveSession) int {
		return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID))
	})
	out.Live = out.Live[:min(len(out.Live), monitor.KeptLive)]
	return out
}
