package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// LoRA says how many adapters an engine holds, named as in vLLM, and what they
// cost. The zero value: it serves none.
type LoRA struct {
	// MaxLoras is the number of adapters on the GPU, and so the most in one step.
	MaxLoras int
	// MaxCPULoras is the number of adapters in host memory, those on the GPU among
	// them; at least MaxLoras.
	MaxCPULoras int
	// Fetch is the time from the adapter's file to host memory, Load that from there
	// to the GPU, both in picoseconds.
	Fetch, Load int64
	// Step is what a step with adapters takes longer, and Each and Token what every
	// adapter and every token of a sequence with one in it add, all in picoseconds.
	Step, Each, Token int64
}

func (c *LoRA) validate() error {
	switch {
	case *c == LoRA{}:
		return nil
	case c.MaxLoras < 1:
		return fmt.Errorf("MaxLoras is %d: need at least 1, or leave all of LoRA out", c.MaxLoras)
	case c.MaxCPULoras < c.MaxLoras:
		return fmt.Errorf("MaxCPULoras is %d, less than MaxLoras %d: adapters on the GPU are in host memory too", c.MaxCPULoras, c.MaxLoras)
	case min(c.Fetch, c.Load, c.Step, c.Each, c.Token) < 0:
		return errors.New("LoRA costs less than nothing: need 0 or more picoseconds for each part")
	}
	return nil
}

// adapters is where the engine's adapters are. The worker holds them in two LRU
// caches, one in host memory and one on the GPU, and fills them before the step
// that needs them, which waits for it with all that is in it (vLLM v1,
// LRUCacheWorkerLoRAManager).
type adapters struct {
	LoRA
	known []adapter // by number
	step  int64     // number of the step that is being scheduled
	n     int       // adapters in it
	// owed is the time of loads that were asked for by name, for the next step.
	owed int64

	loads, fetches int64
}

// adapter is one of them. Times are numbers of steps.
type adapter struct {
	step int64 // the last one that has it
	// used orders the evictions from both caches.
	used         int64
	onGPU, onCPU bool
	fresh        int64 // picoseconds that its load takes of this step; 0: it was there
}

func newAdapters(c LoRA) *adapters {
	if c.MaxLoras == 0 {
		return nil
	}
	return &adapters{LoRA: c}
}

// at is an adapter by number.
func (a *adapters) at(number uint16) *adapter {
	if n := int(number) + 1; n > len(a.known) {
		a.known = slices.Grow(a.known, n-len(a.known))[:n]
	}
	return &a.known[number]
}

// begin starts a step with the running sequences' rows in it.
func (a *adapters) begin(st *step) {
	a.step++
	a.n = 0
	for i := range st.rows {
		a.join(st.rows[i].s.Adapter)
	}
}

// join adds an adapter to the step, unless it is in there.
func (a *adapters) join(number uint16) {
	if number == 0 {
		return
	}
	if x := a.at(number); x.step != a.step {
		x.step, x.fresh = a.step, 0
		a.n++
	}
}

// admits reports whether the step can take a sequence with this adapter (R9).
func (a *adapters) admits(number uint16) bool {
	return number == 0 || a.n < a.MaxLoras || a.at(number).step == a.step
}

// full reports whether only adapters that are in the step can join it.
func (a *adapters) full() bool { return a.n == a.MaxLoras }

// settle brings the step's adapters to the GPU. It returns the time that the step
// waits for that, and how much longer it computes, in picoseconds.
func (a *adapters) settle(st *step) (load, compute int64) {
	load, a.owed = a.owed, 0
	if a.n == 0 {
		return load, 0
	}
	tokens := 0
	for i := range st.rows {
		r := &st.rows[i]
		if r.s.Adapter == 0 {
			continue
		}
		tokens += r.n
		a.touch(r.s.Adapter)
	}
	// Those that are there are touched first, so that no load evicts one of them.
	for i := range st.rows {
		if n := st.rows[i].s.Adapter; n != 0 && !a.known[n].onGPU {
			a.known[n].fresh = a.bring(n)
			load += a.known[n].fresh
		}
	}
	for i := range st.rows {
		r := &st.rows[i]
		if n := r.s.Adapter; n != 0 && r.prefill > 0 {
			st.prefills[r.prefill-1].load = ns(a.known[n].fresh)
		}
	}
	return load, a.Step + a.Each*int64(a.n) + a.Token*int64(tokens)
}

