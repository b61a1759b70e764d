package kv

import "slices"

// Table is the list of blocks of one sequence, in order of its tokens. The
// zero value is closed. Use it from Pool.Open to Pool.Close; do not copy it in
// between.
type Table struct {
	// ids are the blocks: the first held ones are referenced. Later entries are
	// where the content was before a preemption, and tell where to look for it.
	ids  []int32
	held int
	// room is the capacity of the held blocks in tokens.
	room int
	// full is the number of leading blocks that have their names, and ready the
	// number of tokens at which the next one is complete.
	full, ready int
	// hashes names the leading blocks that other sequences may share.
	hashes []uint64
	owner  uint64
}

// Held is the number of blocks that the sequence references.
func (t *Table) Held() int { return t.held }

// Named is the number of leading blocks that are full and have their names.
func (t *Table) Named() int { return t.full }

// Private reports whether no block that is still to be named has a name that other
// sequences share.
func (t *Table) Private() bool { return t.full >= len(t.hashes) }

// maxTable bounds the blocks of one table, so that an owner and a position fit
// into one private name.
const maxTable = 1 << 24

// Open starts a table. hashes names the leading full blocks that can be shared
// with other sequences; it is read until Close.
func (p *Pool) Open(t *Table, hashes []uint64) {
	p.owners++
	*t = Table{hashes: hashes, owner: p.owners, ready: p.size}
	if n := len(p.spare); n > 0 {
		t.ids, p.spare = p.spare[n-1], p.spare[:n-1]
	}
}

// Match returns the number of leading blocks whose content is in the cache: the
// longest unbroken chain of full blocks within tokens-1, so that at least one
// token is left to compute (R10). It changes no reference and no order.
func (p *Pool) Match(t *Table, tokens int) int {
	if !p.caching {
		return 0
	}
	limit := (tokens - 1) / p.size
	n := 0
	id := int32(null)
	for n < limit && n < len(t.hashes) {
		var ok bool
		id, ok = p.find(id, t.hashes[n])
		switch {
		case !ok && (n >= len(t.ids) || !p.named(t.ids[n], shared, t.hashes[n])):
			return n
		case !ok: // the name went with another copy; this one is still there
		case n < len(t.ids):
			t.ids[n] = id
		default:
			t.ids = append(t.ids, id)
		}
		n++
	}
	for n < limit && n < len(t.ids) && p.named(t.ids[n], private, t.name(n)) {
		n++
	}
	return n
}

// find is the index, with a guess: the block is the child of the one before.
func (p *Pool) find(before int32, name uint64) (id int32, ok bool) {
	id = p.blocks[before].child
	if b := &p.blocks[id]; id != null && b.found && p.named(id, shared, name) {
		return id, true
	}
	id, ok = p.index[name]
	return id, ok
}

// Find returns what Match would for a sequence without a table: the number of
// leading blocks of these names that are in the cache, within tokens-1.
func (p *Pool) Find(hashes []uint64, tokens int) int {
	limit := min((tokens-1)/p.size, len(hashes))
	n, id, ok := 0, int32(null), false
	for n < limit {
		if id, ok = p.find(id, hashes[n]); !ok {
			break
		}
		n++
	}
	return n
}

// name is what block i of the sequence is called if nobody else can share it.
func (t *Table) name(i int) uint64 { return privateName(t.owner, i) }

func privateName(owner uint64, i int) uint64 { return owner*maxTable + uint64(i) }

// shared is the number of leading blocks that carry names which others share.
func (t *Table) shared() int { return min(t.full, len(t.hashes)) }

// Admission is what Admit needs to know. Reserve is the number of tokens that
// must fit if the sequence is to come in at all, Tokens the number for which
// blocks are taken now, Spare the number of blocks that must stay free
// besides.
type Admission struct {
	Hit             int // blocks, as Match returned
	Reserve, Tokens int
	Spare           int // blocks
}

