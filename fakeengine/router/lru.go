package router

// lru is a set of at most so many hashes, of which the least recently put in is
// dropped first.
type lru struct {
	most  int
	at    map[uint64]int32
	nodes []lruNode // linked from the newest to the oldest; node 0 is both ends
}

type lruNode struct {
	hash       uint64
	prev, next int32
}

// put makes a hash the newest one.
func (l *lru) put(hash uint64) {
	if l.at == nil {
		l.at, l.nodes = make(map[uint64]int32), append(l.nodes[:0], lruNode{})
	}
	i, ok := l.at[hash]
	switch {
	case ok:
		l.unlink(i)
	case len(l.at) < l.most:
		i = int32(len(l.nodes))
		l.nodes = append(l.nodes, lruNode{})
	default:
		i = l.nodes[0].prev
		l.unlink(i)
		delete(l.at, l.nodes[i].hash)
	}
	first := l.nodes[0].next
	l.nodes[i] = lruNode{hash, 0, first}
	l.nodes[first].prev = i
	l.nodes[0].next = i
	l.at[hash] = i
}

func (l *lru) unlink(i int32) {
	n := l.nodes[i]
	l.nodes[n.prev].next = n.next
	l.nodes[n.next].prev = n.prev
}

// has reports whether a hash is in the set.
func (l *lru) has(hash uint64) bool {
	_, ok := l.at[hash]
	return ok
}

// approximate is a router's own guess of what replicas have cached: the blocks of
// prompts that it sent there, of each replica in an LRU of so many blocks. Engines
// do not correct it.
//
// Upstream, the llm-d router's approx-prefix-cache-producer, counts every block that
// a replica has up to the first one that nobody has, so that a replica without the
// first block still scores; and it puts blocks in from the first to the last, so that
// one too many drops the beginning of a prompt, on which all the rest depends. Fixed,
// only blocks without a gap count, and the last block is dropped first.
type approximate struct {
	most   int
	stride int // blocks of the prompt that make one of the index
	fixed  bool
	of     table[lru]
	counts []int // scratch
	alive  []bool
}

// blocks is the number of blocks of a prompt in the index.
func (x *approximate) blocks(r *Request) int { return len(r.Prefix) / x.stride }

func (x *approximate) block(r *Request, i int) uint64 { return r.Prefix[(i+1)*x.stride-1] }

// match counts the blocks of r that each of up holds.
func (x *approximate) match(r *Request, up []Load) []int {
	x.counts, x.alive = x.counts[:0], x.alive[:0]
	for range up {
		x.counts, x.alive = append(x.counts, 0), append(x.alive, true)
	}
	for b := range x.blocks(r) {
		hash, any := x.block(r, b), false
		for i := range up {
			switch {
			case x.fixed && !x.alive[i]:
			case x.of.at(up[i].ID).has(hash):
				x.counts[i]++
				any = true
			default:
				x.alive[i] = false
			}
		}
		if !any {
			break
		}
	}
	return x.counts
}

// placed notes that a replica will have the blocks of r.
func (x *approximate) placed(r *Request, id int) {
	l := x.of.at(id)
	l.most = x.most
	n := x.blocks(r)
	for i := range n {
		b := i
		if x.fixed {
			b = n - 1 - i
		}
		l.put(x.block(r, b))
	}
}
