package server

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// maxBody bounds a request body, in bytes.
const maxBody = 32 << 20

// maxBatch bounds the tokens of one write, and so the buffer of a stream whose
// client has fallen far behind.
const maxBatch = 128

// keptBuffer bounds what a stream's buffer may hold on to between requests.
const keptBuffer = 64 << 10

// keptChoices bounds the choices that a stream may hold on to.
const keptChoices = 4

// The headers with a meaning.
const (
	headerRequestID = "X-Request-Id"
	headerSession   = "X-Session-Id"
	headerReplica   = "X-Goodput-Replica"

	headerPrefillReplica = "X-Goodput-Prefill-Replica"
	headerTraceparent    = "Traceparent"
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
	truth truth  // what all choices have in common

	greeted bool // the role has gone out, or has no event
}

// generate serves one request for text.
func (f *front) generate(w http.ResponseWriter, r *http.Request, a api) {
	s := f.srv
	requestID := r.Header.Get(headerRequestID)
	if requestID == "" {
		requestID = strconv.FormatUint(mix(s.salt+s.numbers.Add(1)), 16)
	}
	w.Header().Set(headerRequestID, requestID)
	x := exchange{srv: s, w: w, r: r, truth: newTruth(a, requestID, r.Header.Get(headerTraceparent))}
	x.key = xxhash.Sum64String(requestID)

	x.st = s.streams.Get().(*stream)
	x.st.rc = http.NewResponseController(w)
	err := x.read(f, a)
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
	x.id, x.birth = appendString(nil, a.prefix()+requestID), s.wall()
	x.st.post()
	cut := x.serve()
	x.settle()
	if cut {
		// The only way to tell a client that this is not the end of the answer.
		panic(http.ErrAbortHandler)
	}
}

// settle lets go of a request that was taken up.
func (x *exchange) settle() {
	s := x.srv
	s.leave(x.st)
	if x.st.reusable() {
		s.recycle(x.st)
	}
	s.flushIfIdle()
}

func (s *Server) recycle(st *stream) {
	st.rc, st.ride = nil, ride{}
	if cap(st.buf) > keptBuffer {
		st.buf = nil
	}
	if cap(st.choices) > keptChoices {
		st.choices = nil
	}
	s.streams.Put(st)
}

// refuse answers with err.
func (x *exchange) refuse(err *apiError) {
	x.truth.status = err.status
	err.write(x.w)
}

// read takes the body and fills in the stream.
func (x *exchange) read(f *front, a api) *apiError {
	s, st := x.srv, x.st
	var err *apiError
	if st.buf, err = readBody(x.w, x.r, st.buf[:0], s.maxBody); err != nil {
		return err
	}
	x.truth.received = s.loop.Stamp()
	wanted, err := parseShape(x.r.Header.Get(headerShape))
	if err != nil {
		return err
	}
	block := 0
	if s.named {
		block = s.engine.BlockSize
	}
	st.prompt.reset(block, s.engine.MaxModelLen)
	req, err := f.decoder(wanted).decode(a, st.buf, &st.prompt)
	if err != nil {
		return err
	}
	x.req = req
	x.truth.adapter = req.model.adapterName
	x.truth.stream, x.truth.prompt, x.truth.maxTokens = req.stream, st.prompt.n, req.maxTokens

	st.pinned, st.quiet, st.box = f.replica, !req.stream, mailbox{}
	st.load = loadReport{asked: x.r.Header[wire.LoadFormatHeader] != nil}
	st.route = router.Request{InTokens: st.prompt.n, MaxOut: req.maxTokens, Adapter: req.model.adapter}
	if session := x.r.Header.Get(headerSession); session != "" {
		st.route.Session = max(1, xxhash.Sum64String(session))
	}
	if s.named {
		st.route.Prefix, st.route.Block = st.prompt.names, s.engine.BlockSize
	}
	x.choose()
	return nil
}

