package query

import (
	"math"
	"slices"
	"strings"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// perRequest are the metrics with one value per request, in the order in which
// they are printed.
var perRequest = []struct {
	name string
	of   func(*record.Request) int64
}{
	{"ttft", (*record.Request).TTFT},
	{"ttft_send", (*record.Request).TTFTSend},
	{"tpot", (*record.Request).TPOT},
	{"e2e", (*record.Request).E2E},
	{"normalized", (*record.Request).Normalized},
	{"lag", (*record.Request).Lag},
	{"client_queue", (*record.Request).ClientQueue},
	{"d_ttft", func(r *record.Request) int64 { return r.DTTFT }},
}

// columns are those that the collector reads.
var columns = []string{
	"final", "attempt", "hedge", "phase", "trigger", "turn", "intended", "attempt_due", "dispatched", "writing", "first_token", "last_token", "done", "outcome", "slo_met",
	"ttft", "ttft_send", "tpot", "e2e", "normalized", "lag", "client_queue", "d_ttft",
	"planned_prompt_tokens", "prompt_tokens", "output_tokens", "planned_cached_tokens", "pool_cached_tokens", "cached_tokens", "seq", "error",
	"arm", "class", "tenant", "replica", "server_queue", "http_status",
	"chunks", "coalesced_tokens", "server_source", "server_preemptions", "server_recomputed",
	"d_e2e", "d_tail", "d_tpot", "connect", "upload", "server_frontend",
	"server_drafts", "server_draft_tokens", "server_accepted_tokens",
	"server_e2e", "server_preempted", "server_spent_frontend", "server_spent_queue", "server_spent_prefill",
	"server_spent_decode", "server_spent_interference", "server_spent_transfer",
	"permitted", "closed", "wrote", "replica", "http_status", "server_attempts", "server_decode", "d_tail",
	"conn", "server_ttft", "server_prefill",
}

// itlAfter is the metric that itl is printed behind.
const itlAfter = "tpot"

// collector accumulates the figures of one run.
type collector struct {
	f       Figures
	samples []stats.Sample
	queue   stats.Sample // by the engines' account
	placed  assigned
	series  []stats.Series // of the same, in the order of the schedule
	lines   timeline
	pool    replicas
	signs   signs
	checks  checks
	gaps    gaps
	itl     *stats.Hist
	spent   spender
	way     spender
	joins   joins
	steps   triggers
	departs departures
	phase   record.Phase              // that counts, besides probes
	reasons [record.NumOutcomes]int64 // request that each reason is of, plus 1
	warm    clock.Time                // last scheduled arrival of the warm-up
	first   clock.Time                // first scheduled arrival of the window
	last    clock.Time                // last scheduled arrival of the window
	end     clock.Time                // last token of a success
	probes  bool                      // the figures are those of the probes
	free    []string                  // classes that were promised nothing
}

func newCollector(dir string, m record.Manifest) *collector {
	c := &collector{
		f:       Figures{Dir: dir, Manifest: m, LastSent: clock.Never},
		samples: make([]stats.Sample, len(perRequest)), series: make([]stats.Series, len(perRequest)), placed: assigned{},
		checks: checks{window: m.Window}, spent: spender{parts: parts}, way: spender{parts: legs},
		warm: clock.Never, first: math.MaxInt64, last: clock.Never, end: clock.Never,
	}
	c.free = free(m, record.LoadFree)
	if m.Counts != nil {
		c.expect(max(0, m.Counts.Scheduled))
	}
	return c
}

// free are the classes of a run that were promised nothing where others were, by the key
// of the manifest.
func free(m record.Manifest, key string) []string {
	if m.Load[key] == "" {
		return nil
	}
	return strings.Split(m.Load[key], ",")
}

// expect makes room for so many requests, where there will be any value at all: in a
// short run, memory that grows step by step is most of what reading it costs.
func (c *collector) expect(requests int64) {
	for i := range c.samples {
		c.samples[i].Expect(requests)
		c.series[i].Expect(requests)
	}
	for _, s := range slices.Concat(c.joins.all(), c.signs.all(), []*stats.Sample{&c.queue}) {
		s.Expect(requests)
	}
	c.departs = slices.Grow(c.departs, int(min(requests, MaxArrivals)))
}

// add takes one row. Only the attempt that decides a request counts, and only
// requests that were scheduled in the window.
func (c *collector) add(r *record.Request) error {
	if r.Phase == record.Probe && !c.probes {
		c.checks.account(r)
		return nil
	}
	replica := c.pool.number(r.Replica)
	c.lines.add(r, replica)
	c.checks.add(r)
	if r.Phase == record.Warmup {
		c.warm = max(c.warm, r.Intended)
	}
	if r.Phase != c.phase && r.Phase != record.Probe {
		return nil
	}
	f := &c.f
	f.Attempts.add(r)
	c.departs.add(r)
	c.signs.add(r)
	if !r.Final {
		return nil
	}
	if replica >= 0 {
		c.pool.all[replica].add(r)
	}
	f.Scheduled++
	f.Outcomes[r.Outcome]++
	c.first, c.last = min(c.first, r.Intended), max(c.last, r.Intended)
	c.steps.add(r)
	c.placed.add(r)
	if r.Dispatched.Known() {
		f.Sent++
		// Of a retry the instant at which a first attempt as late would have left.
		f.LastSent = max(f.LastSent, r.Intended+clock.Time(r.Lag()))
	}
	if r.Outcome != record.Canceled && slices.Contains(c.free, r.Class) {
		f.Free++
	}
	if r.SLOMet != record.Unknown {
		f.SLO = true
		f.Judged++
		if r.SLOMet == record.Yes {
			f.Met++
		}
	}
	// Latencies of failed requests are of another population: they count as
	// misses and in the outcomes, not in the quantiles. Lag is the generator's own
	// and counts for all.
	for i, m := range perRequest {
		if v := m.of(r); v != record.Null && (r.Outcome == record.OK || m.name == "lag" || m.name == "client_queue") {
			c.samples[i].Add(v)
			c.series[i].Add(place(r), float64(v))
		}
	}
	// Spans tell of times and tokens, and not of these.
	if r.ServerPreemptions != record.Null32 {
		f.Accounts++
		f.Preemptions += known(r.ServerPreemptions)
		f.Recomputed += known(r.ServerRecomputed)
	}
	f.Drafts.add(r)
	if r.Outcome != record.OK {
		if r.HTTPStatus == 429 || r.HTTPStatus == 503 {
			f.Refused++
		}
		c.failure(r)
		return nil
	}
	c.success(r)
	return nil
}

// place is the place of a request in the order of the schedule, or of the probes.
func place(r *record.Request) uint64 {
	n := uint64(max(0, r.Seq))
	if r.Phase == record.Probe {
		n -= record.ProbeSeq
	}
	return n
}

// failure keeps the words of the first request of its kind. Rows come in the order
// of their ends, which is another one in each real run.
func (c *collector) failure(r *record.Request) {
	if at := &c.reasons[r.Outcome]; r.Error != "" && (*at == 0 || r.Seq < *at-1) {
		*at = r.Seq + 1
		c.f.Reasons[r.Outcome] = r.Error
	}
}

// success takes what only a success can tell.
func (c *collector) success(r *record.Request) {
	f := &c.f
	c.end = max(c.end, r.LastToken)
	if !r.LastToken.Known() && known(r.OutputTokens) > 0 {
		c.end = max(c.end, r.Done) // an answer in one piece
	}
	f.OutputTokens += known(r.OutputTokens)
	f.PromptTokens += known(r.PromptTokens)
	if r.PromptTokens != record.Null32 {
		f.PromptMismatch.Whole++
		if r.PlannedPromptTokens != record.Null32 && r.PlannedPromptTokens != r.PromptTokens {
			f.PromptMismatch.Part++
		}
	}
	f.MeasuredHit.hit(r.CachedTokens, r.PromptTokens)
	f.PlannedHit.hit(r.PlannedCachedTokens, r.PlannedPromptTokens)
	f.PoolHit.hit(r.PoolCachedTokens, r.PlannedPromptTokens)
	f.Coalesced.Part += known(r.CoalescedTokens)
	f.Coalesced.Whole += known(r.Chunks)
	if r.ServerQueue != record.Null {
		c.queue.Add(r.ServerQueue)
	}
	c.spent.account(r)
	c.way.travel(r)
	c.joins.add(r)
	c.gaps.add(r)
}

func known(v int32) int64 {
	if v == record.Null32 {
		return 0
	}
	return int64(v)
}

func (c *collector) finish() *Figures {
	f := &c.f
	f.Start = c.start()
	if c.last.Known() {
		f.Window = c.last.Sub(f.Start)
		f.Arrivals = c.departs.finish(f.Start)
	}
	if c.end.Known() {
		f.Span = c.end.Sub(f.Start)
	}
	f.Spent, f.Way, f.Joined = c.spent.finish(), c.way.finish(), c.joins.finish()
	f.Triggers, f.StepIndex = c.steps.finish(), c.steps.indexed()
	f.Assigned = c.placed.finish()
	f.Timeline = c.lines.finish()
	f.Replicas, f.OtherReplicas = c.pool.finish(&c.lines), len(c.pool.others)
	f.Checks = c.checks.finish(&f.Timeline, c.last)
	f.Signs = c.signs.finish()
	f.values = append(f.values, values{"queue", 1, &c.queue}, values{"itl", 1000, c.itl})
	var correlator stats.Correlator
	for i, m := range perRequest {
		independent, _ := c.series[i].Effective(&correlator)
		f.Metrics = append(f.Metrics, Metric{Name: m.name, Summary: c.samples[i].Summary(), Independent: independent})
		f.values = append(f.values, values{m.name, 1, &c.samples[i]})
		if m.name == itlAfter {
			f.Metrics = append(f.Metrics, Metric{Name: "itl", Summary: scale(c.itl.Summary(), 1000)})
		}
	}
	return f
}

// start is where the window begins. A run that was cut off does not say it; the last
// arrival of its warm-up is the latest instant at which it can't have begun.
func (c *collector) start() clock.Time {
	switch w := c.f.Manifest.Window; {
	case c.phase != record.Measure && c.last.Known():
		return c.first
	case w != nil && w.Start.Known():
		return w.Start
	case c.warm.Known():
		return min(c.warm, c.first)
	}
	return 0
}

// scale multiplies all values of a summary: gaps are kept in microseconds.
func scale(s stats.Summary, by float64) stats.Summary {
	return stats.Summary{
		N: s.N, Mean: s.Mean * by, P50: s.P50 * by, P90: s.P90 * by, P95: s.P95 * by,
		P99: s.P99 * by, P99_9: s.P99_9 * by, Max: s.Max * by,
	}
}
