package clock

// Deadlines is one kind of timeout for many things at once, on the loop's
// goroutine. They stand in a list in order of time, which is usually that of
// adding, so that adding and removing take constant time. Only the first one is
// an event of the loop: its queue never grows with what is watched, however far
// off the deadlines are. The zero value must be set up by Init.
type Deadlines struct {
	loop  Loop
	id    uint64
	root  Deadline // of the ring; its next is the first
	armed Time     // the earliest event in the loop, or Never
}

// Deadline is a place in a list of Deadlines; the zero value is in none.
type Deadline struct {
	at         Time
	who        Expirer
	prev, next *Deadline
}

// Expirer hears of its deadline. id is that of the Deadlines, for those that have
// several.
type Expirer interface {
	Expire(id uint64)
}

var _ Event = (*Deadlines)(nil)

// Init empties the list. id tells this kind of timeout from others of the loop.
func (d *Deadlines) Init(loop Loop, id uint64) {
	d.loop, d.id, d.armed = loop, id, Never
	d.root.prev, d.root.next = &d.root, &d.root
}

// Add watches t, which must not be in a list, until it is removed or who hears
// of it at the given instant.
func (d *Deadlines) Add(t *Deadline, at Time, who Expirer) {
	t.who, t.at = who, at
	p := d.root.prev
	for p != &d.root && p.at > t.at {
		p = p.prev
	}
	t.prev, t.next = p, p.next
	p.next.prev = t
	p.next = t
	d.arm()
}

// Remove takes t off the list; it does nothing if t is in none.
func (d *Deadlines) Remove(t *Deadline) {
	if t.next == nil {
		return
	}
	t.prev.next, t.next.prev = t.next, t.prev
	*t = Deadline{}
}

// Empty reports whether nothing is watched.
func (d *Deadlines) Empty() bool { return d.root.next == &d.root }

// arm makes sure that the loop fires no later than the first deadline. An event
// whose deadline was removed fires for nothing and arms the next one.
func (d *Deadlines) arm() {
	first := d.root.next
	if first == &d.root || d.armed.Known() && d.armed <= first.at {
		return
	}
	d.armed = first.at
	d.loop.At(first.at, RankDeadline, d)
}

// Fire tells those whose deadline has come.
func (d *Deadlines) Fire(now Time) {
	for t := d.root.next; t != &d.root && t.at <= now; t = d.root.next {
		who := t.who
		d.Remove(t)
		who.Expire(d.id)
	}
	if d.armed <= now {
		d.armed = Never
	}
	d.arm()
}

// Entity tells the kinds of timeout apart.
func (d *Deadlines) Entity() uint64 { return d.id }
