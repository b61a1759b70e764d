package health

import (
	"fmt"
	"strings"
	"time"

	"goodput/loadgen/record"
	"goodput/report/query"
)

// Verdict is the state of the generator during a run.
type Verdict string

// The verdicts. Only OK makes a run valid.
const (
	OK            Verdict = "ok"
	Late          Verdict = "late"            // requests left later than scheduled
	ClientLimited Verdict = "client-limited"  // the generator lost records or could not keep up
	TooFewSamples Verdict = "too-few-samples" // nothing completed, so there is nothing to judge
)

// Health is a verdict with its evidence.
type Health struct {
	Verdict Verdict
	// Why lists the evidence, each with what to change; empty for OK.
	Why []string
}

// Valid reports whether the run's figures count.
func (h Health) Valid() bool { return h.Verdict == OK }

// The bounds: P99 of lag, and of the wait of goroutines for a processor, above 5 ms, or above 5 % of the tightest time-to-first-
// token SLO if that is more; and less than 99 % of the offered rate, unless that is
// because the last request of a short run left late by less than the bound of lag.
const (
	maxLag      = 5 * time.Millisecond
	lagShare    = 0.05
	minAchieved = 0.99
)

// Judge looks at the figures. ttftSLO is the tightest limit on the time to the
// first token that was asked for; 0 is none.
func Judge(f *query.Figures, ttftSLO time.Duration) Health {
	h := Health{Verdict: OK}
	add := func(v Verdict, format string, args ...any) {
		if h.Verdict == OK {
			h.Verdict = v
		}
		h.Why = append(h.Why, fmt.Sprintf(format, args...))
	}
	judgeRecord(f.Manifest, add)
	limit := max(maxLag, time.Duration(lagShare*float64(ttftSLO)))
	judgeSchedule(f, limit, add)
	judgeProcess(f, limit, add)
	judgeShards(f.Manifest.Shards, add)
	if f.Outcomes[record.OK] == 0 && f.Scheduled > 0 {
		add(TooFewSamples, "no request completed: there is no latency to report")
	}
	if f.Scheduled == 0 {
		add(TooFewSamples, "no request was scheduled")
	}
	return h
}

// judgeSchedule looks at when requests left. Late requests of a generator that had used
// up its processors are client-limited.
func judgeSchedule(f *query.Figures, limit time.Duration, add func(v Verdict, format string, args ...any)) {
	late, why := cause(f.Manifest.Generator)
	found := false
	note := func(format string, args ...any) {
		add(late, format, args...)
		found = true
	}
	if lag, ok := f.Metric("lag"); ok && lag.N > 0 && lag.P99 > float64(limit) {
		note("lag P99 is %s, above %s: requests left late%s", short(lag.P99), short(float64(limit)), bunched(f))
	}
	offered, ok1 := f.Offered()
	achieved, ok2 := f.Achieved()
	// What a cap on requests in flight kept back is not late: it was dropped, or waited for
	// a place until the run was over.
	kept := f.Scheduled - f.Outcomes[record.DroppedCap]
	kept -= max(0, min(kept-f.Sent, f.Manifest.Counters[record.CounterCapQueued]))
	slipped := f.Slip() > limit || f.Sent < kept
	offered *= float64(kept) / float64(max(1, f.Scheduled))
	if ok1 && ok2 && slipped && achieved < minAchieved*offered {
		note("achieved %.4g of %.4g requests/s offered: the schedule slipped", achieved, offered)
	}
	if found {
		note("%s", why)
	}
}

// judgeRecord looks at what the record itself says is missing from it.
func judgeRecord(m record.Manifest, add func(v Verdict, format string, args ...any)) {
	if n := m.Counters[record.CounterDropped]; n > 0 {
		add(ClientLimited, "%d records were lost because the queue to the disk was full: the figures leave them out; write to a faster disk, or leave goodput more of the processors", n)
	}
	switch n := m.Counters[record.CounterLost]; {
	case n > 0:
		add(ClientLimited, "up to %d records were lost (%s): the figures leave them out; run it again", n, m.Problem)
	case m.Problem != "":
		add(ClientLimited, "the record is not whole (%s): what was not yet recorded is missing, long requests more than short ones; run it again", m.Problem)
	}
}

// judgeShards looks at the parts of a merged run: few late requests of many disappear in
// the whole, though what they say of the target is spoiled.
func judgeShards(shards []record.MergedShard, add func(v Verdict, format string, args ...any)) {
	for _, s := range shards {
		if v := Verdict(s.Verdict); v == Late || v == ClientLimited {
			add(v, "shard %d of %d was %s: %s", s.Index, s.Of, v, strings.Join(s.Why, "; "))
		}
	}
}

// short prints nanoseconds with three digits.
func short(ns float64) string {
	d := time.Duration(ns)
	unit := time.Microsecond
	for _, u := range []time.Duration{time.Millisecond, time.Second} {
		if d >= 100*u {
			unit = u
		}
	}
	return d.Round(unit).String()
}
