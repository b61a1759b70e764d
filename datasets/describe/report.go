package describe

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"goodput/datasets/trace"
)

// Report holds the statistics of a trace. What is not known or not defined is nil.
type Report struct {
	Format   trace.Format  `json:"format"`
	Rows     int64         `json:"rows"`
	Skipped  Skipped       `json:"skipped"`
	Arrivals *Arrivals     `json:"arrivals"` // nil: no times
	Input    Lengths       `json:"input_tokens"`
	Output   Lengths       `json:"output_tokens"`
	InOut    *float64      `json:"input_output_correlation"`
	Reuse    *Reuse        `json:"reuse"`    // nil: the file does not say which prompts begin alike
	Pool     *Pool         `json:"pool"`     // nil: was not asked for (OfPool)
	Sessions *SessionSizes `json:"sessions"` // nil: none
	Warnings []string      `json:"warnings"`
}

// Skipped counts rows left out, and those out of order.
type Skipped struct {
	Bad        int    `json:"bad"`
	FirstBad   string `json:"first_bad,omitempty"`
	Dropped    int    `json:"dropped"`
	DroppedWhy string `json:"dropped_why,omitempty"`
	Disordered int    `json:"disordered"`
}

// Arrivals are statistics of the times; those of sessions where the file has no
// times of steps.
type Arrivals struct {
	SpanSeconds float64  `json:"span_seconds"`
	Rate        *float64 `json:"rate_per_second"` // gaps over their sum
	CV          *float64 `json:"gap_cv"`
	MaxGap      float64  `json:"max_gap_seconds"`
	Ties        int64    `json:"ties"` // gaps of 0
	D1          *float64 `json:"dispersion_1s"`
	D10         *float64 `json:"dispersion_10s"`
	D60         *float64 `json:"dispersion_60s"`
	Quantum     float64  `json:"quantum_seconds"` // 0: times are not rounded to a step of 0.5 s or more
}

// Lengths are statistics of token counts.
type Lengths struct {
	Mean float64  `json:"mean"`
	P50  float64  `json:"p50"`
	P95  float64  `json:"p95"`
	P99  float64  `json:"p99"`
	Max  int      `json:"max"`
	CV2  *float64 `json:"cv2"`
}

// Reuse is what an endless cache would find.
type Reuse struct {
	// TokenHit is the share of prompt tokens in leading spans that were seen before,
	// or kept within a session. FullBlocks counts only whole blocks of a format that
	// has them; Kept is the part within sessions.
	TokenHit   float64  `json:"token_hit"`
	FullBlocks *float64 `json:"token_hit_full_blocks"`
	Kept       float64  `json:"token_hit_kept"`
	BlockHit   *float64 `json:"block_hit"`
	Distinct   float64  `json:"distinct_blocks"`
	// Estimated: there were too many blocks, and a sample of them was followed.
	Estimated bool `json:"estimated"`
}

// SessionSizes are statistics of the requests of sessions.
type SessionSizes struct {
	Count    int     `json:"count"`
	Inferred bool    `json:"inferred"`
	Mean     float64 `json:"requests_mean"`
	P50      float64 `json:"requests_p50"`
	P90      float64 `json:"requests_p90"`
	Max      int     `json:"requests_max"`
}

