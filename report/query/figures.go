package query

import (
	"fmt"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Metric is one latency metric of a run. Its values are in nanoseconds.
type Metric struct {
	Name string
	stats.Summary
	// Independent is the number of independent values that N correlated ones, in the
	// order of the schedule, are worth; 0: unknown.
	Independent float64
}

// Worth is the number of values to judge quantiles by: Independent, or N where that
// is unknown.
func (m *Metric) Worth() int64 {
	if m.Independent > 0 {
		return min(m.N, int64(m.Independent))
	}
	return m.N
}

// Reliable reports whether the quantile q has a 95 % interval at all.
func (m *Metric) Reliable(q float64) bool { return m.Worth() >= stats.MinN(q) }

// Ratio is a part of a whole; without a whole there is no ratio.
type Ratio struct{ Part, Whole int64 }

// Known reports whether the ratio exists.
func (r Ratio) Known() bool { return r.Whole > 0 }

// Value is Part/Whole, between 0 and 1.
func (r Ratio) Value() float64 { return float64(r.Part) / float64(r.Whole) }

// Figures are the figures of one run: of the requests that were scheduled in
// its window, wherever they ended. Counts are of requests (final attempts).
type Figures struct {
	Dir      string
	Manifest record.Manifest
	// Window runs from Start, which is instant 0 or the end of the warm-up, to the last
	// scheduled arrival.
	Start  clock.Time
	Window time.Duration
	// Scheduled requests, and how they ended.
	Scheduled int64
	Outcomes  [record.NumOutcomes]int64
	// Reasons gives, for each kind of failure, the words of one request that ended
	// so: the first by number.
	Reasons [record.NumOutcomes]string
	// Sent requests left the generator, the last of them at LastSent.
	Sent     int64
	LastSent clock.Time
	// Attempts is what was sent for them.
	Attempts Attempts
	// Met counts requests that met the SLO; Judged those that were judged, which
	// are all but the censored ones and those given up on purpose. SLO is false when no SLO was given.
	SLO         bool
	Met, Judged int64
	// Free are requests of classes that were promised nothing where others were, but for
	// those given up on purpose.
	Free int64
	// Span is the time from the start of the window to the last token; PromptTokens and
	// OutputTokens are those of successes.
	Span                       time.Duration
	PromptTokens, OutputTokens int64
	// PlannedHit is the share of prompt tokens that an infinite cache would have
	// held, MeasuredHit the share that the server said it took from its cache, both
	// over the requests that reported it. PoolHit is that of one LRU cache as large as
	// those of all fake engines together, without any requests at the same time; it is
	// not known of a real server.
	PlannedHit, PoolHit, MeasuredHit Ratio
	// Preemptions and Recomputed tokens by the server's own account, also of
	// requests that did not succeed; Accounts is the number of requests that have
	// one.
	Preemptions, Recomputed, Accounts int64
	// Drafts is what became of drafted tokens by the server's own account, also of
	// requests that did not succeed.
	Drafts Drafts
	// Spent is where the time went.
	Spent Spent
	// Way is where it went as the client and the server see it, until the end of the
	// stream: of successes whose server says when its first token was.
	Way Spent
	// Joined is what is known of the successes at the server.
	Joined Joined
	// Engines is what the engines told of themselves.
	Engines Engines
	// PromptMismatch is the share of successes whose prompt had another length at
	// the server than planned.
	PromptMismatch Ratio
	// Coalesced counts chunks that shared a read with the one before, of all.
	Coalesced Ratio
	// Sessions are those whose steps the requests are, Triggers what these follow on,
	// and StepIndex their number in their thread; all are empty for a run without
	// sessions.
	Sessions            Sessions
	Triggers, StepIndex []Trigger
	// Arrivals compares when requests left with when they were to.
	Arrivals Arrivals
	// Refused requests got status 429 or 503.
	Refused int64
	// Assigned counts the requests of each replica that answers name, in the order of
	// the names.
	Assigned []Assigned
	// Metrics in the order of the definitions.
	Metrics []Metric
	// Timeline is the whole run in bins, Replicas who answered, Signs what points at
	// something wrong, Checks what must hold.
	Timeline      Timeline
	Replicas      []Replica
	OtherReplicas int
	Signs         Signs
	Checks        Checks

	values []values // behind the metrics, and that of "queue"
}

// Metric returns the named metric; ok is false if there is none.
func (f *Figures) Metric(name string) (m Metric, ok bool) {
	for _, m := range f.Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// HitGap is the planned cache hit rate minus the measured one; ok is false if either is
// unknown.
func (f *Figures) HitGap() (share float64, ok bool) {
	if !f.PlannedHit.Known() || !f.MeasuredHit.Known() {
		return 0, false
	}
	return f.PlannedHit.Value() - f.MeasuredHit.Value(), true
}

// Failed is the number of requests that neither succeeded nor are censored, nor were
// given up on purpose, nor dropped by the generator.
func (f *Figures) Failed() int64 {
	return f.Scheduled - f.Outcomes[record.OK] - f.Outcomes[record.Censored] - f.Outcomes[record.Canceled] - f.Outcomes[record.DroppedCap]
}

// Rated reports whether the window can be divided by: one request has no rate,
// and neither have requests that were all due at once.
func (f *Figures) Rated() bool { return f.Window > 0 && f.Scheduled > 1 }

// Offered is the mean rate of the schedule in requests per second; ok is false
// when there is none, as in a closed loop.
func (f *Figures) Offered() (rate float64, ok bool) {
	if !f.Rated() || f.Manifest.Load[record.LoadKind] == record.ClosedLoop {
		return 0, false
	}
	return float64(f.Scheduled) / f.Window.Seconds(), true
}

// Achieved is the mean rate at which requests really left: over the window, or
// until the last one left if that was later.
func (f *Figures) Achieved() (rate float64, ok bool) {
	if !f.Rated() || f.Sent == 0 {
		return 0, false
	}
	return float64(f.Sent) / max(f.Window, f.LastSent.Sub(f.Start)).Seconds(), true
}

// Slip is how much later than scheduled the last request left.
func (f *Figures) Slip() time.Duration {
	if !f.LastSent.Known() {
		return 0
	}
	return max(0, f.LastSent.Sub(f.Start)-f.Window)
}

// Load reads the run in dir and computes its figures; with scopes, those of the
// requests that are in all of them, and none of sessions. It is an error if none is.
func Load(dir string, scopes ...Scope) (*Figures, error) {
	in, err := newFilter(scopes)
	if err != nil {
		return nil, err
	}
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	c := newCollector(dir, run.Manifest)
	c.phase, c.probes = in.phase, ofProbes(scopes)
	if err := run.Requests(func(r *record.Request) error {
		if !in.pass(r) {
			return nil
		}
		return c.add(r)
	}, record.Columns(columns...)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	if err := in.check(dir); err != nil {
		return nil, err
	}
	if c.itl, err = interToken(run, &c.gaps, in); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	f := c.finish()
	if len(scopes) > 0 {
		f.Checks.Decided = -1
		return f, nil
	}
	if err := f.Signs.bunched(run); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	if f.Engines, err = loadEngines(run, &f.Timeline); err != nil {
		return nil, err
	}
	if err := f.loadSessions(run); err != nil {
		return nil, err
	}
	return f, nil
}
