package router

import "slices"

// tree remembers which replicas were sent which prompts: a node for each block, known
// by its chained hash, with the replicas that had it (a radix tree over characters at
// SGLang; blocks are the finest that a policy sees here).
type tree struct {
	nodes map[uint64]*treeNode
	clock uint64
	size  table[int] // blocks under each replica
}

type treeNode struct {
	parent  uint64 // the root's is 0
	tenants []tenant
	last    int32 // the tenant that was returned last
}

// tenant is a replica with the logical time at which a prompt ended in its node; 0
// for the nodes on the way, and the number of nodes below that it has.
type tenant struct {
	id, below int32
	clock     uint64
}

func (n *treeNode) find(id int) int {
	return slices.IndexFunc(n.tenants, func(t tenant) bool { return int(t.id) == id })
}

// insert puts a prompt under a replica.
func (t *tree) insert(prefix []uint64, id int) {
	if t.nodes == nil {
		t.nodes = make(map[uint64]*treeNode)
	}
	t.clock++
	parent := uint64(0)
	for i, hash := range prefix {
		n := t.nodes[hash]
		if n == nil {
			n = &treeNode{parent: parent, last: int32(id)}
			t.nodes[hash] = n
		}
		at := n.find(id)
		if at < 0 {
			at = len(n.tenants)
			n.tenants = append(n.tenants, tenant{id: int32(id)})
			*t.size.at(id)++
			if i > 0 {
				above := t.nodes[parent]
				above.tenants[above.find(id)].below++
			}
		}
		if i == len(prefix)-1 {
			n.tenants[at].clock = t.clock
		}
		parent = hash
	}
}

// match walks down a prompt and returns how many blocks are known, and the node of
// the last one; nil: none is.
func (t *tree) match(prefix []uint64) (blocks int, n *treeNode) {
	for _, hash := range prefix {
		next := t.nodes[hash]
		if next == nil {
			return blocks, n
		}
		blocks, n = blocks+1, next
	}
	return blocks, n
}

// evict takes a replica's oldest leaves out until it has at most so many blocks.
func (t *tree) evict(id, most int) {
	for *t.size.at(id) > most {
		var leaves []uint64
		for hash, n := range t.nodes {
			if at := n.find(id); at >= 0 && n.tenants[at].below == 0 {
				leaves = append(leaves, hash)
			}
		}
		slices.SortFunc(leaves, func(a, b uint64) int { // in an order that no map decides
			ca, cb := t.clockOf(a, id), t.clockOf(b, id)
			switch {
			case ca < cb || ca == cb && a < b:
				return -1
			case ca == cb && a == b:
				return 0
			}
			return 1
		})
		if len(leaves) == 0 {
			return
		}
		for _, hash := range leaves {
			if *t.size.at(id) <= most {
				return
			}
			t.drop(hash, id)
		}
	}
}

func (t *tree) clockOf(hash uint64, id int) uint64 {
	n := t.nodes[hash]
	return n.tenants[n.find(id)].clock
}

// drop takes one block from a replica.
func (t *tree) drop(hash uint64, id int) {
	n := t.nodes[hash]
	at := n.find(id)
	n.tenants = slices.Delete(n.tenants, at, at+1)
	*t.size.at(id)--
	if above := t.nodes[n.parent]; above != nil {
		if at := above.find(id); at >= 0 {
			above.tenants[at].below--
		}
	}
	if len(n.tenants) == 0 {
		delete(t.nodes, hash)
	}
}
