package engine

import (
	"goodput/fakeengine/kv"
	"goodput/loadgen/clock"
)

// Fetcher brings the KV of a prompt from where it was computed.
type Fetcher interface {
	// Fetch: s has its blocks from now on, and tokens tokens of its prompt are
	// missing in them. Engine.Fetched must follow when they are there, not from
	// within Fetch, unless s is aborted before.
	Fetch(s *Seq, now clock.Time, tokens int)
}

// reserve takes blocks for the whole prompt of a waiting sequence whose KV comes
// from elsewhere, and has the part fetched that is not in the prefix cache. It
// reports false if there is no room, which holds up those behind (R9). This is
// vLLM's state WAITING_FOR_REMOTE_KVS: no tokens are scheduled, the sequence is
// passed by others, and its blocks are named only when they have their content.
func (e *Engine) reserve(s *Seq, now clock.Time) bool {
	hit := e.match(s)
	a := kv.Admission{Hit: hit, Tokens: s.Prompt}
	if e.seqs() > 0 {
		a.Spare = e.watermark
	}
	if !e.kv.Admit(&s.sched.table, a) {
		e.short(s)
		return false
	}
	e.kv.Query(s.Prompt, hit)
	s.sched.asked = true
	s.Cached = hit * e.cfg.BlockSize
	e.block(s, now)
	s.Remote.Fetch(s, now, s.Prompt-s.Cached)
	return true
}

// Fetched says that what Fetch asked for is there. s is admitted at the next
// scheduling that has a place for it, before all waiting ones whatever the
// policy: it holds blocks that they may be waiting for.
func (e *Engine) Fetched(s *Seq) {
	e.catchUp()
	if s.sched.in == &e.blocked {
		e.arrive(s, s.Prompt-1)
	}
}

// arrive says that the first tokens tokens of a blocked sequence, which has blocks
// for all of them, have their KV.
func (e *Engine) arrive(s *Seq, tokens int) {
	now := e.loop.Now()
	s.sched.brought = tokens
	s.arrived(now)
	e.blocked.remove(s)
	at := e.fetched.tail
	for at != nil && at.sched.turn > s.sched.turn {
		at = at.sched.prev
	}
	e.fetched.insertAfter(at, s)
	e.kv.Fill(&s.sched.table, tokens)
	e.stuck = false
	e.wake()
}

// resumeFetched admits those whose KV has come while the budget lasts, which it
// returns. Each has all or part of its tokens but the last one, which is computed
// here in any case: it is the one that gives the next token. One whose adapter has
// no place in the step waits for the next.
func (e *Engine) resumeFetched(st *step, now clock.Time, budget int) (left int) {
	var next *Seq
	for s := e.fetched.head; s != nil && budget > 0 && e.seqs() < e.cfg.MaxNumSeqs; s = next {
		next = s.sched.next
		if e.lora != nil && !e.lora.admits(s.Adapter) {
			continue
		}
		n := e.chunk(s.tokens() - s.sched.brought)
		if !e.cfg.ChunkedPrefill && n > budget {
			return 0 // nor does anybody behind it
		}
		if e.lora != nil {
			e.lora.join(s.Adapter)
		}
		n = min(n, budget)
		e.fetched.remove(s)
		e.admit(s)
		if !s.Scheduled.Known() {
			s.Scheduled = now
		}
		s.resume(now)
		s.sched.computed, s.sched.goal = s.sched.brought, s.tokens()
		e.advance(st, s, n)
		budget -= n
	}
	return budget
}

// Release frees the blocks of a sequence that is over and was told to hold them.
// It does nothing if there is none.
func (e *Engine) Release(s *Seq) {
	e.catchUp()
	if s.sched.in != &e.held {
		return
	}
	e.stuck = false
	e.held.remove(s)
	e.kv.Close(&s.sched.table)
	e.roomier()
}

// roomier has a sleeping engine look whether what waits fits now. Blocks of
// sequences that do not run are all that it can sleep for.
func (e *Engine) roomier() {
	if e.waiting.n > 0 {
		e.wake()
	}
}

// CachedTokens is the number of leading tokens of s's prompt that a look-up now
// would find in the prefix cache (R10). It changes nothing, and s need not be in
// the engine.
func (e *Engine) CachedTokens(s *Seq) int {
	e.catchUp()
	return e.kv.Find(e.shareable(s), s.Prompt) * e.cfg.BlockSize
}
