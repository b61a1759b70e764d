package pool

import (
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

var _ disagg.Owner = (*attempt)(nil)

// submit hands the sequence to the replica, or first to one for prefill.
func (a *attempt) submit() error {
	p := a.pool
	if p.prefill == nil {
		return p.engines[a.replica].Submit(&a.seq)
	}
	if !p.prefill.Wanted(a.replica, &a.seq) {
		if err := p.engines[a.replica].Submit(&a.seq); err != nil {
			return err
		}
		p.n.local++
		return nil
	}
	a.prompted = a.route
	a.prompted.MaxOut = 1
	if a.source = p.prefill.Fleet().Pick(&a.prompted); a.source == router.None {
		return a.gate.noReplica()
	}
	err := p.strike(a.source)
	if err == nil {
		err = p.prefill.Start(&a.handoff, &a.seq, a.source, a.replica, a)
	}
	if err != nil {
		p.prefill.Fleet().Done(&a.prompted, a.source, router.End{At: p.loop.Now(), FirstToken: clock.Never})
		return err
	}
	a.remote = true
	p.n.remote++
	return nil
}

// Prefilled implements disagg.Owner.
func (a *attempt) Prefilled(_ *disagg.Handoff, now clock.Time) {
	a.pool.prefill.Fleet().Done(&a.prompted, a.source, router.End{At: now, FirstToken: clock.Never, Out: 1, Status: statusOK})
}

// abort takes the sequence out of the replicas.
func (a *attempt) abort() {
	if a.waits {
		a.pull()
		return
	}
	if a.remote {
		a.handoff.Abort()
		return
	}
	a.pool.engines[a.replica].Abort(&a.seq)
}

// accountBoth replaces what two replicas have a part in: the request arrives at
// the one for prefill, and each has it queue and compute. As in vLLM, the queue of
// the one that answers includes the wait for the KV. Cached tokens are those that
// need not be computed, so those of the prefill replica.
func (a *attempt) accountBoth(ended clock.Time) {
	p, s, out := a.handoff.Prompt(), &a.seq, &a.server
	out.Queue = sum(between(p.Queued, p.Scheduled), out.Queue)
	out.Prefill = sum(between(p.Scheduled, p.FirstToken), out.Prefill)
	out.TTFT, out.E2E = between(p.Arrival, s.FirstToken), between(p.Arrival, ended)
	out.Preemptions += p.Preemptions
	out.RecomputedToks += p.Recomputed
	both := a.handoff.Spent()
	out.Preempted, out.Spent = both.PreemptedNS, spent(&both)
	out.CachedTokens = p.Cached
	if !p.Scheduled.Known() {
		out.CachedTokens = target.Unknown
	}
}

// sum adds two durations; -1 is unknown.
func sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
