package kv

import "fmt"

// Check verifies the pool's account against every open table: free, held and
// cached blocks add up to the whole, links and index are consistent, reference
// counts match the tables, and no block has two owners unless it carries a
// shared name. It is for tests; its cost is linear in the pool.
func (p *Pool) Check(tables []*Table) error {
	refs := make([]int32, len(p.blocks))
	for n, t := range tables {
		if t.held > len(t.ids) || t.full > t.held || t.room != t.held*p.size {
			return fmt.Errorf("table %d: holds %d of %d blocks, %d of them full, with room for %d tokens", n, t.held, len(t.ids), t.full, t.room)
		}
		for i, id := range t.ids[:t.held] {
			if refs[id]++; i < t.shared() {
				if b := &p.blocks[id]; b.kind != shared {
					return fmt.Errorf("block %d: full and without its shared name (table %d, position %d)", id, n, i)
				}
			} else if refs[id] > 1 {
				return fmt.Errorf("block %d: held twice without a shared name (table %d, position %d)", id, n, i)
			}
		}
	}
	for n, t := range tables {
		for _, id := range t.ids[:t.shared()] {
			if b := &p.blocks[id]; b.refs != refs[id] {
				return fmt.Errorf("block %d: %d references counted, %d held by tables (table %d)", id, b.refs, refs[id], n)
			}
		}
	}
	if refs[null] != 0 {
		return fmt.Errorf("the null block is held")
	}
	if err := p.checkFree(refs); err != nil {
		return err
	}
	if p.host != nil {
		if err := p.host.check(); err != nil {
			return err
		}
	}
	for id := range p.blocks {
		if b := &p.blocks[id]; b.kind == shared && b.found && p.index[b.name] != int32(id) {
			return fmt.Errorf("index: block %d is not found by its name %#x", id, b.name)
		}
	}
	for name, id := range p.index {
		if !p.named(id, shared, name) || !p.blocks[id].found {
			return fmt.Errorf("index: block %d does not carry name %#x", id, name)
		}
	}
	return nil
}

func (p *Pool) checkFree(refs []int32) error {
	prev := int32(null)
	for node, n := p.blocks[null].next, 0; ; node, n = p.at(node).next, n+1 {
		if p.at(node).prev != prev {
			return fmt.Errorf("free list: node %d follows %d but does not link back", node, prev)
		}
		if node > 0 && p.blocks[node].refs != 0 {
			return fmt.Errorf("free list: block %d has %d references", node, p.blocks[node].refs)
		}
		if prev = node; node == null {
			break
		}
		if n > len(p.blocks) {
			return fmt.Errorf("free list: it does not end")
		}
	}
	free, held, bad := 0, 0, int32(null)
	p.walk(func(id int32) bool {
		if refs[id] != 0 {
			bad = id
			return false
		}
		refs[id] = -1
		free++
		return true
	})
	if bad != null {
		return fmt.Errorf("free list: block %d is held or free twice", bad)
	}
	for _, r := range refs {
		if r > 0 {
			held++
		}
	}
	if free != p.n || free+held != p.Usable() {
		return fmt.Errorf("free list: %d blocks, counter %d, held %d of %d", free, p.n, held, p.Usable())
	}
	return nil
}

// Watch calls f for each block that is handed out, in order, with the name that
// it loses; 0: none. It is for tests.
func (p *Pool) Watch(f func(id int32, name uint64)) { p.watch = f }
