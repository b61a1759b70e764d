package server

import "context"

// seat is who sends what a stream has: its handler, or the senders.
type seat uint8

const (
	handled seat = iota // the handler, which gets notes
	idle                // the senders, when there is something
	queued              // the senders have it in their queue
	taken               // one of them is sending
	again               // the same, and there is something new since
)

// ride is an answer in the care of the senders. They and the handler have it by turns:
// it belongs to the handler whenever the seat is handled.
type ride struct {
	on    lane
	x     *exchange
	rest  []byte // could not be written without waiting; nil: all was
	state ending
	box   mailbox // the last one read
	// leaving: the handler wants it back after the turn that is on. Guarded by mu, as
	// is the stream's seat.
	leaving bool
}

// ending is what is to come after a turn.
type ending uint8

const (
	goesOn  ending = iota
	ended          // the end was sent, or is in the rest
	aborted        // in the engine
	broken         // by the client's leaving, or as a fault wants it
)

// wake reports a change to whoever has the stream. One too many does no harm.
func (st *stream) wake() {
	st.mu.Lock()
	s := st.seat
	switch s {
	case idle:
		st.seat = queued
	case taken:
		st.seat = again
	}
	st.mu.Unlock()
	switch s {
	case idle:
		st.srv.senders.add(st)
	case handled:
		st.leaveNote()
	}
}

// ride has the senders send the answer, and writes what they could not without waiting.
// It returns what stream does.
func (x *exchange) ride(ctx context.Context, on lane) (final mailbox, done bool) {
	st := x.st
	st.ride = ride{on: on, x: x}
	for {
		if !st.hand(ctx) {
			return st.giveUp(), true
		}
		r := &st.ride
		if r.rest != nil {
			if on.write(r.rest) != nil {
				return st.giveUp(), true
			}
			r.rest = nil
			x.mark()
		}
		switch r.state {
		case broken:
			return st.giveUp(), true
		case ended, aborted:
			return r.box, false
		}
	}
}

// hand gives the stream to the senders, and returns when it is back: with true if they
// have no more use for it, with false if the client has left.
func (st *stream) hand(ctx context.Context) bool {
	st.mu.Lock()
	st.seat, st.ride.leaving = queued, false // what came before may have been told to the handler
	st.mu.Unlock()
	st.srv.senders.add(st)
	for {
		select {
		case <-st.note: // perhaps an old one
		case <-ctx.Done():
			st.takeBack()
			return false
		}
		st.mu.Lock()
		back := st.seat == handled
		st.mu.Unlock()
		if back {
			return true
		}
	}
}

// takeBack returns when no sender has the stream, nor will have.
func (st *stream) takeBack() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for st.seat == taken || st.seat == again {
		st.ride.leaving = true
		st.mu.Unlock()
		<-st.note
		st.mu.Lock()
	}
	st.seat = handled // an entry in the queue is passed over
}

// turn sends what there is, up to maxBatch tokens, without waiting. Only senders call
// it.
func (st *stream) turn() {
	st.mu.Lock()
	if st.seat != queued {
		st.mu.Unlock()
		return
	}
	st.seat = taken
	st.mu.Unlock()

	more := st.ride.send()

	st.mu.Lock()
	r := &st.ride
	switch {
	case r.state != goesOn || r.rest != nil || r.leaving:
		st.seat = handled
	case more || st.seat == again:
		st.seat = queued
	default:
		st.seat = idle
	}
	s := st.seat
	// The handler may let go of the stream from here on, if it is handled.
	st.mu.Unlock()
	switch s {
	case handled:
		st.leaveNote()
	case queued:
		st.srv.senders.add(st)
	}
}

// send lays out and writes, and reports whether tokens had to be left.
func (r *ride) send() (more bool) {
	x := r.x
	st := x.st
	r.box = st.read()
	if r.box.aborted {
		r.state = aborted
		return false
	}
	st.buf = append(st.buf[:0], "          "[:frameHead]...)
	more, r.state = x.fill(&r.box)
	if len(st.buf) == frameHead {
		return more
	}
	var chunk []byte
	st.buf, chunk = frame(st.buf)
	n, err := r.on.try(chunk)
	switch {
	case err != nil:
		r.state = broken
	case n < len(chunk):
		r.rest = chunk[n:]
	default:
		x.mark()
	}
	return more
}
