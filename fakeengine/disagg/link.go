package disagg

import (
	"fmt"
	"math/bits"
	"time"

	"goodput/loadgen/clock"
)

// Link is what joins the replicas. All figures are of one GPU of an engine: each
// sends its own part of the KV over its own adapter, all at the same time.
type Link struct {
	// BytesPerToken is the KV of one token.
	BytesPerToken int64
	// Bandwidth is in bytes per second, in each direction.
	Bandwidth int64
	// Latency passes before the first byte moves; 0: none.
	Latency time.Duration
}

func (l *Link) validate() error {
	switch {
	case l.BytesPerToken < 1:
		return fmt.Errorf("KV of %d bytes a token: need at least 1", l.BytesPerToken)
	case l.Bandwidth < 1:
		return fmt.Errorf("a link of %d bytes a second carries nothing: need at least 1", l.Bandwidth)
	case l.Latency < 0:
		return fmt.Errorf("a latency of %v: need 0 or more", l.Latency)
	}
	return nil
}

// wire is the time for the bytes of tokens tokens, rounded up to nanoseconds.
func (l *Link) wire(tokens int) time.Duration {
	hi, lo := bits.Mul64(uint64(tokens)*uint64(l.BytesPerToken), 1e9)
	lo, carry := bits.Add64(lo, uint64(l.Bandwidth)-1, 0)
	ns, _ := bits.Div64(hi+carry, lo, uint64(l.Bandwidth))
	return time.Duration(ns)
}

// network is the links of all replicas.
type network struct {
	loop clock.Loop
	link Link
	// posted are the transfers whose latency runs, in order of its end: it is the
	// same for all. line are those that wait for their ends to be free.
	posted, line list
	awake        bool // an event for the head of posted is on the loop
	out          []port
	in           []bool // by receiving replica: it is busy

	moved Moved
}

// Moved is what the links have carried.
type Moved struct {
	// Transfers that are complete, and the tokens whose KV they brought.
	Transfers, Tokens int64
	// Bytes of that, from one GPU of each engine.
	Bytes int64
}

// port is the sending end of a replica. It is the event of its transfer's end.
type port struct {
	net     *network
	replica int
	sending *Handoff // nil: idle
	until   clock.Time
}

var (
	_ clock.Event = (*network)(nil)
	_ clock.Event = (*port)(nil)
)

func newNetwork(loop clock.Loop, l Link, replicas int) *network {
	n := &network{loop: loop, link: l, out: make([]port, replicas), in: make([]bool, replicas)}
	for i := range n.out {
		n.out[i] = port{net: n, replica: i}
	}
	return n
}

// post begins a transfer.
func (n *network) post(h *Handoff, now clock.Time) {
	h.ready = now.Add(n.link.Latency)
	n.posted.pushBack(h)
	n.arm()
}

func (n *network) arm() {
	if h := n.posted.head; h != nil && !n.awake {
		n.awake = true
		n.loop.At(h.ready, clock.RankTransit, n)
	}
}

// Fire moves what has been posted for long enough into the line.
func (n *network) Fire(now clock.Time) {
	n.awake = false
	for h := n.posted.head; h != nil && h.ready <= now; h = n.posted.head {
		n.posted.remove(h)
		n.line.pushBack(h)
	}
	n.arm()
	n.serve(now)
}

// Entity is above that of all replicas: there is one network to a loop.
func (n *network) Entity() uint64 { return uint64(len(n.out)) }

// serve begins all transfers of the line that can, the first ones first.
func (n *network) serve(now clock.Time) {
	var next *Handoff
	for h := n.line.head; h != nil; h = next {
		next = h.next
		p := &n.out[h.source]
		if p.sending != nil || n.in[h.dest] {
			continue
		}
		n.line.remove(h)
		p.sending, n.in[h.dest] = h, true
		p.until = now.Add(n.link.wire(h.tokens))
		n.loop.At(p.until, clock.RankTransit, p)
	}
}

// Fire ends the transfer, unless it was withdrawn and this is what it has left on
// the loop.
func (p *port) Fire(now clock.Time) {
	h, n := p.sending, p.net
	if h == nil || p.until != now {
		return
	}
	p.sending, n.in[h.dest] = nil, false
	n.moved.Transfers++
	n.moved.Tokens += int64(h.tokens)
	n.moved.Bytes += int64(h.tokens) * n.link.BytesPerToken
	h.arrived()
	n.serve(now)
}

// Entity is the replica's number.
func (p *port) Entity() uint64 { return uint64(p.replica) }

// withdraw takes h off, at whatever stage its transfer is.
func (n *network) withdraw(h *Handoff) {
	if h.in != nil {
		h.in.remove(h)
		return
	}
	if p := &n.out[h.source]; p.sending == h {
		p.sending, n.in[h.dest] = nil, false
		n.serve(n.loop.Now())
	}
}

// list is a doubly linked list through the handoffs themselves. One is in at most
// one list.
type list struct{ head, tail *Handoff }

func (l *list) pushBack(h *Handoff) {
	h.in, h.prev, h.next = l, l.tail, nil
	if l.tail == nil {
		l.head = h
	} else {
		l.tail.next = h
	}
	l.tail = h
}

func (l *list) remove(h *Handoff) {
	if h.prev == nil {
		l.head = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		l.tail = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.in, h.prev, h.next = nil, nil, nil
}
