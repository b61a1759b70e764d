package kv

import "fmt"

// A block is unnamed until its last token is computed. A full block is named by
// its content: shared names are in the prefix index, private ones mean
// something only to the sequence that filled the block.
const (
	unnamed uint8 = iota
	private
	shared
)

// null is the block that padding refers to. It is taken out at the start and
// never returned, so its links serve as the free list's ends.
const null = 0

// Counters are running totals. Queries and Hits are in tokens, as
// vllm:prefix_cache_queries and vllm:prefix_cache_hits count them; Evictions
// counts named blocks that were handed out for other content.
type Counters struct {
	Queries, Hits, Evictions int64
}

// Config is the shape and the habits of a pool.
type Config struct {
	// Blocks counts the null block; BlockSize is in tokens.
	Blocks, BlockSize int
	// Caching: full blocks are found again by their content.
	Caching bool
	// UnnamedFirst: blocks without a name go to the front of the free list, since
	// nothing is lost with them. vLLM up to 0.19 puts them to the back like all
	// others (R18).
	UnnamedFirst bool
	// HeadFirst frees the head of a sequence before its tail, so that a prefix is
	// evicted at the end that others could share. No engine should; it shows what
	// the order is worth.
	HeadFirst bool
	// HostBlocks is the number of blocks in host memory; 0: there is no such tier.
	// It needs Caching.
	HostBlocks int
}

// Pool is the block account of one engine.
type Pool struct {
	freeList
	size int // tokens in a block
	// index maps the name of a shared full block to the block that took the name
	// last; other blocks of the same name may exist, and are not found.
	index   map[uint64]int32
	caching bool
	// unnamedFirst and headFirst are as in Config.
	unnamedFirst, headFirst bool

	host *Host // nil: none

	owners   uint64
	spare    [][]int32 // backing arrays of closed tables
	counters Counters
	watch    func(id int32, name uint64) // nil but in tests
}

// New makes an empty pool. Without caching no block is ever found again.
func New(c Config) (*Pool, error) {
	if c.Blocks < 2 || c.Blocks > 1<<31-1 {
		return nil, fmt.Errorf("kv pool of %d blocks: need between 2 (one is the null block) and %d", c.Blocks, 1<<31-1)
	}
	if c.BlockSize < 1 {
		return nil, fmt.Errorf("kv block size of %d tokens: need at least 1, usually 16", c.BlockSize)
	}
	p := &Pool{
		size: c.BlockSize, caching: c.Caching, unnamedFirst: c.UnnamedFirst, headFirst: c.HeadFirst,
	}
	var err error
	if p.host, err = newHost(c.HostBlocks); err != nil {
		return nil, fmt.Errorf("kv pool: %w", err)
	}
	if p.host != nil && !c.Caching {
		return nil, fmt.Errorf("kv pool of %d blocks in host memory: they are found by content, which needs caching", c.HostBlocks)
	}
	if c.Caching {
		p.index = make(map[uint64]int32)
	}
	p.init(c.Blocks)
	return p, nil
}

// Usable is the number of blocks that sequences can hold: all but the null
// block (R2).
func (p *Pool) Usable() int { return len(p.blocks) - 1 }

// Free is the number of blocks that no sequence holds. Blocks with cached
// content count as free.
func (p *Pool) Free() int { return p.n }

// Used is the fraction of usable blocks that sequences hold, 0 to 1 (R2).
func (p *Pool) Used() float64 { return 1 - float64(p.n)/float64(len(p.blocks)-1) }

// Counters returns the totals so far.
func (p *Pool) Counters() Counters { return p.counters }

// Blocks is the number of blocks that hold the given number of tokens.
func (p *Pool) Blocks(tokens int) int { return (tokens + p.size - 1) / p.size }

// take hands out the least recently used free blocks, as many as ids has places
// for, forgetting their content (R16).
func (p *Pool) take(ids []int32) {
	for len(ids) > 0 {
		node := p.blocks[null].next
		if node < 0 && p.watch == nil {
			n, named := p.next(node, ids)
			p.counters.Evictions += int64(named)
			ids = ids[n:]
			continue
		}
		ids[0] = p.takeOne(node)
		ids = ids[1:]
	}
}

// takeOne takes the first block of the first node, and tells.
func (p *Pool) takeOne(node int32) int32 {
	id := [1]int32{node}
	var named bool
	var name uint64
	if node < 0 {
		r := p.runs[-node]
		named, name = r.to <= r.full, privateName(r.owner, int(r.to)-1)
		p.next(node, id[:])
	} else {
		named, name = p.forget(node)
	}
	if named {
		p.counters.Evictions++
	} else {
		name = 0
	}
	if p.watch != nil {
		p.watch(id[0], name)
	}
	return id[0]
}

// forget takes a block that is a node of its own, and returns the name that it
// had.
func (p *Pool) forget(id int32) (named bool, name uint64) {
	p.unlink(id)
	p.n--
	b := &p.blocks[id]
	named, name = b.kind != unnamed, b.name
	if b.kind == shared && b.found {
		delete(p.index, name)
	}
	b.kind = unnamed
	return named, name
}

// touch adds a reference to a block that was found by name (R17).
func (p *Pool) touch(id int32) {
	b := &p.blocks[id]
	if b.refs == 0 {
		p.unlink(id)
		p.n--
	}
	b.refs++
}

// drop takes one reference away; the last one puts the block, its content
// intact, into the free list behind the node after. The null block stands for
// the front (R18).
func (p *Pool) drop(id, after int32) (freed bool) {
	b := &p.blocks[id]
	b.refs--
	if b.refs > 0 {
		return false
	}
	p.insert(id, after)
	p.n++
	return true
}

// release drops ids, last first unless the pool is headFirst. Unnamed blocks may
// go to the front, in the same order.
func (p *Pool) release(ids []int32) {
	front := int32(null)
	for i := range ids {
		id := ids[len(ids)-1-i]
		if p.headFirst {
			id = ids[i]
		}
		switch {
		case !p.unnamedFirst || p.blocks[id].kind != unnamed:
			p.drop(id, p.blocks[null].prev)
		case p.drop(id, front):
			front = id
		}
	}
}

// Reset forgets all cached content. It succeeds only while no sequence holds a
// block (R21).
func (p *Pool) Reset() bool {
	if p.n != p.Usable() {
		return false
	}
	for i := range p.blocks {
		p.blocks[i].kind = unnamed
	}
	for i := range p.runs {
		p.runs[i].full = 0
	}
	clear(p.index)
	return true
}

// named reports whether block id carries the given name.
func (p *Pool) named(id int32, kind uint8, name uint64) bool {
	b := &p.blocks[id]
	return b.kind == kind && b.name == name
}
