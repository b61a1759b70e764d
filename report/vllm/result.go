package vllm

import (
	"cmp"
	"fmt"
	"slices"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Result is a run by vLLM's definitions: of the requests that were scheduled in its
// window.
type Result struct {
	Manifest          record.Manifest
	Completed, Failed int64
	// Input and Output are tokens of successes.
	Input, Output int64
	// Duration is from the start of the window to the end of the last request, in ns.
	Duration int64
	// Good met the objective of the run; SLO is false if it had none.
	SLO  bool
	Good int64
	// PeakTokens is the most output tokens in one of the seconds since the first
	// success was sent (to the millisecond), PeakRequests the most successes under way at an instant.
	PeakTokens, PeakRequests int64
	// Drafts, Drafted and Accepted are of speculative decoding, by the servers' own
	// account; Speculates is false if there is none.
	Speculates                bool
	Drafts, Drafted, Accepted int64
	// Detailed are the requests in the order of the schedule, if they were asked for.
	Detailed []Request

	series map[string]*Series
}

// Request is one request of a detailed result. Durations are in nanoseconds, and
// record.Null where there is none.
type Request struct {
	Seq                int64
	Start              clock.Time
	Input, Output      int32
	TTFT, E2EL, Queued int64
	ITL                []int64
	Error              string
}

// Series are the values of the named metric (Metrics).
func (r *Result) Series(name string) *Series {
	if s := r.series[name]; s != nil {
		return s
	}
	return &Series{}
}

var columns = []string{
	"final", "phase", "seq", "outcome", "slo_met", "error", "dispatched", "permitted", "first_role", "first_token",
	"last_token", "closed", "intended", "planned_prompt_tokens", "prompt_tokens", "output_tokens", "token_gaps_us",
	"chunk_tokens", "client_queue", "server_drafts", "server_draft_tokens", "server_accepted_tokens",
}

// Load reads the run in dir. detailed keeps each request, which takes memory in
// proportion to all their tokens.
func Load(dir string, detailed bool) (*Result, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	c := &collector{detailed: detailed, end: clock.Never, warm: clock.Never, peaks: peaks{tokens: map[int64]int64{}}}
	c.Manifest, c.series = run.Manifest, map[string]*Series{}
	for _, name := range Metrics() {
		c.series[name] = &Series{}
	}
	if err := run.Requests(c.add, record.Columns(columns...)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	return c.finish(), nil
}

// collector accumulates a Result.
type collector struct {
	Result
	detailed bool
	end      clock.Time // of the last request
	warm     clock.Time // last arrival before the window
	peaks    peaks
}

func (c *collector) add(r *record.Request) error {
	if r.Phase == record.Warmup {
		c.warm = max(c.warm, r.Intended)
	}
	if !r.Final || r.Phase != record.Measure {
		return nil
	}
	c.end = max(c.end, r.Closed)
	if r.SLOMet != record.Unknown {
		c.SLO = true
		if r.SLOMet == record.Yes {
			c.Good++
		}
	}
	t := timesOf(r)
	if c.detailed {
		c.Detailed = append(c.Detailed, detail(r, &t))
	}
	if r.Outcome != record.OK {
		c.Failed++
		return nil
	}
	c.success(r, &t)
	return nil
}

// success takes what only a success can tell.
func (c *collector) success(r *record.Request, t *times) {
	c.Completed++
	c.Input += int64(input(r))
	c.Output += int64(max(0, r.OutputTokens))
	if r.ServerDrafts != record.Null32 {
		c.Speculates = true
		c.Drafts += int64(r.ServerDrafts)
		c.Drafted += int64(max(0, r.ServerDraftTokens))
		c.Accepted += int64(max(0, r.ServerAcceptedTokens))
	}
	for name, v := range map[string]int64{TTFT: t.ttft, TPOT: t.tpot, ITL: t.lead, E2EL: t.e2el, Queue: t.queue} {
		if v != record.Null {
			c.series[name].add(v, 1)
		}
	}
	for _, us := range r.TokenGapsUS {
		c.series[ITL].add(int64(us)*1000, 1)
	}
	if t.queue != record.Null && t.e2el != record.Null {
		c.series[E2ELQueued].add(t.e2el+t.queue, 1)
	}
	if t.e2el != record.Null {
		c.peaks.add(r, t)
	}
}

// input is the server's count of the prompt's tokens, or else the planned one.
func input(r *record.Request) int32 {
	if r.PromptTokens != record.Null32 {
		return r.PromptTokens
	}
	return max(0, r.PlannedPromptTokens)
}

func detail(r *record.Request, t *times) Request {
	d := Request{Seq: r.Seq, Start: t.start, Input: input(r), Output: max(0, r.OutputTokens), TTFT: t.ttft, E2EL: t.e2el, Queued: t.queue, Error: r.Error}
	if r.Outcome != record.OK {
		d.Output = 0
		if d.Error == "" {
			d.Error = r.Outcome.String()
		}
	}
	if t.lead != record.Null {
		d.ITL = append(d.ITL, t.lead)
	}
	for _, us := range r.TokenGapsUS {
		d.ITL = append(d.ITL, int64(us)*1000)
	}
	return d
}

func (c *collector) finish() *Result {
	start := clock.Time(0)
	switch w := c.Manifest.Window; {
	case w != nil && w.Start.Known():
		start = w.Start
	case c.warm.Known():
		start = c.warm
	}
	if c.end.Known() {
		c.Duration = int64(c.end - start)
	}
	c.PeakTokens, c.PeakRequests = c.peaks.finish()
	slices.SortFunc(c.Detailed, func(a, b Request) int { return cmp.Compare(a.Seq, b.Seq) })
	return &c.Result
}

// peaks finds the busiest second and instant.
type peaks struct {
	edges  []edge
	tokens map[int64]int64 // by whole millisecond since the epoch
}

// edge is the start (+1) or the end (-1) of a request.
type edge struct {
	at clock.Time
	by int64
}

func (p *peaks) add(r *record.Request, t *times) {
	p.edges = append(p.edges, edge{t.start, 1}, edge{r.LastToken, -1})
	at, known := int64(r.FirstToken), len(r.ChunkTokens) == len(r.TokenGapsUS)+1
	for i := 0; i <= len(r.TokenGapsUS); i++ {
		if i > 0 {
			at += int64(r.TokenGapsUS[i-1]) * 1000
		}
		n := int64(1)
		if known {
			n = int64(r.ChunkTokens[i])
		}
		p.tokens[at/1e6] += n
	}
}

func (p *peaks) finish() (tokens, requests int64) {
	if len(p.edges) == 0 {
		return 0, 0
	}
	// An end comes before a start of the same instant.
	slices.SortFunc(p.edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	live := int64(0)
	for _, e := range p.edges {
		live += e.by
		requests = max(requests, live)
	}
	origin := int64(p.edges[0].at) / 1e6
	seconds := map[int64]int64{}
	for ms, n := range p.tokens {
		seconds[(ms-origin)/1000] += n
	}
	for _, n := range seconds {
		tokens = max(tokens, n)
	}
	return tokens, requests
}
