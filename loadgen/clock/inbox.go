package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// inbox is what other goroutines share with a loop: posted events and the wish to
// stop. post and stop may be called from any goroutine, drain and sleep only from
// the loop's. While nothing is posted, the loop pays one atomic load per event.
type inbox struct {
	signal atomic.Uint32 // signalPosted | signalStop

	mu     sync.Mutex
	posted []post
	asleep waiter // what the loop waits on; nil while it runs
}

const (
	signalPosted = 1 << iota
	signalStop
)

type post struct {
	at    Time
	event Event
}

// post adds e. The stamp is read under the lock, so that it never contradicts the
// order of posting.
func (b *inbox) post(e Event, stamp func() Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.posted = append(b.posted, post{at: stamp(), event: e})
	b.raise(signalPosted)
}

func (b *inbox) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.raise(signalStop)
}

func (b *inbox) raise(bit uint32) {
	b.signal.Or(bit)
	if b.asleep != nil {
		b.asleep.wake()
		b.asleep = nil // one wake is enough
	}
}

// quiet reports whether there is neither a post nor the wish to stop.
func (b *inbox) quiet() bool { return b.signal.Load() == 0 }

// drain moves what was posted into q, not before now, and reports whether the
// loop may go on.
func (b *inbox) drain(q *queue, now Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.posted {
		q.push(max(now, p.at), RankTransit, p.event)
	}
	clear(b.posted) // lets the events be collected
	b.posted = b.posted[:0]
	b.signal.And(^uint32(signalPosted))
	return b.signal.Load()&signalStop == 0
}

// sleep returns after d, or when somebody posts or stops.
func (b *inbox) sleep(w waiter, d time.Duration) {
	b.mu.Lock()
	if !b.quiet() {
		b.mu.Unlock()
		return
	}
	w.arm(d)
	b.asleep = w
	b.mu.Unlock()

	w.wait()

	b.mu.Lock()
	b.asleep = nil
	b.mu.Unlock()
}
