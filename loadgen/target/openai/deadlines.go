package openai

import (
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// deadlines is one kind of timeout for all live attempts, on the loop's
// goroutine. The attempts stand in a list by deadline, which is the order of
// starting unless a request comes late, and an ended attempt leaves it at once.
// Only the first deadline is an event of the loop: the loop's queue never holds
// an attempt, however far off its timeout is.
type deadlines struct {
	loop  clock.Loop
	after time.Duration // 0: no timeout
	cause target.Cause
	root  deadline   // of the ring; its next is the first
	armed clock.Time // the earliest event in the loop, or Never
}

// deadline is one attempt's place in the list; the zero value is in none.
type deadline struct {
	at         clock.Time
	a          *attempt
	prev, next *deadline
}

var _ clock.Event = (*deadlines)(nil)

func (d *deadlines) init(loop clock.Loop, cause target.Cause, after time.Duration) {
	d.loop, d.cause, d.after, d.armed = loop, cause, after, clock.Never
	d.root.prev, d.root.next = &d.root, &d.root
}

func (d *deadlines) add(t *deadline, a *attempt) {
	if d.after <= 0 {
		return
	}
	t.a, t.at = a, a.req.Intended.Add(d.after)
	p := d.root.prev
	for p != &d.root && p.at > t.at {
		p = p.prev
	}
	t.prev, t.next = p, p.next
	p.next.prev = t
	p.next = t
	d.arm()
}

func (d *deadlines) remove(t *deadline) {
	if t.next == nil {
		return
	}
	t.prev.next, t.next.prev = t.next, t.prev
	*t = deadline{}
}

// arm makes sure that the loop fires no later than the first deadline. An event
// whose attempt has left the list fires for nothing and arms the next one.
func (d *deadlines) arm() {
	first := d.root.next
	if first == &d.root || d.armed.Known() && d.armed <= first.at {
		return
	}
	d.armed = first.at
	d.loop.At(first.at, clock.RankDeadline, d)
}

// Fire gives up the attempts whose deadline has come.
func (d *deadlines) Fire(now clock.Time) {
	for t := d.root.next; t != &d.root && t.at <= now; t = d.root.next {
		a := t.a
		d.remove(t)
		if d.cause == target.CauseTTFTTimeout && a.answering.Load() {
			continue
		}
		a.cancel(giveUp{cause: d.cause, after: d.after})
	}
	if d.armed <= now {
		d.armed = clock.Never
	}
	d.arm()
}

// Entity tells the two kinds apart.
func (d *deadlines) Entity() uint64 { return uint64(d.cause) }

// giveUp is the reason with which an attempt's context is cancelled.
type giveUp struct {
	cause target.Cause
	after time.Duration
}

// Error is the text of the attempt's result.
func (g giveUp) Error() string {
	switch g.cause {
	case target.CauseTTFTTimeout:
		return "no first token within " + g.after.String() + " of the intended time"
	case target.CauseTotalTimeout:
		return "not finished within " + g.after.String() + " of the intended time"
	}
	return "cancelled"
}
