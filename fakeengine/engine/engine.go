package engine

import (
	"fmt"
	"math"

	"goodput/fakeengine/kv"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// Engine is one replica. All calls are made from within events of its loop, or
// before the loop runs.
//
// A sequence goes through four lists: transit (in the front end), inbox (at the
// scheduler, not yet seen), waiting and running.
type Engine struct {
	cfg       Config
	watermark int // blocks
	budget    int // tokens of a step
	model     steptime.Model
	varies    bool                        // the model's steps do
	mean      func(*steptime.Batch) int64 // the model without chance
	scratch   steptime.Batch              // here, so that it is not allocated
	linear    steptime.Linear             // the model, if it is; else nil
	loop      clock.Loop
	order     clock.Orderer // the loop; nil: every boundary is an event
	kv        *kv.Pool

	// blocked sequences wait for something else than their turn, see block, and
	// those aside for an adapter's place; fetched ones have got their KV blocks from
	// elsewhere, see Fetched, and held ones are over but keep theirs, see Release.
	transit, inbox, blocked, aside, fetched, running, held list
	waiting                                                queue
	lora                                                   *adapters // nil: none are served
	host                                                   *host     // nil: KV blocks are on the GPU only
	group                                                  group
	log                                                    stepLog
	groups                                                 bool // whether there may be one
	quiet                                                  int  // sequences with Runs
	stuck                                                  bool // none can be admitted until something but decodes happens

	landing  landing
	boundary boundary
	// armed is the earliest pending boundary event, or Never. woken: one is to come
	// although no step executes. stepping: the engine is at a boundary.
	armed           clock.Time
	woken, stepping bool

	// pipe holds the steps that are scheduled and not over: flying of them, from
	// pipe[first] on, which executes and ends at endPS. The next one starts there,
	// unrounded.
	pipe          [2]step
	first, flying int
	depth         int // most steps in pipe: 2 under asynchronous scheduling
	// scheduled and finished count steps; scheduledAt is what finished was at the
	// last scheduling. finishing: the rows of step finished are being told, up to
	// the one of the sequence admitted as number cursor.
	scheduled, finished, scheduledAt int64
	finishing                        bool
	cursor, admitted                 uint64
	preempted                        bool  // the last scheduling preempted
	endPS                            int64 // picoseconds

	ranks      *Ranks // nil: its steps are its own
	counters   counters
	speculated Speculated
}

// landing is the event at which the head of transit reaches the inbox.
type landing struct {
	e       *Engine
	pending bool
}

// boundary is the event between two steps.
type boundary struct{ e *Engine }

var (
	_ clock.Event = (*landing)(nil)
	_ clock.Event = (*boundary)(nil)
)

// New makes an idle engine.
func New(cfg Config, m steptime.Model, loop clock.Loop) (*Engine, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("engine %d: %w", cfg.ID, err)
	}
	if m == nil || loop == nil {
		return nil, fmt.Errorf("engine %d: need a step-time model and a loop", cfg.ID)
	}
	pool, err := kv.New(kv.Config{
		Blocks: cfg.NumGPUBlocks, BlockSize: cfg.BlockSize, Caching: cfg.PrefixCaching,
		UnnamedFirst: cfg.PrependUnhashed, HeadFirst: cfg.ablate.headFirstFree,
		HostBlocks: cfg.Offload.Blocks,
	})
	if err != nil {
		return nil, fmt.Errorf("engine %d: %w", cfg.ID, err)
	}
	e := &Engine{
		cfg:       cfg,
		watermark: int(cfg.Watermark * float64(cfg.NumGPUBlocks)),
		budget:    cfg.MaxNumBatchedTokens,
		model:     m, loop: loop, kv: pool, depth: 1, armed: clock.Never, lora: newAdapters(cfg.LoRA),
	}
	// Drafts and adapters make rows differ from each other, and host memory gets each
	// block when it is full.
	e.groups = !cfg.EveryStep && cfg.Speculation.Model == nil && e.lora == nil && cfg.Offload.Blocks == 0
	if e.groups {
		e.linear, _ = m.(steptime.Linear)
	}
	if e.linear != nil { // others may look at the clock, or at the engine
		e.order, _ = loop.(clock.Orderer)
	}
	e.group.phases = make([]list, cfg.BlockSize)
	if cfg.AsyncScheduling {
		e.depth = 2
	}
	e.pipe[1].place = 1
	if cfg.Batching == Static {
		e.budget = math.MaxInt
	}
	e.mean = m.Step
	if r, ok := m.(random); ok {
		e.varies, e.mean = true, r.Mean
	}
	e.waiting.byPriority = cfg.Policy == Priority
	e.landing.e, e.boundary.e = e, e
	e.host = newHost(e, cfg.Offload)
	return e, nil
}

