package monitor

import (
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Query says what a Picture is to show.
type Query struct {
	Window time.Duration // back from now; cut to whole seconds, 1 s to MaxWindow
	Filter Filter
}

// Picture is all that screens show of a run at one moment. Instants and durations are
// nanoseconds of the run's clock; unknown is null. The counts of the whole run
// (Elapsed to Outcomes) are of all requests, everything else is of the filter's.
type Picture struct {
	Schema        int     `json:"schema"`
	Title         string  `json:"title,omitempty"`
	State         string  `json:"state"` // running, over, interrupted, waiting
	Filter        string  `json:"filter,omitempty"`
	Window        Nanos   `json:"window_ns"`
	Elapsed       Nanos   `json:"elapsed_ns"`
	Duration      Nanos   `json:"duration_ns"` // of the arrivals
	Total         int64   `json:"total"`       // requests; 0: not known
	Sent          int64   `json:"sent"`
	InFlight      Whole   `json:"in_flight"`
	Outcomes      []Count `json:"outcomes"`
	OutputTokens  int64   `json:"output_tokens"`
	UnknownTokens int64   `json:"unknown_tokens"`
	// Lost events did not come to the board, for it was not emptied in time.
	Lost int64 `json:"lost"`
	// CPU is what the generator's process takes, in cores.
	CPU Number `json:"cpu_cores"`

	// RatePercent of the planned rate holds, by RateChanges changes by hand; 0: not known.
	RatePercent int64 `json:"rate_percent"`
	RateChanges int64 `json:"rate_changes"`

	// Rates per second of the window: requests sent, successes, those that met the
	// SLO, output tokens. Attainment is the share of those with an SLO that met it.
	Offered    Number `json:"offered_rps"`
	Achieved   Number `json:"achieved_rps"`
	Good       Number `json:"good_rps"`
	Tokens     Number `json:"output_tps"`
	Attainment Number `json:"attainment"`

	TTFT Quantiles `json:"ttft"`
	TPOT Quantiles `json:"tpot"`
	E2E  Quantiles `json:"e2e"`
	Lag  Quantiles `json:"lag"`
	SLO  Promise   `json:"slo"`

	Series   []Points  `json:"series"` // one per second of the window, oldest first
	Heat     Heat      `json:"heat"`
	Replicas []Replica `json:"replicas"`
	Skew     Number    `json:"skew"` // most / mean of the replicas' requests in the window
	Spans    Spans     `json:"spans"`
	Sessions Sessions  `json:"sessions"`
	Slowest  []Sample  `json:"slowest"` // of the whole run
	Failed   []Sample  `json:"failed"`  // the latest
}

// Blank is a picture of which only the title is known.
func Blank(title string) Picture {
	none := Quantiles{P50: Unknown, P95: Unknown, P99: Unknown}
	return Picture{
		Schema: Schema, Title: title, State: "running", Window: Nanos(time.Second), Elapsed: Unknown, Duration: Unknown, InFlight: Whole(Unknown),
		CPU: None(), Offered: None(), Achieved: None(), Good: None(), Tokens: None(), Attainment: None(),
		TTFT: none, TPOT: none, E2E: none, Lag: none, SLO: Promise{TTFT: Unknown, TPOT: Unknown, E2E: Unknown}, Skew: None(),
		Spans: Spans{E2E: Unknown}, Sessions: Sessions{SCT: none},
	}
}

// Count is a number of requests with a name.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

// Quantiles are of N durations; each Unknown if N is 0.
type Quantiles struct {
	N   int64 `json:"n"`
	P50 Nanos `json:"p50_ns"`
	P95 Nanos `json:"p95_ns"`
	P99 Nanos `json:"p99_ns"`
}

// Points are the figures of one second.
type Points struct {
	At      Nanos     `json:"at_ns"` // its start
	Started int64     `json:"started"`
	OK      int64     `json:"ok"`
	Good    int64     `json:"good"`
	Failed  int64     `json:"failed"`
	TTFT    Quantiles `json:"ttft"`
	TPOT    Quantiles `json:"tpot"`
	// Skew is most / mean of the replicas' requests that ended in this second and the
	// SkewSpan-1 before it.
	Skew Number `json:"skew"`
}

// Heat counts E2E latencies and TTFTs by second and by size.
type Heat struct {
	// Bounds are the upper ends of the rows, ascending; the last row has none.
	Bounds []Nanos `json:"bounds_ns"`
	// TTFT and E2E hold a column for each entry of Series.
	TTFT [][]uint32 `json:"ttft"`
	E2E  [][]uint32 `json:"e2e"`
}

// Replica is one replica: its levels, if they are known, and its requests among the
// latest in the window.
type Replica struct {
	Name        string    `json:"name"`
	Levels      bool      `json:"levels"` // Running to Stale are known
	Running     int       `json:"running"`
	Waiting     int       `json:"waiting"`
	KVUsed      float64   `json:"kv_used"`
	Outstanding int       `json:"outstanding"`
	Preemptions int64     `json:"preemptions"` // of the whole run
	Stale       Nanos     `json:"stale_ns"`
	Requests    int64     `json:"requests"`
	Share       Number    `json:"share"`
	Hit         Number    `json:"hit"` // cached / prompt tokens
	TTFT        Quantiles `json:"ttft"`
	Spans       Spans     `json:"spans"`
}

// Spans says where the time of the latest successes in the window went, on average.
type Spans struct {
	N       int64  `json:"n"`       // successes
	Covered int64  `json:"covered"` // of them, with an account of the server
	Parts   []Span `json:"parts"`
	E2E     Nanos  `json:"e2e_ns"` // mean of those covered
}

// Span is one part of the mean E2E latency; Mean is Unknown if no request tells it.
type Span struct {
	Name string `json:"name"`
	Mean Nanos  `json:"mean_ns"`
}

// Sessions is the state of the sessions; Known is false if the load has none, and
// Levels is if nobody counts those under way.
type Sessions struct {
	Known  bool         `json:"known"`
	Levels bool         `json:"levels"`
	Counts SessionGauge `json:"counts"`
	// Seen: live are those of which a step has ended, as rows tell. Of Counts nobody knows
	// Scheduled and Waiting then.
	Seen bool `json:"seen,omitempty"`
	// Live are the KeptLive earliest of those under way, by arrival.
	Live  []LiveSession `json:"live"`
	Ended []SessionRow  `json:"ended"` // the latest, latest first
	SCT   Quantiles     `json:"sct"`   // of those
}

// LiveSession is a session under way. ModelTime and WaitTime are those of its main thread
// so far. StepsPlanned is 0 if nobody knows it.
type LiveSession struct {
	ID           string `json:"id"`
	Tenant       string `json:"tenant,omitempty"`
	Arrival      Nanos  `json:"arrival_ns"`
	Age          Nanos  `json:"age_ns"` // since then
	ModelTime    Nanos  `json:"model_ns"`
	WaitTime     Nanos  `json:"wait_ns"`
	StepsPlanned int32  `json:"steps_planned"`
	StepsOK      int32  `json:"steps_ok"`
	StepsFailed  int32  `json:"steps_failed"`
	// InFlight steps are with the server, Queued ones wait for a place of the session's.
	InFlight Whole `json:"in_flight"`
	Queued   Whole `json:"queued"`
}

// SessionRow is a session that ended. SCT is the time from its arrival to the end of
// its last step, ModelTime and WaitTime are parts of it, and Slowdown is ModelTime by
// what the session takes alone.
type SessionRow struct {
	ID           string `json:"id"`
	Tenant       string `json:"tenant,omitempty"`
	Outcome      string `json:"outcome"`
	Arrival      Nanos  `json:"arrival_ns"`
	Ended        Nanos  `json:"ended_ns"`
	SCT          Nanos  `json:"sct_ns"`
	ModelTime    Nanos  `json:"model_ns"`
	WaitTime     Nanos  `json:"wait_ns"`
	Slowdown     Number `json:"slowdown"`
	StepsPlanned int32  `json:"steps_planned"`
	StepsOK      int32  `json:"steps_ok"`
	StepsFailed  int32  `json:"steps_failed"`
}

// Picture returns what q asks for at now; Never: at the last instant that m heard of.
// m says how far the run is.
func (b *Board) Picture(m *Monitor, now clock.Time, q Query) Picture {
	s := m.Snapshot(now)
	return b.Draw(&s, m.gauges.Load(), q)
}

// Draw is Picture for who keeps the counts of the run. g is nil if there are no
// levels.
func (b *Board) Draw(s *Snapshot, g *Gauges, q Query) Picture {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.apply(q.Filter)
	p := Picture{
		Schema: Schema, Title: b.about.Title, State: "running", Filter: q.Filter.String(),
		Elapsed: Nanos(s.Elapsed), Duration: Unknown, Total: s.Total, Sent: s.Sent, InFlight: Whole(s.InFlight),
		OutputTokens: s.OutputTokens, UnknownTokens: s.UnknownTokens, CPU: None(), SLO: b.about.SLO,
	}
	if b.about.Duration > 0 {
		p.Duration = Nanos(b.about.Duration)
	}
	for o, n := range s.Outcomes {
		if n > 0 {
			p.Outcomes = append(p.Outcomes, Count{record.Outcome(o).String(), n})
		}
	}
	n := min(max(int64(q.Window/time.Second), 1), seconds)
	p.Window = Nanos(n) * Nanos(time.Second)
	b.window(&p, s.Elapsed, n)
	b.skews(&p, s.Elapsed, g)
	b.tables(&p, s.Elapsed, g)
	p.Slowest = append(p.Slowest, b.slowest...)
	p.Failed = append(p.Failed, b.failed...)
	return p
}

// window fills in what is counted by the second, for n of them up to now.
func (b *Board) window(p *Picture, now clock.Time, n int64) {
	last := secondOf(now)
	first := max(1, last-n+1)
	p.Heat.Bounds = heatBounds()
	var all slot
	sums := b.sums
	sums.reset()
	for number := first; number <= last; number++ {
		x := &b.seconds[number%seconds]
		if x.number != number {
			x = nil
		}
		p.Series = append(p.Series, x.figures(number))
		ttft, e2e := x.heat()
		p.Heat.TTFT, p.Heat.E2E = append(p.Heat.TTFT, ttft), append(p.Heat.E2E, e2e)
		if x == nil {
			continue
		}
		all.started, all.ok, all.good, all.bad = all.started+x.started, all.ok+x.ok, all.good+x.good, all.bad+x.bad
		all.tokens += x.tokens
		sums.ttft.join(&x.ttft)
		sums.tpot.join(&x.tpot)
		sums.e2e.join(&x.e2e)
		sums.lag.join(&x.lag)
	}
	span := max(float64(int64(now)-(first-1)*int64(time.Second))/1e9, 0)
	p.Offered, p.Achieved, p.Tokens = over(float64(all.started), span), over(float64(all.ok), span), over(float64(all.tokens), span)
	p.Good = None()
	if all.good+all.bad > 0 {
		p.Good = over(float64(all.good), span)
	}
	p.Attainment = over(float64(all.good), float64(all.good+all.bad))
	p.TTFT, p.TPOT, p.E2E, p.Lag = sums.ttft.quantiles(), sums.tpot.quantiles(), sums.e2e.quantiles(), sums.lag.quantiles()
}

// figures are those of second number; s is nil if nothing happened in it.
func (s *slot) figures(number int64) Points {
	at := Nanos(number-1) * Nanos(time.Second)
	none := Quantiles{P50: Unknown, P95: Unknown, P99: Unknown}
	if s == nil {
		return Points{At: at, TTFT: none, TPOT: none}
	}
	if !s.done {
		s.points = Points{
			At: at, Started: s.started, OK: s.ok, Good: s.good, Failed: s.failed,
			TTFT: s.ttft.quantiles(), TPOT: s.tpot.quantiles(),
		}
		s.done = true
	}
	return s.points
}

// tally adds up the histograms of several seconds.
type tally struct{ ttft, tpot, e2e, lag counts }

func (t *tally) reset() {
	for _, c := range []*counts{&t.ttft, &t.tpot, &t.e2e, &t.lag} {
		c.clear()
	}
}

// join adds all of o.
func (c *counts) join(o *counts) {
	if o.from == o.to {
		return
	}
	for i := o.from; i < o.to; i++ {
		c.n[i] += o.n[i]
	}
	if c.from == c.to {
		c.from, c.to = o.from, o.to
		return
	}
	c.from, c.to = min(c.from, o.from), max(c.to, o.to)
}

func (c *counts) quantiles() Quantiles {
	var n int64
	for _, k := range c.n[c.from:c.to] {
		n += int64(k)
	}
	return Quantiles{N: n, P50: c.quantile(n, 500), P95: c.quantile(n, 950), P99: c.quantile(n, 990)}
}

// quantile is the nearest rank at perMille of the n durations.
func (c *counts) quantile(n, perMille int64) Nanos {
	if n == 0 {
		return Unknown
	}
	rank := max(1, (n*perMille+999)/1000)
	for i := c.from; i < c.to; i++ {
		if rank -= int64(c.n[i]); rank <= 0 {
			return Nanos(middle(i))
		}
	}
	return Nanos(middle(c.to - 1))
}

// Done is the share of the run that is over, by requests, or by time where their number
// is not known; ok is false if neither is.
func (p *Picture) Done() (share float64, ok bool) {
	switch {
	case p.State != "running":
		return 1, p.State == "over"
	case p.Total > 0 && p.InFlight.Known():
		return min(max(float64(p.Sent-int64(p.InFlight))/float64(p.Total), 0), 1), true
	case p.Duration > 0 && p.Elapsed.Known():
		return min(max(float64(p.Elapsed)/float64(p.Duration), 0), 1), true
	}
	return 0, false
}

// Left is how long the rest takes if it goes on as it did; ok is false if nobody can
// tell.
func (p *Picture) Left() (left Nanos, ok bool) {
	done, ok := p.Done()
	if !ok || done < 0.01 || p.State != "running" {
		return Unknown, false
	}
	return Nanos(float64(p.Elapsed) * (1 - done) / done), true
}
