package extproc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// Sees reports whether the picker sees answers, see Config.Requests.
func (x *Exchange) Sees() bool { return !x.client.requests }

// Body is the body of the request as the picker wants it to be. Closing it says that
// nobody wants the rest.
func (x *Exchange) Body() io.ReadCloser { return &reader{x: x, p: x.request} }

// Answer shows the picker the headers of an answer, and who gave it, and returns what
// becomes of the headers. The picker then sees content as it comes, and Next returns what
// the client is to have of it; content nil: there is none. An error of type *Immediate is
// the picker's own answer. It must be called at most once.
func (x *Exchange) Answer(status int, h http.Header, served string, content io.Reader) (*Mutation, error) {
	message := sub(nil, fieldResponseHeaders, headers(fields([]field{{":status", strconv.Itoa(status)}}, h), content == nil))
	message = sub(message, fieldMetadata, metadata(NamespaceDestination, headerServed, stringValue(served)))
	if content == nil {
		x.response.none()
	}
	x.answering.Store(true)
	go func() {
		if x.send(message) != nil {
			if <-x.over; x.err != nil {
				return
			}
		}
		if content != nil {
			x.pump(x.response, fieldResponseBody, content)
		}
	}()
	a, err := x.headAnswer(x.response, func() bool { return true })
	switch {
	case err != nil:
		return nil, x.failed(err)
	case a == nil: // it wants to see no answer
		return &Mutation{}, nil
	}
	return &a.mutation, nil
}

// Next returns the next piece of the answer's body, io.EOF after the last one.
func (x *Exchange) Next() ([]byte, error) {
	data, err := x.next(x.response)
	if err != nil && !errors.Is(err, io.EOF) {
		err = x.failed(err)
	}
	return data, err
}

// Apply changes headers, and counts what can't be done.
func (x *Exchange) Apply(m *Mutation, h http.Header) {
	x.client.counts[Dropped].Add(int64(m.Apply(h)))
}

// reader reads the pieces of a phase.
type reader struct {
	x    *Exchange
	p    *phase
	left []byte
}

func (r *reader) Read(b []byte) (int, error) {
	for len(r.left) == 0 {
		var err error
		if r.left, err = r.x.next(r.p); errors.Is(err, io.EOF) {
			return 0, io.EOF
		} else if err != nil {
			return 0, r.x.failed(err)
		}
	}
	n := copy(b, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (r *reader) Close() error {
	r.p.abandon()
	return nil
}

// headAnswer waits for the answer to headers; nil: the picker ended in good order before.
func (x *Exchange) headAnswer(p *phase, owes func() bool) (*answer, error) {
	w := x.watch()
	defer func() { w.stop() }() // the one of the last tick
	for {
		select {
		case a := <-p.head:
			return a, nil
		case <-x.over:
			select {
			case a := <-p.head:
				return a, nil
			default:
				return nil, x.err
			}
		case <-w.tick.Done():
			if w.stuck(owes) {
				return nil, w.why()
			}
		}
	}
}

// next waits for a piece of a body.
func (x *Exchange) next(p *phase) ([]byte, error) {
	select {
	case b, open := <-p.pieces:
		return piece(b, open)
	default:
	}
	w := x.watch()
	defer func() { w.stop() }() // the one of the last tick
	over := x.over
	for {
		select {
		case b, open := <-p.pieces:
			return piece(b, open)
		case <-over:
			if x.err == nil {
				over = nil // the rest comes without the picker
				continue
			}
			select { // what came before is good
			case b, open := <-p.pieces:
				return piece(b, open)
			default:
				return nil, x.err
			}
		case <-w.tick.Done():
			if w.stuck(p.owes) {
				return nil, w.why()
			}
		}
	}
}

func piece(b []byte, open bool) ([]byte, error) {
	if !open {
		return nil, io.EOF
	}
	return b, nil
}

// watch notices that a picker owes something and has neither taken nor sent a message
// for the timeout: it looks twice in that time.
type watch struct {
	x    *Exchange
	tick context.Context
	stop context.CancelFunc
	last uint64
	idle int
}

func (x *Exchange) watch() *watch {
	w := &watch{x: x, last: x.progress.Load()}
	w.renew()
	return w
}

func (w *watch) renew() {
	w.tick, w.stop = context.WithTimeout(w.x.ctx, w.x.client.timeout/2)
}

// stuck reports whether it is time to give up, or else waits on.
func (w *watch) stuck(owes func() bool) bool {
	w.stop()
	if w.x.ctx.Err() != nil {
		return true
	}
	now := w.x.progress.Load()
	if now == w.last && (w.x.blocked.Load() || owes()) {
		w.idle++
	} else {
		w.idle, w.last = 0, now
	}
	if w.idle >= 2 {
		return true
	}
	w.renew()
	return false
}

// why is the error of a watch that gave up.
func (w *watch) why() error {
	if w.x.ctx.Err() == nil {
		w.x.cancel()
		return ErrTimeout
	}
	if <-w.x.over; w.x.err != nil {
		return w.x.err // the receiver knew first
	}
	return w.x.ctx.Err()
}
