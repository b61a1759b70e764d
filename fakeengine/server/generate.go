package server

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// maxBody bounds a request body, in bytes.
const maxBody = 32 << 20

// maxBatch bounds the tokens of one write, and so the buffer of a stream whose
// client has fallen far behind.
const maxBatch = 128

// keptBuffer bounds what a stream's buffer may hold on to between requests.
const keptBuffer = 64 << 10

// The headers with a meaning.
const (
	headerRequestID   = "X-Request-Id"
	headerSession     = "X-Session-Id"
	headerReplica     = "X-Goodput-Replica"
	headerTraceparent = "Traceparent"
)

// exchange is one request for text, in the hands of its handler.
type exchange struct {
	srv   *Server
	w     http.ResponseWriter
	r     *http.Request
	st    *stream
	id    []byte // the answer's, as a JSON string
	req   request
	key   uint64 // names the answer's text
	birth int64  // Unix seconds
	truth truth
}

// generate serves one request for text.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, a api, pinned int) {
	requestID := r.Header.Get(headerRequestID)
	if requestID == "" {
		requestID = strconv.FormatUint(mix(s.salt+s.numbers.Add(1)), 16)
	}
	w.Header().Set(headerRequestID, requestID)
	x := exchange{srv: s, w: w, r: r, truth: newTruth(a, requestID, r.Header.Get(headerTraceparent))}
	x.key = xxhash.Sum64String(requestID)

	x.st = s.streams.Get().(*stream)
	x.st.rc = http.NewResponseController(w)
	err := x.read(a, pinned)
	if err == nil && !s.enter(x.st) {
		err = shuttingDown()
	}
	if err != nil {
		x.refuse(err)
		s.truth.write(&x.truth)
		s.recycle(x.st)
		s.flushIfIdle()
		return
	}
	prefix := "cmpl-"
	if a == chat {
		prefix = "chatcmpl-"
	}
	x.id, x.birth = appendString(nil, prefix+requestID), clock.Wall().Unix()
	x.st.post()
	cut := x.serve()
	x.settle()
	if cut {
		// The only way to tell a client that this is not the end of the answer.
		panic(http.ErrAbortHandler)
	}
}

// settle writes the truth of a request that was taken up, and lets go of it.
func (x *exchange) settle() {
	s := x.srv
	s.truth.write(&x.truth) // before leave, because Close waits for that
	s.leave(x.st)
	if x.st.reusable() {
		s.recycle(x.st)
	}
	s.flushIfIdle()
}

func (s *Server) recycle(st *stream) {
	st.rc = nil
	if cap(st.buf) > keptBuffer {
		st.buf = nil
	}
	s.streams.Put(st)
}

// refuse answers with err.
func (x *exchange) refuse(err *apiError) {
	x.truth.status = err.status
	err.write(x.w)
}

// read takes the body and fills in the stream.
func (x *exchange) read(a api, pinned int) *apiError {
	s, st := x.srv, x.st
	raw, err := x.readBody()
	if err != nil {
		return err
	}
	x.truth.received = s.loop.Stamp()
	block := 0
	if s.named {
		block = s.engine.BlockSize
	}
	st.prompt.reset(block, s.engine.MaxModelLen)
	req, err := decode(a, raw, &st.prompt, s.model, s.engine.MaxModelLen)
	if err != nil {
		return err
	}
	x.req = req
	x.truth.stream, x.truth.prompt, x.truth.maxTokens = req.stream, st.prompt.n, req.maxTokens

	st.pinned, st.quiet, st.box = pinned, !req.stream, mailbox{}
	st.seq.Reset()
	st.seq.ID = s.numbers.Add(1)
	st.seq.Prompt, st.seq.MaxTokens, st.seq.Sink = st.prompt.n, req.maxTokens, st
	st.route = router.Request{InTokens: st.prompt.n, MaxOut: req.maxTokens}
	if session := x.r.Header.Get(headerSession); session != "" {
		st.route.Session = max(1, xxhash.Sum64String(session))
	}
	if s.named {
		// Nothing says what no other request will have in common, so all of it may be.
		st.seq.Hashes, st.seq.Shared = st.prompt.names, st.prompt.n
		st.route.Prefix = st.prompt.names
	}
	return nil
}

