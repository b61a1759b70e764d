package engine

// queue is the waiting sequences. Under FCFS they are a list: new ones come to
// its end, preempted ones to its front. Under Priority the first one is the
// smallest by priority, arrival and ID, and a preempted one finds its place
// again by that rule.
type queue struct {
	list
	byPriority bool
	// newest and oldest are the last turns that were given at the end and at the
	// front.
	newest, oldest int64
	// heap holds the list's members if byPriority: a binary heap.
	heap []*Seq
}

// first is the sequence that is admitted next, or nil.
func (q *queue) first() *Seq {
	if !q.byPriority {
		return q.head
	}
	if len(q.heap) == 0 {
		return nil
	}
	return q.heap[0]
}

// add puts a new sequence into the queue.
func (q *queue) add(s *Seq) {
	q.newest++
	s.sched.turn = q.newest
	q.list.pushBack(s)
	q.push(s)
}

// giveBack puts a preempted sequence into the queue.
func (q *queue) giveBack(s *Seq) {
	q.oldest--
	s.sched.turn = q.oldest
	q.list.pushFront(s)
	q.push(s)
}

// restore puts a sequence that was taken out back to its turn, which is near the
// front: only those that are not blocked pass it.
func (q *queue) restore(s *Seq) {
	var after *Seq
	for at := q.head; at != nil && at.sched.turn < s.sched.turn; at = at.sched.next {
		after = at
	}
	q.list.insertAfter(after, s)
	q.push(s)
}

func (q *queue) remove(s *Seq) {
	q.list.remove(s)
	if !q.byPriority {
		return
	}
	last := len(q.heap) - 1
	at, moved := s.sched.place, q.heap[last]
	q.heap[last] = nil
	q.heap = q.heap[:last]
	if moved != s {
		q.put(at, moved)
		q.down(at)
		q.up(moved.sched.place)
	}
}

func (q *queue) push(s *Seq) {
	if q.byPriority {
		q.heap = append(q.heap, s)
		q.put(len(q.heap)-1, s)
		q.up(len(q.heap) - 1)
	}
}

func (q *queue) put(i int, s *Seq) { q.heap[i], s.sched.place = s, i }

func (q *queue) up(i int) {
	for s := q.heap[i]; i > 0; {
		parent := (i - 1) / 2
		if !before(s, q.heap[parent]) {
			return
		}
		q.put(i, q.heap[parent])
		q.put(parent, s)
		i = parent
	}
}

func (q *queue) down(i int) {
	for s := q.heap[i]; ; {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if right := child + 1; right < len(q.heap) && before(q.heap[right], q.heap[child]) {
			child = right
		}
		if !before(q.heap[child], s) {
			return
		}
		q.put(i, q.heap[child])
		q.put(child, s)
		i = child
	}
}

// before is the order of the priority policy. Among arrivals of one instant ID
// decides: with the order of admission instead, as in vLLM, whose arrivals never
// tie, such sequences could preempt each other for ever.
func before(a, b *Seq) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	if a.Arrival != b.Arrival {
		return a.Arrival < b.Arrival
	}
	return a.ID < b.ID
}

// victim is the running sequence to preempt: the newest one, or, under Priority,
// the last one by its order (R6).
func (e *Engine) victim() *Seq {
	if e.cfg.Policy != Priority {
		return e.running.tail
	}
	last := e.running.head
	for s := last.sched.next; s != nil; s = s.sched.next {
		if before(last, s) {
			last = s
		}
	}
	return last
}