// choose sets up the choices.
func (x *exchange) choose() {
	s, st, req := x.srv, x.st, &x.req
	st.choices = slices.Grow(st.choices[:0], req.choices)[:req.choices]
	first := s.numbers.Add(uint64(req.choices)) - uint64(req.choices) + 1
	for i := range st.choices {
		c := &st.choices[i]
		c.reset(st)
		key := x.key
		if i > 0 {
			key = mix(key + uint64(i))
		}
		c.index, c.answer = i, newAnswer(key, req.maxTokens, req.shape, &req.stop)
		c.calls = req.calls // before names
		c.seq.ID = first + uint64(i)
		c.seq.Prompt, c.seq.MaxTokens, c.seq.StopAt, c.seq.Sink = st.prompt.n, req.maxTokens, c.stopAt(), c
		c.seq.Priority = req.priority
		c.seq.Adapter = req.model.adapter // none without Engine.LoRA
		if s.named {
			// Nothing says what no other request will have in common, so all of it may be,
			// and the answer too.
			c.names = c.answer.names(c.names, &st.prompt, x.truth.api)
			c.seq.Hashes, c.seq.Shared = c.names, st.prompt.n+c.answer.tokens
		}
	}
}

// readBody reads the body of a request, of up to most bytes, into buf.
func readBody(w http.ResponseWriter, r *http.Request, buf []byte, most int64) ([]byte, *apiError) {
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		return buf, bodyTooLarge(most)
	}
	in := http.MaxBytesReader(w, r.Body, most)
	// One byte more, so that the end is found without growing.
	buf = slices.Grow(buf, int(max(0, r.ContentLength))+1)
	for {
		if len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
		n, err := in.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return buf, nil
		case errors.As(err, &tooLarge):
			return buf, bodyTooLarge(most)
		default:
			return buf, badRequest("", "the body could not be read: %v", err)
		}
	}
}

func bodyTooLarge(most int64) *apiError {
	return plainError(http.StatusRequestEntityTooLarge, "the body has more than %d bytes; shorten the prompt", most)
}

// serve sees a posted request to its end, and reports whether the server had to
// cut it off.
func (x *exchange) serve() (cut bool) {
	st, ctx := x.st, x.r.Context()
	box := st.wait(ctx)
	for !box.placed && !box.ended {
		box = st.wait(ctx)
	}
	if st.replica != router.None {
		x.w.Header().Set(headerReplica, strconv.Itoa(st.replica))
		x.truth.replica = st.replica
	}
	if st.load.asked && box.refused == nil {
		tellLoad(x.w.Header(), x.r.Header.Get(wire.LoadFormatHeader), &st.load)
	}
	if st.remote {
		x.w.Header().Set(headerPrefillReplica, strconv.Itoa(st.source))
	}
	if box.refused != nil {
		cut = box.dead && st.pinned != anyReplica
		if !cut {
			x.refuse(box.refused)
		}
		x.srv.truth.write(&x.truth) // before leave, because Close waits for that
		return cut
	}
	done := false
	switch {
	case box.aborted: // before anything was sent
	case x.req.stream:
		if box, done = x.stream(box); !done && !box.aborted {
			x.tellTiming(http.TrailerPrefix)
		}
	default:
		for !box.ended {
			box = st.wait(ctx)
		}
		if !box.aborted {
			x.whole(box)
		}
	}
	x.account()
	return box.aborted && !done && ctx.Err() == nil
}

// stream sends the answer as it is made, in one write for whatever has come since
// the last one. It returns with the final state of the mailbox, and whether the
// client has left, or been left with what a fault lets it have.
func (x *exchange) stream(box mailbox) (final mailbox, done bool) {
	st := x.st
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.WriteHeader(http.StatusOK)
	x.truth.status = http.StatusOK
	st.events.begin(x.truth.api, x.id, x.req.model.name, x.birth, &x.req, st.prompt.n)
	for i := range st.choices {
		st.events.lay(&st.choices[i].script)
	}
	// The status goes out when the engine has the request, long before a token.
	if st.rc.Flush() != nil {
		return st.giveUp(), true
	}
	x.greeted = x.truth.api == completions
	if on := laneOf(x.r); on != nil {
		return x.ride(x.r.Context(), on)
	}
	for !box.aborted {
		st.buf = st.buf[:0]
		more, state := x.fill(&box)
		if len(st.buf) > 0 && !x.send() || state == broken {
			return st.giveUp(), true
		}
		if state == ended {
			break
		}
		if !more {
			box = st.wait(x.r.Context())
		}
	}
	return box, false
}

