package monitor

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Snapshot is the picture of a run at one moment.
type Snapshot struct {
	// Elapsed is the run's time so far.
	Elapsed clock.Time
	// Total is the number of requests of the run; 0: not known.
	Total int64
	// Sent requests were handed to the target; InFlight have not ended. Each is
	// right at its own moment, so that they need not add up with Outcomes.
	Sent, InFlight int64
	// Outcomes counts the ended requests by outcome.
	Outcomes [record.NumOutcomes]int64
	// OutputTokens were received, not counting UnknownTokens requests whose
	// number of tokens is not known.
	OutputTokens, UnknownTokens int64
	// TTFTP95 and LagP99 are those quantiles of the ended requests.
	TTFTP95, LagP99 Quantile
}

// Quantile is one quantile in nanoseconds, over the last seconds (see Window) and
// over the whole run; Null if nothing was observed.
type Quantile struct {
	Recent, Overall int64
}

// Completed is the number of successes.
func (s *Snapshot) Completed() int64 { return s.Outcomes[record.OK] }

// Errors is the number of requests that failed: what ended, but neither as a
// success nor censored.
func (s *Snapshot) Errors() int64 {
	var n int64
	for o, c := range s.Outcomes {
		if o := record.Outcome(o); o != record.OK && o != record.Censored {
			n += c
		}
	}
	return n
}

// Snapshot returns the picture at now, or, if now is Never, at the last instant
// that the monitor heard of, for runs whose time only the loop knows. It may be
// called from any goroutine.
func (m *Monitor) Snapshot(now clock.Time) Snapshot {
	now = max(now, clock.Time(m.last.Load()))
	s := Snapshot{Elapsed: now, Total: m.total, Sent: m.sent.Load(), InFlight: m.inFlight.Load()}
	for i := range m.outcomes {
		s.Outcomes[i] = m.outcomes[i].Load()
	}
	s.OutputTokens, s.UnknownTokens = m.tokens.Load(), m.unknown.Load()
	s.TTFTP95 = m.quantile(now, 950, &m.ttft, func(x *second) *histogram { return &x.ttft })
	s.LagP99 = m.quantile(now, 990, &m.lag, func(x *second) *histogram { return &x.lag })
	return s
}

func (m *Monitor) quantile(now clock.Time, perMille uint64, all *histogram, of func(*second) *histogram) Quantile {
	var recent, overall sums
	overall.add(all)
	newest := secondOf(now)
	for i := range m.recent {
		if n := m.recent[i].number.Load(); n > newest-slots {
			recent.add(of(&m.recent[i]))
		}
	}
	return Quantile{Recent: recent.quantile(perMille), Overall: overall.quantile(perMille)}
}
