package server

import (
	"net/http"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// choice is one of the answers to a request: a sequence in an engine, and what of
// it was sent.
type choice struct {
	st *stream
	script

	// The loop's.
	seq     engine.Seq
	names   []uint64       // of the blocks of prompt and answer
	handoff disagg.Handoff // if the stream is remote
	outputs clock.Time     // of the last tokens

	// From the loop to the handler, guarded by the stream's mu.
	bursts  []burst // made, not yet taken
	ended   bool
	why     engine.Finish
	breakAt int // the token whose event a fault breaks off, from 1; 0: none

	// The handler's.
	pending             []burst
	next                int // in pending
	laid                int // tokens laid out
	sent                int // tokens written
	cut                 int // breakAt as taken
	firstSent, lastSent clock.Time
}

var _ engine.Sink = (*choice)(nil)

// burst is count steps that each made size tokens. Tokens of one step belong into
// one event (R31).
type burst struct{ size, count int }

// reset prepares a choice for another request.
func (c *choice) reset(st *stream) {
	*c = choice{
		st: st, script: script{event: c.event}, bursts: c.bursts[:0], pending: c.pending[:0], names: c.names[:0],
		firstSent: clock.Never, lastSent: clock.Never,
	}
}

// Tokens implements engine.Sink.
func (c *choice) Tokens(s *engine.Seq, now clock.Time, n int) {
	st := c.st
	r := st.srv.replicas[st.replica]
	r.tally.output(s, now, c.outputs, n)
	c.outputs = now
	if !st.began.Known() {
		st.begin(now)
	}
	if st.quiet {
		return
	}
	broken := st.srv.faults.State(st.replica).Truncate
	st.mu.Lock()
	if last := len(c.bursts) - 1; last >= 0 && c.bursts[last].size == n {
		c.bursts[last].count++
	} else {
		c.bursts = append(c.bursts, burst{size: n, count: 1})
	}
	if broken && c.breakAt == 0 {
		c.breakAt = s.Output - n + 1
	}
	st.mu.Unlock()
	// The last tokens go with the end, which comes in the same step.
	if s.Output < c.tokens {
		st.wake()
	}
}

// Finished implements engine.Sink.
func (c *choice) Finished(s *engine.Seq, _ clock.Time, why engine.Finish) {
	st := c.st
	l := &st.srv.replicas[st.replica].tally
	l.end(s, why)
	st.srv.lookForFullKV(st.replica)
	st.open--
	if st.open == 0 {
		status := http.StatusOK
		if why == engine.Aborted {
			status = 0 // the client or the replica is gone
		}
		st.leave(status)
	}
	st.mu.Lock()
	c.ended, c.why = true, why
	f := st.srv.faults.State(st.replica)
	st.box.aborted = st.box.aborted || why == engine.Aborted
	if st.open == 0 && !st.box.aborted {
		l.answered(len(st.choices), st.longest())
	}
	st.box.ended = st.open == 0
	st.box.factor, st.box.broken = f.Usage, f.Truncate
	tell := st.box.ended || !st.quiet
	st.mu.Unlock()
	// From here on the handler may let go of the stream; a note too many does no
	// harm.
	if tell {
		st.wake()
	}
}

// longest is the number of tokens of the longest choice so far.
func (st *stream) longest() int {
	n := 0
	for i := range st.choices {
		n = max(n, st.choices[i].seq.Output)
	}
	return n
}

// take moves what is new to the handler's side. The caller holds the stream's mu.
func (c *choice) take() {
	c.pending = append(c.pending, c.bursts...)
	c.bursts = c.bursts[:0]
	c.cut = c.breakAt
}

// more is the size of the next burst; 0: none.
func (c *choice) more() int {
	if c.next == len(c.pending) {
		c.pending, c.next = c.pending[:0], 0
		return 0
	}
	return c.pending[c.next].size
}

// done takes one burst off.
func (c *choice) done() {
	b := &c.pending[c.next]
	c.laid += b.size
	if b.count--; b.count == 0 {
		c.next++
	}
}
