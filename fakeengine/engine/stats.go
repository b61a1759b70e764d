package engine

// counters are the engine's running totals; see Stats.
type counters struct {
	preemptions, recomputed, prompt, generated, steps, busyPS, finished, aborted, kvWaits int64
}

// Stats is the engine's gauges and running totals at one instant, as a metrics
// endpoint exposes them. Counts of tokens and steps include finished steps
// only; scheduling counts (prefix, preemptions, recomputed) include the running
// one.
type Stats struct {
	// Arriving sequences were submitted and not yet seen by the scheduler;
	// Waiting and Running are the scheduler's queues. Waiting ones include those
	// that wait for a transfer or an adapter's place.
	Arriving, Waiting, Running int
	// KVUsed is the fraction of usable KV blocks that sequences hold, 0 to 1.
	KVUsed float64
	// PrefixQueries and PrefixHits are in tokens, counted at every admission;
	// both stay 0 without prefix caching.
	PrefixQueries, PrefixHits int64
	// KVWaits counts sequences that were once the next to be admitted and found too
	// few KV blocks.
	KVWaits int64
	// Evictions counts cached blocks that were overwritten.
	Evictions int64
	// Preemptions, and the tokens that were computed again because of them.
	Preemptions, Recomputed int64
	// PromptTokens counts the prompts of sequences that gave a first token,
	// GenerationTokens the output tokens.
	PromptTokens, GenerationTokens int64
	// HostQueries and HostHits are in tokens: what the GPU did not have at an
	// admission, and what of it host memory had. HostLoads and HostStores count
	// blocks that crossed the link, HostFailures those that found no room there.
	HostQueries, HostHits, HostLoads, HostStores, HostFailures int64
	// HostLoadPS and HostStorePS are for how long, in picoseconds.
	HostLoadPS, HostStorePS int64
	// AdapterLoads counts LoRA adapters that were copied to the GPU, AdapterFetches
	// those of them that were read from their files first.
	AdapterLoads, AdapterFetches int64
	// Finished and Aborted sequences.
	Finished, Aborted int64
	// Steps and their total duration in picoseconds.
	Steps, BusyPS int64
}

// Stats reads the engine. It costs no allocation.
func (e *Engine) Stats() Stats {
	e.catchUp()
	c, k := &e.counters, e.kv.Counters()
	out := Stats{
		Arriving: e.transit.n + e.inbox.n, Waiting: e.waiting.n + e.blocked.n + e.aside.n + e.fetched.n, Running: e.seqs(),
		KVUsed:        e.kv.Used(),
		PrefixQueries: k.Queries, PrefixHits: k.Hits, Evictions: k.Evictions,
		KVWaits: c.kvWaits, Preemptions: c.preemptions, Recomputed: c.recomputed,
		PromptTokens: c.prompt, GenerationTokens: c.generated - e.untold(),
		Finished: c.finished, Aborted: c.aborted,
		Steps: c.steps, BusyPS: c.busyPS,
	}
	if e.host != nil {
		c := e.kv.HostCounters()
		out.HostQueries, out.HostHits, out.HostLoads, out.HostStores, out.HostFailures = c.Queries, c.Hits, c.Loaded, c.Stored, c.Failures
		out.HostLoadPS, out.HostStorePS = e.host.loading, e.host.storing
	}
	if e.lora != nil {
		out.AdapterLoads, out.AdapterFetches = e.lora.loads, e.lora.fetches
	}
	return out
}

// untold counts the tokens of the step that is ending which the members of the
// group are still to get.
func (e *Engine) untold() int64 {
	if !e.finishing {
		return 0
	}
	n := int64(0)
	for i := range e.group.phases {
		for s := e.group.phases[i].tail; s != nil && s.sched.order > e.cursor; s = s.sched.prev {
			if s.sched.since <= e.finished {
				n++
			}
		}
	}
	return n
}