// touch makes an adapter the most recently used one.
func (a *adapters) touch(number uint16) { a.at(number).used = a.step }

// bring loads an adapter into both caches; it costs the returned picoseconds.
func (a *adapters) bring(number uint16) (ps int64) {
	if !a.at(number).onCPU {
		a.makeRoom(a.MaxCPULoras, func(x *adapter) *bool { return &x.onCPU })
		a.fetches++
		ps += a.Fetch
	}
	if !a.at(number).onGPU {
		a.makeRoom(a.MaxLoras, func(x *adapter) *bool { return &x.onGPU })
		a.loads++
		ps += a.Load
	}
	x := a.at(number)
	x.onCPU, x.onGPU = true, true
	a.touch(number)
	return ps
}

// makeRoom evicts the least recently used adapter of a cache that holds most of
// them; among those of one step the one with the smallest number. What leaves host
// memory leaves the GPU.
func (a *adapters) makeRoom(most int, in func(*adapter) *bool) {
	var oldest *adapter
	held := 0
	for i := range a.known {
		if x := &a.known[i]; *in(x) {
			held++
			if oldest == nil || x.used < oldest.used {
				oldest = x
			}
		}
	}
	if held < most {
		return
	}
	*in(oldest) = false
	oldest.onGPU = oldest.onGPU && oldest.onCPU
}

// LoadAdapter brings an adapter to the GPU before it is needed, in the place of
// the least recently used one. Unless the engine is idle, the next step waits for
// it. It does nothing in an engine without LoRA.
func (e *Engine) LoadAdapter(number uint16) {
	if e.lora == nil || number == 0 {
		return
	}
	ps := e.lora.bring(number)
	if e.flying > 0 {
		e.lora.owed += ps
	}
}

// UnloadAdapter forgets an adapter. Sequences that have it go on, and load it
// again.
func (e *Engine) UnloadAdapter(number uint16) {
	if e.lora == nil || number == 0 {
		return
	}
	x := e.lora.at(number)
	x.onGPU, x.onCPU = false, false
}

// AppendAdapters appends the adapters of the running and of the waiting
// sequences, each once, in order of number.
func (e *Engine) AppendAdapters(running, waiting []uint16) (r, w []uint16) {
	if e.lora == nil {
		return running, waiting
	}
	running = distinct(running, &e.running)
	return running, distinct(waiting, &e.transit, &e.inbox, &e.waiting.list, &e.blocked, &e.aside, &e.fetched)
}

func distinct(dst []uint16, lists ...*list) []uint16 {
	from := len(dst)
	for _, l := range lists {
		for s := l.head; s != nil; s = s.sched.next {
			if s.Adapter == 0 {
				continue
			}
			if i, known := slices.BinarySearchFunc(dst[from:], s.Adapter, cmp.Compare); !known {
				dst = slices.Insert(dst, from+i, s.Adapter)
			}
		}
	}
	return dst
}

// setAside takes a sequence out of the queue whose adapter has no place in the
// step. It keeps its turn, and those behind it go on (R9).
func (e *Engine) setAside(s *Seq) {
	e.waiting.remove(s)
	e.aside.pushBack(s)
}

// takeBack returns the sequences that were set aside to the queue, the last one
// first, so that each comes to the front.
func (e *Engine) takeBack() {
	for s := e.aside.tail; s != nil; s = e.aside.tail {
		e.aside.remove(s)
		e.waiting.restore(s)
	}
}
