package server

import (
	"runtime"
	"sync"
)

// senders send the answers of streams that have a lane. Whoever adds the first stream
// starts one, and it ends when none is left; more help where many have come at
// once. A write of theirs waits for nobody, so no client can hold up another.
//
// They take at most half of the processors. The others are for the engines and, on
// one machine, for the client: it reads what was written while the rest is, and not
// only after all of it.
type senders struct {
	mu      sync.Mutex
	ready   []*stream // with the state queued, or given up since
	next    int       // in ready
	running int
	most    int // of them
}

// halfOfProcessors is what senders may be at most.
func halfOfProcessors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// sendersShare is how many streams have to wait for each further sender.
const sendersShare = 256

// grab is how many streams a sender takes at a time.
const grab = 16

// add puts st at the end of the queue.
func (q *senders) add(st *stream) {
	q.mu.Lock()
	q.ready = append(q.ready, st)
	start := q.wanted()
	if start {
		q.running++
	}
	q.mu.Unlock()
	if start {
		go q.run()
	}
}

// wanted reports whether another sender has to start. The caller holds mu.
func (q *senders) wanted() bool {
	return q.running == 0 ||
		len(q.ready)-q.next > q.running*sendersShare && q.running < q.most
}

func (q *senders) run() {
	var mine [grab]*stream
	for {
		n := q.take(&mine)
		if n == 0 {
			return
		}
		for _, st := range mine[:n] {
			st.turn()
		}
	}
}

// take moves some streams from the queue to mine. With none left the sender has ended.
func (q *senders) take(mine *[grab]*stream) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := copy(mine[:], q.ready[q.next:])
	clear(q.ready[q.next : q.next+n]) // lets the streams be collected
	q.next += n
	if q.next == len(q.ready) {
		q.ready, q.next = q.ready[:0], 0
	} else if q.next >= sendersShare && q.next*2 >= len(q.ready) {
		// The room in front is used again.
		left := copy(q.ready, q.ready[q.next:])
		clear(q.ready[left:])
		q.ready, q.next = q.ready[:left], 0
	}
	if n == 0 {
		q.running--
	}
	return n
}
