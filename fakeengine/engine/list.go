package engine

// list is a doubly linked list through the sequences themselves. A sequence is
// in at most one list.
type list struct {
	head, tail *Seq
	n          int
}

func (l *list) pushBack(s *Seq) {
	s.sched.in, s.sched.prev, s.sched.next = l, l.tail, nil
	if l.tail == nil {
		l.head = s
	} else {
		l.tail.sched.next = s
	}
	l.tail = s
	l.n++
}

func (l *list) pushFront(s *Seq) {
	s.sched.in, s.sched.prev, s.sched.next = l, nil, l.head
	if l.head == nil {
		l.tail = s
	} else {
		l.head.sched.prev = s
	}
	l.head = s
	l.n++
}

// insertAfter puts s behind at; a nil at means in front.
func (l *list) insertAfter(at, s *Seq) {
	if at == nil {
		l.pushFront(s)
		return
	}
	if at == l.tail {
		l.pushBack(s)
		return
	}
	after := at.sched.next
	s.sched.in, s.sched.prev, s.sched.next = l, at, after
	at.sched.next, after.sched.prev = s, s
	l.n++
}

func (l *list) remove(s *Seq) {
	prev, next := s.sched.prev, s.sched.next
	if prev == nil {
		l.head = next
	} else {
		prev.sched.next = next
	}
	if next == nil {
		l.tail = prev
	} else {
		next.sched.prev = prev
	}
	s.sched.in, s.sched.prev, s.sched.next = nil, nil, nil
	l.n--
}
