package pool

import (
	"time"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
)

// counts are the pool's running totals; see Stats.
type counts struct {
	started, completed, canceled, refused, broken uint64
	shed, absorbed                                uint64
	remote, local                                 uint64
	orphaned                                      uint64 // tokens
	reported                                      uint64 // picks
	age                                           time.Duration
}

// Stats is the pool's account at one instant.
type Stats struct {
	// Started requests are Completed, Canceled, Refused, Broken, Shed or Live. Canceled are
	// all that the sender gave up, for want of patience too; Refused ones could never
	// run, whatever the load; Broken ones were refused or broken off by faults, or the
	// router had no replica for them; Shed ones were refused by a shaper. Absorbed are
	// those of the completed ones that a shaper answered, Held those of the live ones
	// that a shaper holds.
	Started, Completed, Canceled, Refused, Broken, Shed, Live uint64
	Absorbed, Held                                            uint64
	// Remote and Local count the requests whose prompts were given to a prefill
	// replica and to the one that answers; both stay 0 without prefill replicas.
	// Moved is what went from the former to the latter.
	Remote, Local uint64
	// Orphaned tokens were made for requests that were given up.
	Orphaned uint64
	// Reported picks went by what engines had reported, Age ago, all added up.
	Reported uint64
	Age      time.Duration
	Moved    disagg.Moved
	// Engines is the sum over the replicas, and what they were before faults took
	// them down; its KVUsed is their mean.
	Engines engine.Stats
}

// Stats reads the pool. It costs no allocation.
func (p *Pool) Stats() Stats {
	s := Stats{
		Started: p.n.started, Completed: p.n.completed, Canceled: p.n.canceled, Refused: p.n.refused, Broken: p.n.broken,
		Shed: p.n.shed, Absorbed: p.n.absorbed, Held: uint64(len(p.held)), Live: uint64(len(p.live)), Orphaned: p.n.orphaned,
		Reported: p.n.reported, Age: p.n.age,
	}
	if p.prefill != nil {
		s.Remote, s.Local, s.Moved = p.n.remote, p.n.local, p.prefill.Moved()
	}
	t := &s.Engines
	add(t, &p.retired)
	for _, e := range p.engines {
		s := e.Stats()
		add(t, &s)
		t.KVUsed += s.KVUsed / float64(len(p.engines))
	}
	return s
}

// add adds up all but KVUsed.
func add(t, s *engine.Stats) {
	t.Arriving += s.Arriving
	t.Waiting += s.Waiting
	t.Running += s.Running
	t.PrefixQueries += s.PrefixQueries
	t.PrefixHits += s.PrefixHits
	t.Evictions += s.Evictions
	t.KVWaits += s.KVWaits
	t.Preemptions += s.Preemptions
	t.Recomputed += s.Recomputed
	t.PromptTokens += s.PromptTokens
	t.GenerationTokens += s.GenerationTokens
	t.HostQueries += s.HostQueries
	t.HostHits += s.HostHits
	t.HostLoads += s.HostLoads
	t.HostStores += s.HostStores
	t.HostFailures += s.HostFailures
	t.HostLoadPS += s.HostLoadPS
	t.HostStorePS += s.HostStorePS
	t.AdapterLoads += s.AdapterLoads
	t.AdapterFetches += s.AdapterFetches
	t.Finished += s.Finished
	t.Aborted += s.Aborted
	t.Steps += s.Steps
	t.BusyPS += s.BusyPS
}
