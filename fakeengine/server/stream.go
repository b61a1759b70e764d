package server

import (
	"context"
	"net/http"
	"sync"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// stream is one request between the loop, where its tokens are made, and the
// HTTP handler that sends them. The loop never waits for the handler: it adds to
// the counts in the mailbox and leaves a note.
//
// The handler owns a stream until it posts it and again after the mailbox says
// ended; in between the loop owns everything but the mailbox.
type stream struct {
	srv    *Server
	pinned int // the replica it must go to; anyReplica: the policy picks

	prompt  tokenizer
	seq     engine.Seq
	route   router.Request
	quiet   bool // nobody waits for single tokens
	replica int  // where it went
	outputs clock.Time

	events chunks // laid out by the handler, as is buf
	buf    []byte
	rc     *http.ResponseController

	mu   sync.Mutex
	box  mailbox
	note chan struct{} // there is something new in the mailbox

	aborting bool // an abort was posted; guarded by mu
}

// mailbox is what the loop tells the handler.
type mailbox struct {
	placed  bool // a replica took it
	tokens  int  // so many tokens were made
	ended   bool // nothing will follow
	finish  engine.Finish
	refused error // why no replica took it; ended is set
}

// anyReplica lets the policy pick.
const anyReplica = -1

var _ engine.Sink = (*stream)(nil)

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
	st.replica = st.pinned
	if st.pinned == anyReplica {
		st.replica = st.srv.fleet.Pick(&st.route)
	}
	if err := st.srv.replicas[st.replica].engine.Submit(&st.seq); err != nil {
		st.leave()
		st.tell(func(b *mailbox) { b.ended, b.refused = true, err })
		return
	}
	st.tell(func(b *mailbox) { b.placed = true })
}

// Entity is the sequence's number.
func (e *submission) Entity() uint64 { return e.seq.ID }

// Fire takes the request out of its replica, unless it has ended.
func (e *abortion) Fire(clock.Time) {
	st := (*stream)(e)
	st.srv.replicas[st.replica].engine.Abort(&st.seq)
}

// Entity is the sequence's number, so that an abort never overtakes its request.
func (e *abortion) Entity() uint64 { return e.seq.ID }

// Tokens implements engine.Sink.
func (st *stream) Tokens(s *engine.Seq, now clock.Time, n int) {
	l := &st.srv.replicas[st.replica].latencies
	if s.Output == n {
		l.observe(histTTFT, s.Arrival, now)
	} else {
		l.observe(histITL, st.outputs, now)
	}
	st.outputs = now

	st.mu.Lock()
	st.box.tokens = s.Output
	st.mu.Unlock()
	// The last tokens go with the end, which comes in the same step.
	if !st.quiet && s.Output < s.MaxTokens {
		st.wake()
	}
}

// Finished implements engine.Sink.
func (st *stream) Finished(s *engine.Seq, _ clock.Time, why engine.Finish) {
	l := &st.srv.replicas[st.replica].latencies
	l.finished[why]++
	if why != engine.Aborted {
		l.observe(histE2E, s.Arrival, s.LastToken)
		l.observe(histQueue, s.Queued, s.Scheduled)
		l.observe(histInference, s.Scheduled, s.LastToken)
		l.observe(histPrefill, s.Scheduled, s.FirstToken)
		l.observe(histDecode, s.FirstToken, s.LastToken)
		if s.Output > 1 {
			gaps := clock.Time(s.Output - 1)
			l.observe(histTPOT, 0, (s.LastToken-s.FirstToken)/gaps)
		}
	}
	st.leave()
	st.tell(func(b *mailbox) { b.ended, b.finish = true, why })
}

// leave takes the request off the router's books.
func (st *stream) leave() {
	if st.pinned == anyReplica {
		st.srv.fleet.Done(&st.route, st.replica)
	}
}

func (st *stream) tell(change func(*mailbox)) {
	st.mu.Lock()
	change(&st.box)
	st.mu.Unlock()
	st.wake()
}

func (st *stream) wake() {
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
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.box
}

// giveUp aborts the request and waits for its end.
func (st *stream) giveUp() mailbox {
	st.abort()
	for {
		st.mu.Lock()
		b := st.box
		st.mu.Unlock()
		if b.ended {
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
