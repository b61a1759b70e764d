package engine

import (
	"errors"
	"fmt"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// Ranks is engines that do part of every step together, because they share the
// experts of a model out among them: the ranks of vLLM's data parallelism with
// expert parallelism. Each has its own scheduler, queue and KV cache. A step of all
// begins and ends at the same instants, and takes as long as the slowest rank needs
// for its own part, and the common part for the tokens of all. A rank without work
// computes one token that nobody asked for.
//
// What lands at one that has nothing to do waits for the end of the others' step.
// Time that a rank waits for slower ones is part of what its rows take.
//
// The boundaries of ranks are events of the loop, all of them, as with
// Config.EveryStep.
type Ranks struct {
	model   steptime.Ranked
	loop    clock.Loop
	engines []*Engine
	id      uint64
	endPS   int64 // of the executing step
	busy    bool  // there is one
	pending bool  // an event is to come
}

var _ clock.Event = (*Ranks)(nil)

// NewRanks makes as many idle engines as m has ranks, with IDs from cfg.ID on. It
// refuses what makes steps of a rank longer for causes of its own: adapters, drafts,
// and KV blocks in host memory.
func NewRanks(cfg Config, m steptime.Ranked, loop clock.Loop) (*Ranks, error) {
	if m == nil || loop == nil {
		return nil, errors.New("ranks: need a step-time model and a loop")
	}
	r := &Ranks{model: m, loop: loop, id: uint64(max(cfg.ID, 0))}
	for range m.Ranks() {
		if _, err := r.add(cfg); err != nil {
			return nil, err
		}
		cfg.ID++
	}
	return r, nil
}

// add makes the next rank.
func (r *Ranks) add(cfg Config) (*Engine, error) {
	switch {
	case cfg.LoRA.MaxLoras > 0:
		return nil, errors.New("ranks: LoRA: adapters are not supported by engines that share experts")
	case cfg.Speculation.Model != nil:
		return nil, errors.New("ranks: Speculation: drafts are not supported by engines that share experts")
	case cfg.Offload.Blocks > 0:
		return nil, errors.New("ranks: Offload: KV blocks in host memory are not supported by engines that share experts")
	}
	cfg.EveryStep = true
	e, err := New(cfg, r.model, r.loop)
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	// A step's time is not that of the model, but in proportion to it.
	e.ranks, e.varies = r, true
	r.engines = append(r.engines, e)
	return e, nil
}

// Engines are the ranks, in order of ID.
func (r *Ranks) Engines() []*Engine { return r.engines }

// wake has the ranks schedule: at this instant, or at the end of the step that
// executes.
func (r *Ranks) wake() {
	if !r.pending {
		r.pending = true
		r.loop.At(r.loop.Now(), clock.RankStep, r)
	}
}

// Fire is the boundary between two steps of all ranks.
func (r *Ranks) Fire(now clock.Time) {
	r.pending = false
	if !r.busy {
		r.endPS = int64(now) * 1000
	}
	for _, e := range r.engines {
		e.stepping = true // whatever sinks do to any of them
	}
	for _, e := range r.engines {
		if e.flying > 0 {
			e.finishStep(now)
		}
	}
	for _, e := range r.engines {
		e.endPS = r.endPS
		e.fill(now)
		e.stepping = false
	}
	r.begin()
	if r.busy {
		r.pending = true
		r.loop.At(clock.Time(ns(r.endPS)), clock.RankStep, r)
	}
}

// begin starts the next step of all ranks, if any has something to compute.
func (r *Ranks) begin() {
	slowest, tokens, busy := int64(0), 0, 0
	for _, e := range r.engines {
		if e.flying > 0 {
			b := &e.pipe[e.first].batch
			slowest, tokens, busy = max(slowest, r.model.Own(b)), tokens+b.Tokens, busy+1
		}
	}
	if r.busy = busy > 0; !r.busy {
		return
	}
	ps := slowest + r.model.Together(tokens+len(r.engines)-busy)
	r.endPS += ps
	for _, e := range r.engines {
		if e.flying > 0 {
			st := &e.pipe[e.first]
			st.ps, e.endPS = ps, r.endPS
			e.share(st)
		}
	}
}

// Entity is the ID of the first rank.
func (r *Ranks) Entity() uint64 { return r.id }
