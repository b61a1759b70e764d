package kv

import "math/bits"

// freeList is the blocks that no sequence holds, in the order in which they will
// be handed out. Those that somebody may look for by name are nodes of their own,
// since they can leave from the middle. The others, which are most, left their
// sequence together and will be handed out one after the other: they are runs. A
// run costs no more than its block numbers, and touches no block.
type freeList struct {
	blocks []block
	// runs are nodes too; number 0 is none. idle ones can be used again.
	runs []run
	idle []int32
	// ring holds the blocks of all runs that had an owner, in order, from first to last
	// modulo its size, a power of 2. nil: there was none yet.
	ring        []int32
	first, last uint32
	n           int
}

// A node is named by the number of its block, or by minus the number of its run.
// The null block is the root: next is the first node, prev the last one.
type links struct{ prev, next int32 }

type block struct {
	links
	// refs counts the tables that hold the block under a shared name. It is not
	// kept for others, which one table holds, but 0 while they are free.
	refs int32
	kind uint8
	// found: the index finds this block by its name; kept for shared names.
	found bool
	// child is a block that once followed this one in a sequence; 0: none did. It is
	// a guess, which saves looking into the index.
	child int32
	name  uint64
}

// run is blocks of one closed table, from the position before to down to from.
// Those before full have names, which matter to nobody any more. Blocks that were
// never used are a run without an owner; they are not written down, so that a pool
// takes memory only as it is used.
type run struct {
	links
	from, to, full int32
	owner          uint64
}

// init fills the list with the blocks of a pool, by number.
func (f *freeList) init(blocks int) {
	f.blocks = make([]block, blocks)
	f.runs = make([]run, 1, 64)
	f.insert(f.newRun(run{to: int32(blocks - 1)}), null)
	f.n = blocks - 1
}

func (f *freeList) at(node int32) *links {
	if node < 0 {
		return &f.runs[-node].links
	}
	return &f.blocks[node].links
}

// insert puts a node behind another one.
func (f *freeList) insert(node, after int32) {
	a := f.at(after)
	before := a.next
	a.next = node
	f.at(before).prev = node
	*f.at(node) = links{after, before}
}

func (f *freeList) unlink(node int32) {
	l := *f.at(node)
	f.at(l.prev).next, f.at(l.next).prev = l.next, l.prev
}

func (f *freeList) newRun(r run) int32 {
	if n := len(f.idle); n > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.runs[i] = r
		return -i
	}
	f.runs = append(f.runs, r)
	return -int32(len(f.runs) - 1)
}

// room makes sure of the ring. It has room for all blocks from the first: memory
// that is not written to is not taken, and growing step by step is.
func (f *freeList) room() {
	if f.ring == nil {
		f.ring = make([]int32, 1<<bits.Len(uint(len(f.blocks)-1)))
	}
}

// slot is a place in the ring.
func (f *freeList) slot(i uint32) *int32 { return &f.ring[i&uint32(len(f.ring)-1)] }

// appendRun frees ids[r.from:r.to], the last one first, to the end of the list.
func (f *freeList) appendRun(ids []int32, r run) {
	if r.from >= r.to {
		return
	}
	f.room()
	for i := r.to - 1; i >= r.from; i-- {
		*f.slot(f.last) = ids[i]
		f.last++
	}
	f.n += int(r.to - r.from)
	f.insert(f.newRun(r), f.blocks[null].prev)
}

// prependRun frees ids[r.from:r.to], the last one first, to the front of the list.
func (f *freeList) prependRun(ids []int32, r run) {
	if r.from >= r.to {
		return
	}
	f.room()
	for i := r.from; i < r.to; i++ {
		f.first--
		*f.slot(f.first) = ids[i]
	}
	f.n += int(r.to - r.from)
	f.insert(f.newRun(r), null)
}

// next takes blocks of the run at the front, until it is empty or ids is full. It
// returns how many it took, and how many of those had names.
func (f *freeList) next(node int32, ids []int32) (n, named int) {
	r := &f.runs[-node]
	n = min(int(r.to-r.from), len(ids))
	if r.owner == 0 {
		for i := range n {
			ids[i] = f.unused(r) + int32(i)
		}
	} else {
		for i := range n {
			ids[i] = *f.slot(f.first + uint32(i))
		}
		f.first += uint32(n)
	}
	f.n -= n
	named = max(0, int(min(r.full, r.to))-max(int(r.to)-n, 0))
	if r.to -= int32(n); r.to == r.from {
		f.unlink(node)
		f.idle = append(f.idle, -node)
	}
	return n, named
}

// unused is the first block of the run without an owner.
func (f *freeList) unused(r *run) int32 { return int32(len(f.blocks)) - r.to }

// walk calls do for each free block, in order, until it reports false.
func (f *freeList) walk(do func(id int32) bool) {
	at := f.first
	for node := f.blocks[null].next; node != null; node = f.at(node).next {
		if node > 0 {
			if !do(node) {
				return
			}
			continue
		}
		for i := range f.runs[-node].to - f.runs[-node].from {
			id := f.unused(&f.runs[-node]) + i
			if f.runs[-node].owner != 0 {
				id = *f.slot(at)
				at++
			}
			if !do(id) {
				return
			}
		}
	}
}
