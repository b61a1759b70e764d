package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// stream is one request between the loop, where its tokens are made, and the
// HTTP handler that sends them. The loop never waits for the handler: it adds to
// the counts in the mailbox and leaves a note.
//
// The handler owns a stream until it posts it and again after the mailbox says
// ended; in between the loop owns everything but the mailbox. What is the handler's may
// be lent to the senders meanwhile, see ride.
type stream struct {
	srv    *Server
	pinned int // the replica it must go to; anyReplica: the policy picks

	prompt  tokenizer
	choices []choice // at least one; not moved while an engine has them
	route   router.Request
	quiet   bool // nobody waits for single tokens

	// The loop's, and the handler's after placed.
	replica int        // where it went
	open    int        // choices in an engine
	began   clock.Time // of the first token of any choice
	load    loadReport // of the replica, when it took the request
	// remote: source computes the prompt, for so many choices still; prompted is how
	// it was routed there.
	remote   bool
	source   int
	computed int
	prompted router.Request

	events chunks // laid out by the handler, as is buf
	buf    []byte
	rc     *http.ResponseController

	mu   sync.Mutex
	box  mailbox
	note chan struct{} // there is something new in the mailbox, or in a choice

	aborting bool // an abort was posted; guarded by mu
	seat     seat // guarded by mu
	ride     ride
}

// mailbox is what the loop tells the handler of the request as a whole.
type mailbox struct {
	placed  bool // a replica took it
	ended   bool // nothing will follow
	aborted bool // a choice was given up
	refused *apiError
	dead    bool // the replica is down: there is nobody to answer; ended is set
	// What faults do to the answer: token counts are multiplied, and JSON broken.
	factor float64
	broken bool
}

// anyReplica lets the policy pick.
const anyReplica = -1

// submission and abortion are a stream's events on the loop.
type (
	submission stream
	abortion   stream
)

var (
	_ clock.Event = (*submission)(nil)
	_ clock.Event = (*abortion)(nil)
)

// Fire routes the request and hands it to a replica.
func (e *submission) Fire(clock.Time) {
	st := (*stream)(e)
	st.replica, st.open, st.remote, st.began = st.pinned, 0, false, clock.Never
	if st.pinned == anyReplica {
		st.route.At, st.srv.picking = st.srv.loop.Now(), st
		if st.replica = st.srv.fleet.Pick(&st.route); st.replica != router.None {
			st.replica += st.srv.first
		}
	}
	err := st.submit()
	if err != nil {
		st.leave(err.status)
	} else if st.load.asked {
		e := st.srv.replicas[st.replica].engine.Stats()
		st.load.kvUsed, st.load.waiting = e.KVUsed, e.Waiting+e.Arriving
	}
	st.mu.Lock()
	if err == nil {
		st.box.placed = true
	} else {
		st.box.ended, st.box.refused = true, err
		st.box.dead = st.replica != router.None && st.srv.faults.State(st.replica).Down
	}
	st.mu.Unlock()
	st.wake()
}

// submit hands all choices to the replica, or none. The prompt may have to be
// computed on another one before.
func (st *stream) submit() *apiError {
	if st.replica == router.None {
		return errNoReplica()
	}
	if err := st.srv.takes(st.replica); err != nil {
		return err
	}
	if p := st.srv.prefill; p != nil && st.pinned == anyReplica && p.Wanted(st.replica, &st.choices[0].seq) {
		return st.handOver()
	}
	for i := range st.choices {
		if err := st.srv.replicas[st.replica].engine.Submit(&st.choices[i].seq); err != nil {
			// They are alike, so it is the first one.
			return badRequest("", "%v", err)
		}
		st.open++
	}
	return nil
}

// errNoReplica refuses a request that the router has no replica for.
func errNoReplica() *apiError {
	return plainError(http.StatusServiceUnavailable, "the router has no replica that takes this request; send it again later")
}

// takes reports why replica i takes no request now.
func (s *Server) takes(i int) *apiError {
	f := s.faults.State(i)
	switch {
	case f.Down:
		return plainError(http.StatusBadGateway, "replica %d is down; send the request again", i)
	case f.Status != 0:
		return injected(f)
	}
	if most := s.maxQueue; most > 0 {
		if e := s.replicas[i].engine.Stats(); e.Waiting+e.Arriving >= most {
			return tooBusy(i, e.Waiting+e.Arriving)
		}
	}
	return nil
}

// Entity is the first sequence's number.
func (e *submission) Entity() uint64 { return e.choices[0].seq.ID }

// Fire takes the request out of its replica, unless it has ended.
func (e *abortion) Fire(clock.Time) { (*stream)(e).drop() }

// Entity is that of the submission, so that an abort never overtakes its request.
func (e *abortion) Entity() uint64 { return e.choices[0].seq.ID }

// drop takes all choices out of the engines, on the loop.
func (st *stream) drop() {
	for i := range st.choices {
		c := &st.choices[i]
		if st.remote {
			c.handoff.Abort()
		} else {
			st.srv.replicas[st.replica].engine.Abort(&c.seq)
		}
	}
}

// begin tells the router that the answer has begun.
func (st *stream) begin(now clock.Time) {
	st.began = now
	if st.pinned == anyReplica {
		st.srv.fleet.FirstToken(&st.route, st.replica-st.srv.first, now)
	}
}

// leave takes the request off the router's books, with the status that the router
// sees; one that was given up has none.
func (st *stream) leave(status int) {
	if st.pinned != anyReplica || st.replica == router.None {
		return
	}
	out := 0
	for i := range st.choices {
		out += st.choices[i].seq.Output
	}
	st.srv.fleet.Done(&st.route, st.replica-st.srv.first, router.End{
		At: st.srv.loop.Now(), FirstToken: st.began, Out: out, Status: status,
	})
	if s := st.srv.scaler; s != nil {
		s.Released(st.replica)
	}
}

// leaveNote tells the handler that there may be something new.
func (st *stream) leaveNote() {
	select {
	case st.note <- struct{}{}:
	default: // a note lies there already
	}
}

// post gives the stream to the loop.
func (st *stream) post() { st.srv.loop.Post((*submission)(st)) }

// abort asks the loop to end the request. It may be called at any time between
// post and the end of the handler, from any goroutine and more than once.
func (st *stream) abort() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.aborting || st.box.ended {
		return
	}
	st.aborting = true
	st.srv.loop.Post((*abortion)(st))
}

// unblock ends a write to a client that does not read, whose handler would not
// hear of an abort. The caller holds the server's mu, and the stream is live: its
// handler still has the connection. Writers without deadlines are not sockets,
// and do not block.
func (st *stream) unblock() { _ = st.rc.SetWriteDeadline(time.Unix(1, 0)) } // any time in the past

// wait returns the mailbox once there may be something new in it: a note can
// come late, after what it says was seen, or from the stream's last use. If the
// client leaves before, the request is aborted, and wait returns when that is
// done.
func (st *stream) wait(ctx context.Context) mailbox {
	select {
	case <-st.note:
	case <-ctx.Done():
		return st.giveUp()
	}
	return st.read()
}

// read takes what the loop has left for the handler.
func (st *stream) read() mailbox {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range st.choices {
		st.choices[i].take()
	}
	return st.box
}

// giveUp aborts the request and waits for its end.
func (st *stream) giveUp() mailbox {
	st.abort()
	for {
		if b := st.read(); b.ended {
			return b
		}
		<-st.note
	}
}

// reusable reports whether no event of the stream can still be pending, after
// its end.
func (st *stream) reusable() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return !st.aborting
}
