package engine

import (
	"fmt"

	"goodput/fakeengine/kv"
	"goodput/loadgen/clock"
)

// Offload is a tier of KV blocks in host memory. The zero value: there is none.
type Offload struct {
	// Blocks is its size. A host block is as large as a GPU block.
	Blocks int
	// Copy is the picoseconds in which a block crosses the link between host and
	// GPU. Each direction carries one block at a time, beside the other and without
	// slowing the steps.
	Copy int64
}

func (o *Offload) validate() error {
	if o.Blocks < 0 || o.Copy < 0 || o.Blocks == 0 && o.Copy > 0 {
		return fmt.Errorf("Offload is %+v: need blocks and 0 or more picoseconds for each, or neither", *o)
	}
	return nil
}

// host moves KV blocks between the GPU and host memory.
type host struct {
	Offload
	e *Engine
	// loads are under way, the first one first; the event of its end is pending.
	loads []load
	// loaded and stored are when the two directions of the link are free, and
	// loading and storing for how long they were used, in picoseconds.
	loaded, stored   int64
	loading, storing int64
}

// load brings n blocks of s behind the first hit ones.
type load struct {
	s      *Seq // nil: aborted
	hit, n int
	ends   clock.Time
}

var _ clock.Event = (*host)(nil)

func newHost(e *Engine, o Offload) *host {
	if o.Blocks == 0 {
		return nil
	}
	return &host{Offload: o, e: e}
}

// verdict is what becomes of the first waiting sequence.
type verdict uint8

const (
	ready  verdict = iota // nothing that it needs is elsewhere
	comes                 // something is on its way, and the sequence is set aside
	noRoom                // for now there are no blocks for what should come
)

// fetch has what follows the hit blocks of s loaded from host memory. The sequence
// takes blocks for all its tokens, so that it can go on when it is there, and is
// passed by others meanwhile (vLLM's state WAITING_FOR_REMOTE_KVS; there it takes
// blocks for what it loads, and may get stuck beside others that do). One that
// would load what is being loaded waits for that instead, and finds it on the GPU.
func (h *host) fetch(s *Seq, now clock.Time, hit int) verdict {
	e := h.e
	tokens := s.tokens()
	n, busy := e.kv.HostMatch(&s.sched.table, hit, tokens, int64(now))
	if e.cfg.Speculation.DropLastHit && n > 0 {
		n--
	}
	switch {
	case n == 0:
		return ready
	case busy:
		s.sched.follows = true
		e.block(s, now)
		return comes
	}
	a := kv.Admission{Hit: hit, Tokens: tokens}
	if e.running.n > 0 {
		a.Spare = e.watermark
	}
	if !e.kv.Admit(&s.sched.table, a) {
		return noRoom
	}
	e.kv.Query(tokens, hit)
	e.kv.HostQuery(tokens-hit*e.cfg.BlockSize, n)
	e.kv.HostLoad(&s.sched.table, hit, n)
	s.sched.brought = (hit + n) * e.cfg.BlockSize
	if !s.Scheduled.Known() {
		s.Cached, s.Loaded = s.sched.brought, n*e.cfg.BlockSize
	}
	e.block(s, now)
	took := h.Copy * int64(n)
	h.loaded = max(h.loaded, int64(now)*1000) + took
	h.loading += took
	h.loads = append(h.loads, load{s, hit, n, clock.Time(ns(h.loaded))})
	if len(h.loads) == 1 {
		h.arm()
	}
	return comes
}

func (h *host) arm() { h.e.loop.At(h.loads[0].ends, clock.RankTransit, h) }

// Fire ends the loads that are over.
func (h *host) Fire(now clock.Time) {
	done := 0
	for ; done < len(h.loads) && h.loads[done].ends <= now; done++ {
		l := &h.loads[done]
		if l.s == nil {
			continue
		}
		h.e.kv.HostLoaded(&l.s.sched.table, l.hit, l.n)
		h.e.arrive(l.s, l.s.sched.brought)
	}
	h.loads = h.loads[:copy(h.loads, h.loads[done:])]
	if len(h.loads) > 0 {
		h.arm()
	}
	h.release(now)
}

// Entity is the engine's ID.
func (h *host) Entity() uint64 { return uint64(h.e.cfg.ID) }

// release has those look again who waited for somebody else's load.
func (h *host) release(now clock.Time) {
	var next *Seq
	for s := h.e.blocked.head; s != nil; s = next {
		next = s.sched.next
		if s.sched.follows {
			s.sched.follows = false
			h.e.unblock(s, now)
		}
	}
}

// forget drops the load of s, which is aborted. Its link time is spent.
func (h *host) forget(s *Seq) {
	for i := range h.loads {
		if l := &h.loads[i]; l.s == s {
			h.e.kv.HostLoaded(&s.sched.table, l.hit, l.n)
			l.s = nil
		}
	}
}

// store copies the blocks that a step computes, which ends at end (in
// picoseconds), to host memory. Those that are there already are not copied.
func (h *host) store(now clock.Time, end int64) {
	n := h.e.kv.HostPending()
	if n == 0 {
		return
	}
	took := h.Copy * int64(n)
	h.stored = max(h.stored, end) + took
	h.storing += took
	h.e.kv.HostStore(int64(now), ns(h.stored))
}
