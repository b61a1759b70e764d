package kv

import "fmt"

// Host is the account of blocks in host memory: a second tier, in which blocks are
// found by the content that they were stored with. All full blocks are stored as
// soon as they are computed, whoever may share them, and the least recently used
// ones make room (vLLM v1, OffloadingConnector with the LRU policy of its CPU
// backend). A block is used when it is stored and when a sequence that has it is
// looked up; vLLM also counts each later store of that sequence. It knows no time:
// instants are the caller's numbers.
type Host struct {
	blocks []hostBlock // 0 is the ends of the list in order of use
	index  map[content]int32
	spare  int       // blocks that were never in use
	fresh  []content // computed on the GPU, to be stored
	counts HostCounters
}

// content names what a block holds.
type content struct {
	kind uint8
	name uint64
}

type hostBlock struct {
	prev, next int32
	loads      int32 // under way
	ready      int64 // when it is or was stored
	content
}

// HostCounters are running totals of blocks, but for Queries and Hits, which are in
// tokens: those looked up because the GPU did not have them, and those found.
type HostCounters struct {
	Queries, Hits, Loaded, Stored, Evictions, Failures int64
}

func newHost(n int) (*Host, error) {
	if n < 0 || n >= 1<<31-1 {
		return nil, fmt.Errorf("%d blocks in host memory: need 0, for none, to %d", n, 1<<31-2)
	}
	if n == 0 {
		return nil, nil
	}
	return &Host{blocks: make([]hostBlock, 1, 1+min(n, 1<<10)), index: make(map[content]int32), spare: n}, nil
}

// HostCounters returns the totals so far; all are 0 without host memory.
func (p *Pool) HostCounters() HostCounters {
	if p.host == nil {
		return HostCounters{}
	}
	return p.host.counts
}

// content names block i of the sequence.
func (t *Table) content(i int) content {
	if i < len(t.hashes) {
		return content{shared, t.hashes[i]}
	}
	return content{private, t.name(i)}
}

// HostMatch returns how many blocks behind the first hit ones are in host memory,
// stored by now, within tokens-1. Some of them may be busy: another sequence loads
// them, and they will be on the GPU soon. Looking makes all blocks of the sequence
// recently used, its head the most.
func (p *Pool) HostMatch(t *Table, hit, tokens int, now int64) (n int, busy bool) {
	h := p.host
	// Blocks of its own are there only if the sequence was on the GPU before.
	limit := min((tokens-1)/p.size, max(len(t.hashes), len(t.ids)))
	for i := limit - 1; i >= 0; i-- {
		if at, ok := h.index[t.content(i)]; ok {
			h.unlink(at)
			h.pushBack(at)
		}
	}
	for hit+n < limit {
		at, ok := h.index[t.content(hit+n)]
		if !ok || h.blocks[at].ready > now {
			break
		}
		busy = busy || h.blocks[at].loads > 0
		n++
	}
	return n, busy
}

// HostQuery counts a look-up of tokens tokens that found n blocks.
func (p *Pool) HostQuery(tokens, n int) {
	p.host.counts.Queries += int64(tokens)
	p.host.counts.Hits += int64(n * p.size)
}

// HostLoad begins to load n blocks behind the first hit ones; they stay until
// HostLoaded.
func (p *Pool) HostLoad(t *Table, hit, n int) {
	for i := hit; i < hit+n; i++ {
		p.host.blocks[p.host.index[t.content(i)]].loads++
	}
	p.host.counts.Loaded += int64(n)
}

// HostLoaded ends what HostLoad began, with the same arguments.
func (p *Pool) HostLoaded(t *Table, hit, n int) {
	for i := hit; i < hit+n; i++ {
		p.host.blocks[p.host.index[t.content(i)]].loads--
	}
}

// HostPending is the number of blocks that were computed since the last HostStore
// and are not in host memory.
func (p *Pool) HostPending() int {
	h := p.host
	kept := h.fresh[:0]
	for _, c := range h.fresh {
		if _, there := h.index[c]; !there {
			kept = append(kept, c)
		}
	}
	h.fresh = kept
	return len(kept)
}

// HostStore stores the pending blocks; they can be loaded from the instant ready on.
// Blocks that are being stored at now, or loaded, make no room; those that find none
// are not stored, and counted as failures.
func (p *Pool) HostStore(now, ready int64) {
	h := p.host
	for _, c := range h.fresh {
		if _, twice := h.index[c]; twice {
			continue
		}
		at := h.room(now)
		if at == 0 {
			h.counts.Failures++
			continue
		}
		b := &h.blocks[at]
		b.content, b.ready = c, ready
		h.index[c] = at
		h.pushBack(at)
		h.counts.Stored++
	}
	h.fresh = h.fresh[:0]
}

// room returns a block without content that is in no list, 0: there is none.
func (h *Host) room(now int64) int32 {
	if h.spare > 0 { // not all were in use yet
		h.spare--
		h.blocks = append(h.blocks, hostBlock{})
		return int32(len(h.blocks) - 1)
	}
	for at := h.blocks[0].next; at != 0; at = h.blocks[at].next {
		if b := &h.blocks[at]; b.loads == 0 && b.ready <= now {
			h.unlink(at)
			delete(h.index, b.content)
			h.counts.Evictions++
			return at
		}
	}
	return 0
}

func (h *Host) unlink(at int32) {
	b := &h.blocks[at]
	h.blocks[b.prev].next, h.blocks[b.next].prev = b.next, b.prev
}

func (h *Host) pushBack(at int32) {
	last := h.blocks[0].prev
	b := &h.blocks[at]
	b.prev, b.next = last, 0
	h.blocks[last].next, h.blocks[0].prev = at, at
}

// check verifies that list and index hold the same blocks, each content once.
func (h *Host) check() error {
	n := 0
	for at := h.blocks[0].next; at != 0; at = h.blocks[at].next {
		b := &h.blocks[at]
		if h.index[b.content] != at {
			return fmt.Errorf("host memory: block %d is not found by its content", at)
		}
		if h.blocks[b.next].prev != at || b.loads < 0 {
			return fmt.Errorf("host memory: block %d has %d loads, or is not linked back", at, b.loads)
		}
		if n++; n > len(h.blocks) {
			return fmt.Errorf("host memory: the list does not end")
		}
	}
	if n != len(h.index) || n > len(h.blocks)-1 {
		return fmt.Errorf("host memory: %d blocks listed, %d found by content, %d in all", n, len(h.index), len(h.blocks)-1)
	}
	return nil
}
