package render

import (
	"fmt"
	"time"

	"goodput/loadgen/record"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/stats"
)

// Report is what is printed of one run.
type Report struct {
	*query.Figures
	Health health.Health
	// SLO is the per-request objective as people wrote it; "" is none.
	SLO string
	// Classes are those of the load; none: its requests are all alike, or it is a part of
	// them.
	Classes []Class
	// Exploratory are intervals within the run; none: they were not asked for.
	Exploratory []query.Exploratory
}

// Metrics are printed in milliseconds, the unit of the field's other tools.
const (
	unitName = "ms"
	unitNS   = 1e6
)

// goodput is met requests per second of the window.
func (r *Report) goodput() (float64, bool) {
	return r.Goodput()
}

// attainment counts a request that was cut off as a miss; without is the share
// among those that were judged.
func (r *Report) attainment() (all, without float64, ok bool) {
	if !r.Figures.SLO || r.Scheduled == 0 || r.Judged == 0 {
		return 0, 0, false
	}
	// Who left on purpose was promised nothing any more.
	return float64(r.Met) / float64(r.Promised()), float64(r.Met) / float64(r.Judged), true
}

// closed reports whether the load was a closed loop, which has no offered rate of its
// own.
func (r *Report) closed() bool { return r.Manifest.Load[record.LoadKind] == record.ClosedLoop }

// throughput is output tokens of successes per second, from the start of the
// run to the last token.
func (r *Report) throughput() (float64, bool) {
	return r.Throughput()
}

// Warnings are things that a reader must know before believing the figures and
// that do not make them invalid.
func (r *Report) Warnings() []string {
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if r.Manifest.State != record.Complete {
		warn("the run is %s: the figures are of what was recorded until then", stateText(r.Manifest.State))
	}
	if s := r.Manifest.Shard; s != nil {
		warn("this is shard %d of %d (from 0): the target had the whole load, and these are the figures of a part; goodput merge makes one run of all shards", s.Index, s.Of)
	}
	if n := r.Failed(); n > 0 {
		warn("%d requests failed: latencies are those of the %d successes, attainment counts all", n, r.Outcomes[record.OK])
	}
	if r.closed() {
		warn("closed loop: a slow server lowers the load, so that its latencies leave out the waiting that users would have had; use --request-rate to compare servers")
	}
	m := &r.Manifest
	if n, _, _ := m.Steered(); n > 0 {
		warn("the rate was changed by hand, so that these are the figures of several rates and not of the planned one: they are no trial of a knee, gates refuse them, and --config repeats the run without the changes")
	}
	if n := m.Counters[record.CounterCapQueued]; n > 0 {
		warn("%d requests waited for a place under --max-concurrency %s (at most %d at a time): they left later than scheduled; their latency counts from the intended time, and client_queue is the wait",
			n, m.Load[record.LoadMost], m.Counters[record.CounterCapLongest])
	}
	if n := m.Counters[record.CounterCapDropped]; n > 0 {
		warn("%d requests were dropped at --max-concurrency %s, and never sent: the server saw a lower load than was offered; attainment counts them as misses", n, m.Load[record.LoadMost])
	}
	if n := r.Outcomes[record.Censored]; n > 0 {
		drain := "--drain"
		if r.Sessions.Known {
			drain = "--sessions-drain"
		}
		warn("%d requests were unfinished when the drain ended: their latencies are missing from the tail; use a longer %s or a lower rate", n, drain)
	}
	if waits, preemptions, full := r.kvFull(); full {
		warn("the KV cache was full (%s blocks an engine; too few for %d requests at the head of a queue, %d preemptions), and its size is only derived from the GPU's memory: no input matters more now; give a measured number with --engine.num-gpu-blocks (vLLM prints its own at the start)",
			r.Manifest.Target[record.TargetKVBlocks], waits, preemptions)
	}
	out = append(out, r.violated()...)
	if n, of := r.Manifest.Counters[record.CounterWarmupFailed], r.Manifest.Counters[record.CounterWarmups]; n > 0 {
		warn("%d of %d requests of the warm-up failed: what they were to warm may be cold", n, of)
	}
	if m := r.PromptMismatch; m.Part > 0 {
		warn("%.1f %% of prompts had another length at the server than planned: its tokenizer or chat template differs", 100*m.Value())
	}
	if n, of := m.Counters[record.CounterUsageDiffers], r.Outcomes[record.OK]; 100*n > of {
		warn("%d answers of %d successes held another number of tokens than the server's usage says: the figures go by usage, and one of the two is wrong", n, of)
	}
	if c := r.Coalesced; c.Known() && c.Value() > 0.1 {
		warn("%.0f %% of chunks came in one read with the chunk before: itl and tpot are smoothed by buffering on the way or by a busy client", 100*c.Value())
	}
	r.warnJoined(warn)
	r.warnEngines(warn)
	return out
}

// kvFull reports whether the run lived off the size of a KV cache that nobody has
// measured: for how many requests at
// the head of a queue it was too small, and preemptions.
func (r *Report) kvFull() (waits, preemptions int64, full bool) {
	m := &r.Manifest
	waits = m.Counters[record.CounterKVWaits]
	preemptions = max(r.Preemptions, m.Counters[record.CounterPreemptions])
	return waits, preemptions, m.Target[record.TargetKVFrom] == record.KVDerived && waits+preemptions > 0
}

func stateText(s record.State) string {
	if s == record.Running {
		return "not finished (or was cut off)"
	}
	return string(s)
}

// seconds prints a duration with three decimals at most.
func seconds(d time.Duration) string { return fmt.Sprintf("%.4g s", d.Seconds()) }

// inUnit converts a summary from nanoseconds.
func inUnit(m query.Metric) (s stats.Summary) {
	s = m.Summary
	for _, v := range []*float64{&s.Mean, &s.P50, &s.P90, &s.P95, &s.P99, &s.P99_9, &s.Max} {
		*v /= unitNS
	}
	return s
}