// fill adds to the buffer the events of up to maxBatch tokens, and some, and the end
// if it is there. It reports whether it had to leave tokens, and what is to come when
// the buffer is sent.
func (x *exchange) fill(box *mailbox) (more bool, state ending) {
	more, cut := x.lay()
	switch {
	case cut:
		return false, broken
	case box.ended && !more:
		x.st.buf = x.st.events.appendEnd(x.st.buf, x.usage(box.factor))
		return false, ended
	}
	return more, goesOn
}

// lay adds the events of tokens to the buffer. It reports whether it had to leave
// some, and whether a fault wants the last event broken off, as it is then.
func (x *exchange) lay() (more, cut bool) {
	st, room := x.st, maxBatch
	for i := range st.choices {
		c := &st.choices[i]
		for n := c.more(); n > 0; n = c.more() {
			if room <= 0 {
				return true, false
			}
			if !x.greeted {
				x.greeted = true
				for j := range st.choices {
					st.buf = st.events.appendRole(st.buf, &st.choices[j].script)
				}
			}
			start := len(st.buf)
			st.buf = st.events.appendTokens(st.buf, &c.script, c.laid, c.laid+n)
			if c.cut == c.laid+1 {
				st.buf = append(st.buf[:start+(len(st.buf)-start)/2], "\n\n"...)
				return false, true
			}
			c.done()
			room -= n
		}
	}
	return false, false
}

// send writes the buffer.
func (x *exchange) send() bool {
	if _, err := x.w.Write(x.st.buf); err != nil {
		return false
	}
	if x.st.rc.Flush() != nil {
		return false
	}
	x.mark()
	return true
}

// mark notes that the client has what was laid out. It stamps the write that held a
// choice's first token, and the one that held its last.
func (x *exchange) mark() {
	now := clock.Never
	for i := range x.st.choices {
		c := &x.st.choices[i]
		first, last := c.sent == 0 && c.laid > 0, c.sent < c.tokens && c.laid == c.tokens
		c.sent = c.laid
		if (first || last) && !now.Known() {
			now = x.srv.loop.Stamp()
		}
		if first {
			c.firstSent = now
		}
		if last {
			c.lastSent = now
		}
	}
}

// usage is the count of tokens after the end, as a fault would have it; nil if it
// was not asked for.
func (x *exchange) usage(factor float64) *usage {
	if x.req.stream && !x.req.includeUsage && x.truth.api != responses {
		return nil
	}
	u := &usage{factor: factor}
	for i := range x.st.choices {
		c := &x.st.choices[i]
		u.prompt, u.output = c.seq.Prompt, u.output+c.seq.Output
		u.reasoning += c.shape.reasoning
	}
	// The others find what the first one has put there.
	u.cached = max(0, x.st.choices[0].cached())
	return u
}

// whole sends the answer as one object.
func (x *exchange) whole(box mailbox) {
	st := x.st
	st.buf = appendWhole(st.buf[:0], x.truth.api, x.id, x.req.model.name, x.birth, st.choices, &x.req, x.usage(box.factor))
	for i := range st.choices {
		st.choices[i].laid = st.choices[i].tokens
	}
	if box.broken {
		st.buf = st.buf[:len(st.buf)/2]
		for i := range st.choices {
			st.choices[i].laid = 0
		}
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(st.buf)))
	x.tellTiming("")
	x.w.WriteHeader(http.StatusOK)
	x.truth.status = http.StatusOK
	x.send()
}

// account writes the truth of each choice, after the end: the engine's own figures.
func (x *exchange) account() {
	for i := range x.st.choices {
		t := x.truthOf(i)
		x.srv.truth.write(&t) // before leave, because Close waits for that
		x.trace(&t, x.st.choices[i].why)
	}
}

// truthOf is what is known of a choice, all of it once the engine has ended it.
func (x *exchange) truthOf(i int) truth {
	c := &x.st.choices[i]
	t, s := x.truth, &c.seq
	t.choice, t.finish = i, finishName(c.why)
	t.output, t.sent = s.Output, c.sent
	t.preemptions, t.recomputed, t.preemptedNS = s.Preemptions, s.Recomputed, s.PreemptedNS
	t.spent = s.Spent
	t.cached = c.cached()
	t.arrival, t.queued, t.scheduled = s.Arrival, s.Queued, s.Scheduled
	t.firstToken, t.firstSent = s.FirstToken, c.firstSent
	t.lastToken, t.lastSent = s.LastToken, c.lastSent
	if x.st.remote {
		t.handedOver(&c.handoff, x.st.source)
	}
	return t
}
