package kv

import "fmt"

// Check verifies the pool's account against every open table: free, held and
// cached blocks add up to the whole, links and index are consistent, reference
// counts match the tables, and no block has two owners unless it carries a
// shared name. It is for tests; its cost is linear in the pool.
func (p *Pool) Check(tables []*Table) error {
	refs := make([]int32, len(p.blocks))
	for n, t := range tables {
		if t.held > len(t.ids) || t.room != t.held*p.size {
			return fmt.Errorf("table %d: holds %d of %d blocks with room for %d tokens", n, t.held, len(t.ids), t.room)
		}
		for i, id := range t.ids[:t.held] {
			refs[id]++
			if refs[id] > 1 && p.blocks[id].kind != shared {
				return fmt.Errorf("block %d: held twice without a shared name (table %d, position %d)", id, n, i)
			}
		}
	}
	if refs[null] != 0 {
		return fmt.Errorf("the null block is held")
	}
	for id := range p.blocks {
		b := &p.blocks[id]
		if b.refs != refs[id] {
			return fmt.Errorf("block %d: %d references counted, %d held by tables", id, b.refs, refs[id])
		}
	}
	if err := p.checkFree(refs); err != nil {
		return err
	}
	if p.host != nil {
		if err := p.host.check(); err != nil {
			return err
		}
	}
	for name, id := range p.index {
		if !p.named(id, shared, name) {
			return fmt.Errorf("index: block %d does not carry name %#x", id, name)
		}
	}
	return nil
}

func (p *Pool) checkFree(refs []int32) error {
	free, at := 0, int32(null)
	for {
		next := p.blocks[at].next
		if p.blocks[next].prev != at {
			return fmt.Errorf("free list: block %d follows %d but does not link back", next, at)
		}
		if at = next; at == null {
			break
		}
		if refs[at] != 0 {
			return fmt.Errorf("free list: block %d is held", at)
		}
		if free++; free > len(p.blocks) {
			return fmt.Errorf("free list: it does not end")
		}
	}
	held := 0
	for _, r := range refs {
		if r > 0 {
			held++
		}
	}
	if free != p.free || free+held != p.Usable() {
		return fmt.Errorf("free list: %d blocks, counter %d, held %d of %d", free, p.free, held, p.Usable())
	}
	return nil
}

// Watch calls f for each block that is handed out, in order, with the name that
// it loses; 0: none. It is for tests.
func (p *Pool) Watch(f func(id int32, name uint64)) { p.watch = f }