// Submit hands s to the engine. The error is a *Rejected if s could never run;
// s is then untouched and its Sink hears nothing.
func (e *Engine) Submit(s *Seq) error {
	if err := e.Check(s); err != nil {
		return err
	}
	now := e.loop.Now()
	s.Arrival, s.Queued, s.Scheduled = now, clock.Never, clock.Never
	s.FirstToken, s.LastToken = clock.Never, clock.Never
	s.Output, s.Cached, s.Loaded, s.Preemptions, s.Recomputed, s.Spent = 0, 0, 0, 0, 0, Spent{}
	s.sched = schedState{lands: now.Add(e.cfg.FrontEnd), preemptedAt: clock.Never, blockedAt: clock.Never, from: 1}
	s.Verified, s.Drafted, s.Accepted = 0, 0, 0
	if e.speculates() {
		s.sched.luck = e.cfg.Speculation.Model.Request(s.ID)
	}
	e.kv.Open(&s.sched.table, e.shareable(s))
	if s.Runs != nil {
		e.quiet++
	}

	// FrontEnd is the same for all, so transit is in order of landing; ID decides
	// within an instant, as it does everywhere on the loop.
	at := e.transit.tail
	for at != nil && at.sched.lands == s.sched.lands && at.ID > s.ID {
		at = at.sched.prev
	}
	e.transit.insertAfter(at, s)
	e.landing.arm()
	return nil
}

// Check is the error that Submit would return for s.
func (e *Engine) Check(s *Seq) error {
	if s.sched.in != nil {
		return fmt.Errorf("sequence %d is already in an engine", s.ID)
	}
	if s.Sink == nil {
		return fmt.Errorf("sequence %d has no sink", s.ID)
	}
	total := s.Prompt + s.MaxTokens
	// The last token is never fed back, so it takes no place in the cache (R24).
	blocks := e.kv.Blocks(min(total-1+e.overhang(), e.cfg.MaxModelLen))
	switch {
	case s.Prompt < 1:
		return &Rejected{NoPrompt, s.Prompt, 1}
	case s.MaxTokens < 1:
		return &Rejected{NoOutput, s.MaxTokens, 1}
	case total > e.cfg.MaxModelLen:
		return &Rejected{LongerThanLen, total, e.cfg.MaxModelLen}
	case s.Adapter != 0 && e.lora == nil:
		return &Rejected{NoAdapters, int(s.Adapter), 0}
	case blocks > e.kv.Usable():
		return &Rejected{LargerThanPool, blocks, e.kv.Usable()}
	}
	return nil
}

// shareable are the hashes of the leading blocks that others could have.
func (e *Engine) shareable(s *Seq) []uint64 {
	n := min(s.Shared, s.Prompt+s.MaxTokens) / e.cfg.BlockSize
	return s.Hashes[:min(n, len(s.Hashes))]
}

// Abort takes s out at once, frees its blocks, drops what steps under way
// compute for it (R24), and calls Finished with Aborted before it returns. It
// does nothing if s is not in this engine.
func (e *Engine) Abort(s *Seq) {
	e.catchUp()
	switch s.sched.in {
	case &e.transit, &e.inbox, &e.waiting.list, &e.blocked, &e.aside, &e.fetched, &e.running:
	default:
		if !s.sched.grouped {
			return
		}
		e.ungroup(s)
	}
	now := e.loop.Now()
	e.counters.aborted++
	if e.flying > 0 {
		if r := e.pipe[e.first].find(s); r != nil {
			e.charge(r, e.elapsed(now))
		}
	}
	e.leave(s, now, Aborted)
	if e.host != nil {
		e.host.release(now)
	}
	e.roomier()
	if !e.stepping {
		e.arm()
	}
}

// ResetPrefixCache forgets all cached content. It reports false, and does
// nothing, while a sequence holds KV blocks (R21).
func (e *Engine) ResetPrefixCache() bool {
	e.catchUp()
	return e.kv.Reset()
}

// leave ends s. What a step under way still computes for it is wasted.
func (e *Engine) leave(s *Seq, now clock.Time, why Finish) {
	for i := range e.pipe {
		if r := e.pipe[i].find(s); r != nil {
			r.s = nil
		}
	}
	e.stuck = false
	s.arrived(now)
	s.resume(now)
	s.settle(now)
	if e.host != nil {
		e.host.forget(s)
	}
	if in := s.sched.in; in == &e.waiting.list {
		e.waiting.remove(s)
	} else {
		in.remove(s)
	}
	if s.Hold && why != Aborted {
		e.held.pushBack(s)
	} else {
		e.kv.Close(&s.sched.table)
	}
	if s.Runs != nil {
		e.quiet--
		e.tell(s)
	}
	s.Sink.Finished(s, now, why)
}

func (l *landing) arm() {
	if head := l.e.transit.head; head != nil && !l.pending {
		l.pending = true
		l.e.loop.At(head.sched.lands, clock.RankTransit, l)
	}
}

// Fire moves what has passed the front end into the inbox.
func (l *landing) Fire(now clock.Time) {
	e := l.e
	e.catchUp()
	l.pending = false
	for s := e.transit.head; s != nil && s.sched.lands <= now; s = e.transit.head {
		e.transit.remove(s)
		e.inbox.pushBack(s)
	}
	l.arm()
	if e.inbox.n > 0 {
		e.wake()
	}
}

// Entity is the engine's ID.
func (l *landing) Entity() uint64 { return uint64(l.e.cfg.ID) }

// Fire goes through the boundaries up to now. All arrivals of the same instant
// have landed before: a transit ranks before a step.
func (b *boundary) Fire(now clock.Time) {
	e := b.e
	if e.armed <= now {
		e.armed = clock.Never
	}
	for end := clock.Time(-1); e.flying > 0 && end < now; {
		if end = clock.Time(ns(e.endPS)); end > now {
			break
		}
		e.turn(end)
	}
	if e.flying == 0 && e.woken {
		e.woken = false
		e.turn(now)
	}
	e.arm()
}

// Entity is the engine's ID.
func (b *boundary) Entity() uint64 { return uint64(b.e.cfg.ID) }
