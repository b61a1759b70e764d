package clock

// item is a pending event with its key. The key is read once, when the event is
// added, so that an event whose entity changes cannot break the order.
type item struct {
	at     Time
	entity uint64
	seq    uint64 // order of adding: the last tie-break
	event  Event
	rank   Rank
}

func (a *item) before(b *item) bool {
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.rank != b.rank:
		return a.rank < b.rank
	case a.entity != b.entity:
		return a.entity < b.entity
	}
	return a.seq < b.seq
}

// mark is the last place, in the order of events, that a loop has come to.
type mark struct {
	at     Time
	rank   Rank
	entity uint64
	behind bool // an event fired since
}

// reach moves the mark to x. An event that was added for an instant after later
// ones of that instant had fired does not move it back.
func (m *mark) reach(x *item) {
	m.behind = x.at == m.at && !m.before(x.rank, x.entity)
	if !m.behind {
		m.at, m.rank, m.entity = x.at, x.rank, x.entity
	}
}

// before reports whether the mark is before a rank and entity of its instant.
func (m *mark) before(r Rank, entity uint64) bool {
	return m.rank < r || m.rank == r && m.entity < entity
}

// passed reports whether the mark is behind a place.
func (m *mark) passed(t Time, r Rank, entity uint64) bool {
	return t < m.at || t == m.at && (r < m.rank || r == m.rank && (entity < m.entity || entity == m.entity && m.behind))
}

// queue holds pending events in a 4-ary min-heap of values: the children of i are
// 4i+1 to 4i+4. Four children make the tree half as deep as two do, and lie next
// to each other in memory. It allocates only to grow.
type queue struct {
	items []item
	added uint64
}

func (q *queue) push(t Time, r Rank, e Event) {
	x := item{at: t, rank: r, entity: e.Entity(), seq: q.added, event: e}
	q.added++
	q.items = append(q.items, x)
	i := len(q.items) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !x.before(&q.items[parent]) {
			break
		}
		q.items[i] = q.items[parent]
		i = parent
	}
	q.items[i] = x
}

// pop removes the first event and moves m to it. The queue must not be empty.
func (q *queue) pop(m *mark) (Time, Event) {
	first := q.items[0]
	m.reach(&first)
	n := len(q.items) - 1
	x := q.items[n]
	q.items[n] = item{} // lets the event be collected
	q.items = q.items[:n]
	if n > 0 {
		q.sink(&x)
	}
	return first.at, first.event
}

// sink puts x into the hole at the root, and moves smaller items up.
func (q *queue) sink(x *item) {
	items := q.items
	i := 0
	for {
		child := 4*i + 1
		if child >= len(items) {
			break
		}
		least := child
		for j := child + 1; j < min(child+4, len(items)); j++ {
			if items[j].before(&items[least]) {
				least = j
			}
		}
		if !items[least].before(x) {
			break
		}
		items[i] = items[least]
		i = least
	}
	items[i] = *x
}