// Of reads all rows of d.
func Of(d *trace.Reader) (*Report, error) {
	c := collector{reuse: newReuse(maxBlocks), sessions: newSessions()}
	var row trace.Row
	for {
		err := d.Next(&row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		t := d.Traits()
		c.add(&row, &t)
	}
	return c.report(d), nil
}

// collector is a report in the making.
type collector struct {
	in, out  lengths
	both     pairs
	arrivals arrivals
	times    []int64 // of a format without an order
	reuse    *reuse
	sessions *sessions
	tokens   int64
}

func (c *collector) add(r *trace.Row, t *trace.Traits) {
	c.in.add(r.In)
	c.out.add(r.Out)
	c.both.add(float64(r.In), float64(r.Out))
	c.tokens += int64(r.In)
	if t.Identified {
		c.reuse.add(r, t)
	}
	before := len(c.sessions.sizes)
	c.sessions.add(r, t)
	switch {
	case !t.Timed, !t.Recorded && r.Session != "" && len(c.sessions.sizes) == before:
	case t.Ordered:
		c.arrivals.add(r.At)
	default:
		c.times = append(c.times, r.At)
	}
}

func (c *collector) report(d *trace.Reader) *Report {
	t, s := d.Traits(), d.Skipped()
	r := &Report{
		Format: d.Format(), Rows: c.in.n,
		Skipped: Skipped{s.Bad, s.First, s.Dropped, s.Why, s.Disordered},
		Input:   c.in.summary(), Output: c.out.summary(), InOut: c.both.correlation(),
		Warnings: []string{},
	}
	slices.Sort(c.times)
	for _, ns := range c.times {
		c.arrivals.add(ns)
	}
	if t.Timed {
		r.Arrivals = c.arrivals.summary()
	}
	if t.Identified {
		r.Reuse = c.reuse.summary(c.tokens, &t)
	}
	if len(c.sessions.sizes) > 0 && !c.sessions.overflow {
		r.Sessions = c.sessions.summary()
	}
	r.warn(d.Format(), &t, c.sessions.overflow)
	return r
}

func (l *lengths) summary() Lengths {
	return Lengths{l.mean, l.quantile(0.5), l.quantile(0.95), l.quantile(0.99), l.max, l.cv2()}
}

func (a *arrivals) summary() *Arrivals {
	out := &Arrivals{
		SpanSeconds: float64(a.last-a.first) / 1e9, MaxGap: float64(a.maxGap) / 1e9, Ties: a.ties,
		D1: a.bins[0].dispersion(), D10: a.bins[1].dispersion(), D60: a.bins[2].dispersion(),
		Quantum: a.quantum().Seconds(),
	}
	if a.last > a.first {
		rate := float64(a.n-1) / out.SpanSeconds
		out.Rate = &rate
		cv := math.Sqrt(*a.gaps.cv2())
		out.CV = &cv
	}
	return out
}

func (u *reuse) summary(tokens int64, t *trace.Traits) *Reuse {
	all := float64(tokens)
	distinct, exact := u.distinct()
	out := &Reuse{TokenHit: (u.hit + float64(u.kept)) / all, Kept: float64(u.kept) / all, Distinct: distinct, Estimated: !exact}
	if t.Block > 0 && u.blocks > 0 {
		full, blocks := (u.full+float64(u.kept))/all, u.blockHits/float64(u.blocks)
		out.FullBlocks, out.BlockHit = &full, &blocks
	}
	return out
}

func (s *sessions) summary() *SessionSizes {
	var l lengths
	for _, n := range s.sizes {
		l.add(int(n))
	}
	return &SessionSizes{len(s.sizes), s.inferred, l.mean, l.quantile(0.5), l.quantile(0.9), l.max}
}

// warn names what could mislead whoever replays the trace.
func (r *Report) warn(f trace.Format, t *trace.Traits, overflow bool) {
	say := func(format string, args ...any) { r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...)) }
	if a := r.Arrivals; a != nil {
		if a.Rate != nil && (*a.Rate < 0.01 || *a.Rate > 10_000) {
			say("%.3g requests a second: is the unit of time what %s says?", *a.Rate, f)
		}
		if a.Quantum > 0 {
			q := time.Duration(a.Quantum * 1e9)
			say("times are rounded to %v, so that requests come in batches and the CV of gaps is an artefact: spread them with --trace-jitter uniform:%v", q, q)
		}
	}
	if t.Block > 0 && r.Reuse != nil {
		say("ids stand for blocks of %d tokens, the last of a row for what is left: hits of an engine are whole blocks of its own size", t.Block)
	}
	if t.Timed && !t.Recorded {
		say("times are the arrivals of sessions: the steps follow by their waits")
	}
	if t.Estimated {
		say("lengths are estimated from text, at 4 bytes a token")
	}
	if r.Reuse == nil {
		say("the file does not say which prompts begin alike: reuse is unknown, not 0")
	}
	if r.Skipped.Disordered > 0 {
		say("%d rows are out of order: they are sorted by time", r.Skipped.Disordered)
	}
	if f == trace.Weka {
		say("the file does not say when sessions arrived: all start at 0")
	}
	if overflow {
		say("there are more than %d sessions, which were not counted", maxBlocks)
	}
}
