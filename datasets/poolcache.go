package datasets

// PoolCache is one prefix cache of bounded size that evicts what was used longest
// ago: what a pool of that many KV blocks would find if all its engines could use
// each other's blocks, or if its router divided the prefixes among them so well that
// no engine lacks room that another one has. It is no bound in the strict sense: an
// order of evictions that knows the future does better.
//
// An item takes the full blocks of its prompt and of its answer, private ones too,
// and finds its leading blocks as in an IdealCache. Its last blocks count as used
// before its first ones, as vLLM frees them, so that a prefix outlives what follows
// it. Items are served one after the other: what requests in flight hold at the same
// time is not taken from the cache.
//
// The cache follows spans, not blocks. A span that is used in part counts as used
// whole, which favours prefixes that are cut short again and again.
type PoolCache struct {
	block    int
	capacity int // blocks
	used     int
	nodes    []node           // 0 is the list's anchor
	at       map[uint64]int32 // shareable spans by prefix and key
	idle     int32            // first of the nodes that can be used again; 0: none
	path     []int32          // of one item
	whole    []Span           // a prompt and its answer
}

// node is a place in the list, most recently used first: a shareable span, or the
// blocks of private content, which nobody finds.
type node struct {
	prev, next int32
	blocks     int
	id         uint64 // of a span
	from, held int32  // tokens before it, and of it
	shared     bool
}

// maxNodes bounds the spans that a PoolCache follows, and with them its memory: about
// 100 megabytes.
const maxNodes = 1 << 20

// NewPoolCache returns an empty cache of capacity blocks of block tokens each for
// items of the set; ok is false if the set does not say which prompts begin alike. It
// panics unless both are positive.
func NewPoolCache(set Set, block, capacity int) (c *PoolCache, ok bool) {
	if block < 1 || capacity < 1 {
		panic("datasets: a pool's cache needs a positive block and capacity")
	}
	if prefixesUnknown(set) {
		return nil, false
	}
	return &PoolCache{block: block, capacity: capacity, nodes: make([]node, 1), at: map[uint64]int32{}}, true
}

// Take is that of IdealCache. ok is false from the item on that would make the cache
// follow more than a million spans at a time.
func (c *PoolCache) Take(it *Item, scope uint64) (tokens int, ok bool) {
	if len(c.at) > maxNodes {
		return 0, false
	}
	var spans []Span
	spans, c.whole = kept(it, c.whole)
	found, from, h := 0, 0, prefixHash(scope)
	unbroken := true
	c.path = c.path[:0]
	for _, s := range spans {
		id := spanHash(h, s.Key)
		i, known := c.at[id]
		if !known {
			i = c.node(node{id: id, from: int32(from), shared: true})
			c.at[id] = i
		}
		n := &c.nodes[i]
		if unbroken {
			found += min(int(n.held), s.Tokens)
			unbroken = int(n.held) >= s.Tokens
		}
		if int(n.held) < s.Tokens {
			n.held = int32(s.Tokens)
		}
		c.path = append(c.path, i)
		from += s.Tokens
		h = behind(id, s.Tokens)
	}
	c.private((it.In+it.Out-1)/c.block - from/c.block)
	for k := len(c.path) - 1; k >= 0; k-- {
		c.use(c.path[k])
	}
	c.evict()
	return credit(found, it.In, c.block), true
}

// private puts blocks that nobody finds at the front.
func (c *PoolCache) private(blocks int) {
	if blocks <= 0 {
		return
	}
	c.used += blocks
	if first := c.nodes[0].next; first != 0 && !c.nodes[first].shared {
		c.nodes[first].blocks += blocks
		return
	}
	c.insert(c.node(node{blocks: blocks}))
}

// use moves the span of a node to the front, with all that is held of it.
func (c *PoolCache) use(i int32) {
	n := &c.nodes[i]
	if n.next != i { // it is in the list
		c.remove(i)
	}
	blocks := int(n.from+n.held)/c.block - int(n.from)/c.block
	c.used += blocks - n.blocks
	n.blocks = blocks
	c.insert(i)
}

// evict frees what was used longest ago until all fits, block by block from the end
// of a span.
func (c *PoolCache) evict() {
	for c.used > c.capacity {
		i := c.nodes[0].prev
		n := &c.nodes[i]
		over := min(c.used-c.capacity, n.blocks)
		n.blocks -= over
		c.used -= over
		if n.shared && over > 0 {
			n.held = int32((int(n.from)/c.block+n.blocks)*c.block) - n.from
		}
		if n.blocks > 0 {
			continue
		}
		if n.shared {
			delete(c.at, n.id)
		}
		c.remove(i)
		*n = node{next: c.idle}
		c.idle = i
	}
}

// node makes a node that is in no list yet.
func (c *PoolCache) node(n node) int32 {
	i := c.idle
	if i != 0 {
		c.idle = c.nodes[i].next
	} else {
		i = int32(len(c.nodes))
		c.nodes = append(c.nodes, node{})
	}
	n.prev, n.next = i, i
	c.nodes[i] = n
	return i
}

func (c *PoolCache) insert(i int32) {
	first := c.nodes[0].next
	c.nodes[i].prev, c.nodes[i].next = 0, first
	c.nodes[first].prev, c.nodes[0].next = i, i
}

// remove takes a node out of the list. Private blocks that become neighbours are one:
// so the list is at most twice as long as there are shareable spans.
func (c *PoolCache) remove(i int32) {
	prev, next := c.nodes[i].prev, c.nodes[i].next
	c.nodes[prev].next, c.nodes[next].prev = next, prev
	a, b := &c.nodes[prev], &c.nodes[next]
	if prev == 0 || next == 0 || a.shared || b.shared {
		return
	}
	b.blocks += a.blocks
	before := a.prev
	c.nodes[before].next, b.prev = next, before
	*a = node{next: c.idle}
	c.idle = prev
}
