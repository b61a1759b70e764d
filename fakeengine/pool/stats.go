package pool

import (
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
)

// counts are the pool's running totals; see Stats.
type counts struct {
	started, completed, canceled, refused uint64
	remote, local                         uint64
}

// Stats is the pool's account at one instant.
type Stats struct {
	// Started requests are Completed, Canceled, Refused or Live. Canceled are all
	// that the sender gave up, for want of patience too; Refused ones could never
	// run, whatever the load.
	Started, Completed, Canceled, Refused, Live uint64
	// Remote and Local count the requests whose prompts were given to a prefill
	// replica and to the one that answers; both stay 0 without prefill replicas.
	// Moved is what went from the former to the latter.
	Remote, Local uint64
	Moved         disagg.Moved
	// Engines is the sum over the replicas; its KVUsed is their mean.
	Engines engine.Stats
}

// Stats reads the pool. It costs no allocation.
func (p *Pool) Stats() Stats {
	s := Stats{
		Started: p.n.started, Completed: p.n.completed, Canceled: p.n.canceled, Refused: p.n.refused,
		Live: uint64(len(p.live)),
	}
	if p.prefill != nil {
		s.Remote, s.Local, s.Moved = p.n.remote, p.n.local, p.prefill.Moved()
	}
	t := &s.Engines
	for _, e := range p.engines {
		s := e.Stats()
		t.Arriving += s.Arriving
		t.Waiting += s.Waiting
		t.Running += s.Running
		t.KVUsed += s.KVUsed / float64(len(p.engines))
		t.PrefixQueries += s.PrefixQueries
		t.PrefixHits += s.PrefixHits
		t.Evictions += s.Evictions
		t.KVWaits += s.KVWaits
		t.Preemptions += s.Preemptions
		t.Recomputed += s.Recomputed
		t.PromptTokens += s.PromptTokens
		t.GenerationTokens += s.GenerationTokens
		t.AdapterLoads += s.AdapterLoads
		t.AdapterFetches += s.AdapterFetches
		t.Finished += s.Finished
		t.Aborted += s.Aborted
		t.Steps += s.Steps
		t.BusyPS += s.BusyPS
	}
	return s
}