func (x *exchange) readBody() ([]byte, *apiError) {
	if x.r.ContentLength > maxBody {
		x.w.Header().Set("Connection", "close")
		return nil, bodyTooLarge()
	}
	st := x.st
	in := http.MaxBytesReader(x.w, x.r.Body, maxBody)
	// One byte more, so that the end is found without growing.
	st.buf = slices.Grow(st.buf[:0], int(max(0, x.r.ContentLength))+1)
	for {
		if len(st.buf) == cap(st.buf) {
			st.buf = slices.Grow(st.buf, len(st.buf))
		}
		n, err := in.Read(st.buf[len(st.buf):cap(st.buf)])
		st.buf = st.buf[:len(st.buf)+n]
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return st.buf, nil
		case errors.As(err, &tooLarge):
			return nil, bodyTooLarge()
		default:
			return nil, badRequest("", "the body could not be read: %v", err)
		}
	}
}

func bodyTooLarge() *apiError {
	return plainError(http.StatusRequestEntityTooLarge, "the body has more than %d bytes; shorten the prompt", maxBody)
}

// serve sees a posted request to its end, and reports whether the server had to
// cut it off.
func (x *exchange) serve() (cut bool) {
	st, ctx := x.st, x.r.Context()
	box := st.wait(ctx)
	for !box.placed && !box.ended {
		box = st.wait(ctx)
	}
	if box.refused != nil {
		x.refuse(badRequest("", "%v", box.refused))
		return false
	}
	x.w.Header().Set(headerReplica, strconv.Itoa(st.replica))
	x.truth.replica = st.replica
	gone := false
	switch {
	case box.ended && box.finish == engine.Aborted: // before anything was sent
	case x.req.stream:
		box, gone = x.stream(box)
	default:
		for !box.ended {
			box = st.wait(ctx)
		}
		if box.finish != engine.Aborted {
			x.whole()
		}
	}
	x.account(box)
	return box.finish == engine.Aborted && !gone && ctx.Err() == nil
}

// stream sends the answer token by token, in one write for whatever has come
// since the last one. It returns with the final state of the mailbox, and
// whether the client was gone before.
func (x *exchange) stream(box mailbox) (final mailbox, gone bool) {
	st := x.st
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.WriteHeader(http.StatusOK)
	x.truth.status = http.StatusOK
	st.events.begin(x.truth.api, x.id, x.srv.modelStr, x.birth)
	// The status goes out when the engine has the request, long before a token.
	if st.rc.Flush() != nil {
		return st.giveUp(), true
	}
	for !box.ended || box.finish != engine.Aborted {
		from := x.truth.sent
		to := min(box.tokens, from+maxBatch)
		end := box.ended && to == box.tokens
		st.buf = st.events.appendTokens(st.buf[:0], x.key, from, to, x.req.maxTokens)
		if end {
			st.buf = st.events.appendEnd(st.buf, x.usage())
		}
		if len(st.buf) > 0 && !x.send(to) {
			return st.giveUp(), true
		}
		if end {
			break
		}
		if to == box.tokens {
			box = st.wait(x.r.Context())
		}
	}
	return box, false
}

// send writes the buffer, after which the client has the first sent tokens. It
// stamps the write that held the first token, and the one that held the last.
func (x *exchange) send(sent int) bool {
	if _, err := x.w.Write(x.st.buf); err != nil {
		return false
	}
	if x.st.rc.Flush() != nil {
		return false
	}
	t := &x.truth
	first, last := t.sent == 0 && sent > 0, sent == x.req.maxTokens
	t.sent = sent
	if first || last {
		now := x.srv.loop.Stamp()
		if first {
			t.firstSent = now
		}
		if last {
			t.lastSent = now
		}
	}
	return true
}

// usage is the count of tokens after the end; nil if it was not asked for.
func (x *exchange) usage() *usage {
	if x.req.stream && !x.req.includeUsage {
		return nil
	}
	s := &x.st.seq
	return &usage{prompt: s.Prompt, output: s.Output, cached: s.Cached}
}

// whole sends the answer as one object.
func (x *exchange) whole() {
	st := x.st
	st.buf = appendWhole(st.buf[:0], x.truth.api, x.id, x.srv.modelStr, x.birth, x.key, x.usage())
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(st.buf)))
	x.w.WriteHeader(http.StatusOK)
	x.truth.status = http.StatusOK
	x.send(st.seq.Output)
}

// account takes the engine's own figures, after the end.
func (x *exchange) account(box mailbox) {
	t, s := &x.truth, &x.st.seq
	t.finish = finishName(box.finish)
	t.output, t.preemptions, t.recomputed, t.preemptedNS = s.Output, s.Preemptions, s.Recomputed, s.PreemptedNS
	if s.Scheduled.Known() {
		t.cached = s.Cached
	}
	t.arrival, t.queued, t.scheduled = s.Arrival, s.Queued, s.Scheduled
	t.firstToken, t.lastToken = s.FirstToken, s.LastToken
}