// Admit references the hit blocks and takes new ones for the rest of a.Tokens,
// or changes nothing and returns false (R12, R13). A hit block that nobody
// holds leaves the free list, so it counts like a new one.
func (p *Pool) Admit(t *Table, a Admission) bool {
	need := p.Blocks(max(a.Reserve, a.Tokens)) - a.Hit + a.Spare
	if need > p.n {
		return false
	}
	for _, id := range t.ids[:a.Hit] {
		if p.blocks[id].refs == 0 {
			need++
		}
	}
	if need > p.n {
		return false
	}
	for _, id := range t.ids[:a.Hit] {
		p.touch(id)
	}
	t.held, t.full = a.Hit, a.Hit
	t.room, t.ready = a.Hit*p.size, (a.Hit+1)*p.size
	return p.Grow(t, a.Tokens)
}

// Query counts a look-up of tokens tokens that found hit blocks (R14).
func (p *Pool) Query(tokens, hit int) {
	if p.caching {
		p.counters.Queries += int64(tokens)
		p.counters.Hits += int64(hit * p.size)
	}
}

// Grow makes room for tokens tokens in all, or changes nothing and returns
// false (R13).
func (p *Pool) Grow(t *Table, tokens int) bool {
	return tokens <= t.room || p.extend(t, tokens)
}

func (p *Pool) extend(t *Table, tokens int) bool {
	want := p.Blocks(tokens)
	if want-t.held > p.n {
		return false
	}
	if want > len(t.ids) {
		t.ids = slices.Grow(t.ids, want-len(t.ids))[:want]
	}
	p.take(t.ids[t.held:want])
	t.held = want
	t.room = want * p.size
	return true
}

// Fill says that the first tokens tokens have their place and content, and
// names the blocks that this completes (R19, R20). Blocks of equal name may
// coexist; the index keeps the newest.
func (p *Pool) Fill(t *Table, tokens int) {
	if tokens >= t.ready && p.caching {
		p.register(t, tokens)
	}
}

func (p *Pool) register(t *Table, tokens int) {
	full := tokens / p.size
	if p.host != nil {
		for i := t.full; i < full; i++ {
			p.host.fresh = append(p.host.fresh, t.content(i))
		}
	}
	for i := t.full; i < min(full, len(t.hashes)); i++ {
		id := t.ids[i]
		b := &p.blocks[id]
		b.kind, b.name, b.refs, b.found = shared, t.hashes[i], 1, true
		if older, ok := p.index[b.name]; ok && older != id {
			p.blocks[older].found = false
		}
		p.index[b.name] = id
		if i > 0 {
			p.blocks[t.ids[i-1]].child = id
		}
	}
	// A private name is written down only when somebody could ask for it.
	t.full, t.ready = full, (full+1)*p.size
}

// Release drops the references, last block first, so that the head of a
// sequence is evicted after its tail (R18). The table remembers the blocks and
// can be admitted again.
func (p *Pool) Release(t *Table) {
	for i := t.shared(); i < t.held; i++ {
		b := &p.blocks[t.ids[i]]
		b.kind, b.refs = unnamed, 1
		if i < t.full {
			b.kind, b.name = private, t.name(i)
		}
	}
	p.release(t.ids[:t.held])
	t.held, t.room, t.full, t.ready = 0, 0, 0, p.size
}

// Close releases the table for good: nobody will ask for its private blocks.
func (p *Pool) Close(t *Table) {
	if p.headFirst {
		p.Release(t)
	} else {
		held, named := int32(t.held), int32(max(t.full, t.shared()))
		private := run{from: int32(t.shared()), to: held, full: named, owner: t.owner}
		if p.unnamedFirst {
			private.to = named
			p.prependRun(t.ids, run{from: named, to: held, owner: t.owner})
		}
		p.appendRun(t.ids, private)
		p.release(t.ids[:t.shared()])
	}
	if t.ids != nil {
		p.spare = append(p.spare, t.ids[:0])
	}
	*t = Table{}
}
