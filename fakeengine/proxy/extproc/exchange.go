package extproc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// Head is the first line and the headers of a request.
type Head struct {
	Method, Scheme, Authority, Path string
	Header                          http.Header
}

// Decision is what a picker says of a request.
type Decision struct {
	// Endpoints are addresses with ports, the one to be tried first first.
	Endpoints []string
	// Headers changes those of the request.
	Headers Mutation
	// Immediate is the answer that the picker gives itself; nil: none.
	Immediate *Immediate
}

// Immediate is an answer of the picker's own.
type Immediate struct {
	Status  int
	Headers Mutation
	Body    []byte
}

// Error implements error: what was going on is over with this.
func (i *Immediate) Error() string { return fmt.Sprintf("the picker answers with %d", i.Status) }

// ErrBroken is returned when a body that a picker was shown broke off.
var ErrBroken = errors.New("the body broke off")

// ErrTimeout is returned when a picker owes something for too long.
var ErrTimeout = errors.New("the endpoint picker does not answer in time")

var (
	errHalf      = errors.New("the picker ended the stream with half of a body sent back")
	errUndecided = errors.New("the picker ended the stream without a decision")
	errNowhere   = errors.New("the picker names no endpoint, neither in the header nor in the metadata")
	errTwice     = errors.New("the picker answers the same headers twice")
	errUnasked   = errors.New("the picker answers what it was not asked")
)

// Exchange is one request at the picker. One goroutine calls its methods; Close must be
// called.
type Exchange struct {
	client *Client
	parent context.Context // of the client's request
	ctx    context.Context
	cancel context.CancelFunc

	request, response *phase
	sending           sync.Mutex
	stream            sender
	blocked           atomic.Bool   // a message is being sent
	progress          atomic.Uint64 // messages that were sent or came
	answering         atomic.Bool   // the headers of the answer were sent
	broken            atomic.Bool   // a body that the picker is shown broke off

	over chan struct{} // closed when the picker's side has ended, and what it left has been handed on
	err  error         // why it ended, after over; nil: in good order
}

// sender is the part of a stream that is used.
type sender interface {
	SendMsg(m any) error
	RecvMsg(m any) error
}

// Open begins an exchange: it sends the headers, then content as it comes, whose end the
// picker is told. It returns the picker's decision, or an error that Reason explains.
// The exchange is never nil, and must be closed even then.
func (c *Client) Open(ctx context.Context, h *Head, content io.Reader) (*Exchange, *Decision, error) {
	c.counts[Asked].Add(1)
	// A picker may answer the pieces of a request before its headers.
	x := &Exchange{client: c, parent: ctx, request: newPhase(maxHeld / maxPiece), response: newPhase(16), over: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancel(ctx)
	d, err := x.open(h, content)
	switch {
	case err != nil:
		return x, nil, x.failed(err)
	case d.Immediate != nil:
		c.counts[Answered].Add(1)
	default:
		c.counts[Picked].Add(1)
	}
	return x, d, nil
}

func (x *Exchange) open(h *Head, content io.Reader) (*Decision, error) {
	stream, err := x.connect()
	if err != nil {
		x.err = err
		close(x.over)
		return nil, err
	}
	x.stream = stream
	go x.receive()
	message := sub(nil, fieldRequestHeaders, headers(fields([]field{
		{":method", h.Method}, {":scheme", h.Scheme}, {":authority", h.Authority}, {":path", h.Path},
	}, h.Header), content == nil))
	mode := uint64(modeDuplex)
	if x.client.requests {
		mode = modeNone
	}
	message = sub(message, fieldProtocolConfig, protocolConfig(mode))
	if x.client.subset != nil {
		message = sub(message, fieldMetadata, x.client.subset)
	}
	if content == nil {
		x.request.none()
	}
	go x.begin(message, content)
	a, err := x.headAnswer(x.request, x.request.sentAll)
	if err == nil && a == nil {
		err = errUndecided
	}
	if err != nil {
		var i *Immediate
		if errors.As(err, &i) {
			return &Decision{Immediate: i}, nil
		}
		return nil, err
	}
	return decide(a)
}

// connect begins a stream; what there is of a connection must come within the timeout.
func (x *Exchange) connect() (sender, error) {
	wait, done := context.WithTimeout(x.ctx, x.client.timeout)
	defer done()
	type opened struct {
		s   sender
		err error
	}
	ready := make(chan opened, 1)
	go func() {
		s, err := x.client.stream(x.ctx)
		ready <- opened{s, err}
	}()
	select {
	case o := <-ready:
		return o.s, o.err
	case <-wait.Done():
		if err := x.ctx.Err(); err != nil {
			return nil, err
		}
		x.cancel()
		return nil, ErrTimeout
	}
}

// begin sends the headers of the request and then its body.
func (x *Exchange) begin(message []byte, content io.Reader) {
	if x.send(message) == nil && content != nil { // else the receiver tells why
		x.pump(x.request, fieldRequestBody, content)
	}
}

// decide reads what a picker says of a request.
func decide(a *answer) (*Decision, error) {
	list := a.endpoints
	if list == "" {
		list = a.mutation.get(HeaderDestination)
	}
	d := &Decision{Headers: a.mutation}
	for e := range strings.SplitSeq(list, ",") {
		if e = strings.TrimSpace(e); e != "" {
			d.Endpoints = append(d.Endpoints, e)
		}
	}
	if len(d.Endpoints) == 0 {
		return nil, errNowhere
	}
	return d, nil
}

// send sends one message.
func (x *Exchange) send(message []byte) error {
	x.sending.Lock()
	defer x.sending.Unlock()
	x.blocked.Store(true)
	defer x.blocked.Store(false)
	f := frame(message)
	err := x.stream.SendMsg(&f)
	x.progress.Add(1)
	return err
}

// maxPiece is the largest piece of a body that is sent in one message.
const maxPiece = 64 << 10

// pump sends a body to the picker, piece by piece. A body that breaks off takes the
// exchange with it.
func (x *Exchange) pump(p *phase, n protowire.Number, from io.Reader) {
	buf := make([]byte, maxPiece)
	for end := false; !end; {
		size, err := from.Read(buf)
		end = errors.Is(err, io.EOF)
		if err != nil && !end {
			x.broken.Store(true)
			x.cancel()
			return
		}
		if size == 0 && !end {
			continue
		}
		piece := bytes.Clone(buf[:size])
		if p.note(piece, end) {
			<-x.over
			p.push(piece, end)
		} else if x.send(sub(nil, n, body(piece, end))) != nil {
			// If the picker ended in good order, the receiver hands on the piece.
			if <-x.over; x.err != nil {
				return
			}
		}
	}
}

// receive takes the picker's messages until its end.
func (x *Exchange) receive() {
	var err error
	for err == nil {
		var f frame
		if err = x.stream.RecvMsg(&f); err != nil {
			break
		}
		x.progress.Add(1)
		var a *answer
		if a, err = parse(f); err == nil {
			err = x.take(a)
		}
	}
	if !errors.Is(err, io.EOF) {
		x.err = err
		x.cancel()
	} else {
		x.err = x.letGo()
	}
	close(x.over)
}

// letGo hands on what the picker left unanswered when it ended the stream.
func (x *Exchange) letGo() error {
	var err error
	for _, p := range []*phase{x.request, x.response} {
		held, ok := p.release()
		if !ok {
			err = errHalf
			continue
		}
		for _, s := range held {
			p.push(s.data, s.end)
		}
	}
	return err
}

// take sorts an answer in.
func (x *Exchange) take(a *answer) error {
	switch a.kind {
	case toRequestHeaders:
		return x.request.headed(a)
	case toResponseHeaders:
		if !x.answering.Load() {
			return errUnasked
		}
		return x.response.headed(a)
	case toRequestBody:
		return x.request.take(&a.body)
	case toResponseBody:
		if !x.answering.Load() {
			return errUnasked
		}
		return x.response.take(&a.body)
	case immediate:
		return &Immediate{Status: a.status, Headers: a.mutation, Body: a.text}
	case streamedImmediate:
		return errors.New("the picker streams an answer of its own, which can't be done here: it has to send it in one message")
	}
	return nil // of trailers, which are not sent, or of what is not known yet
}

// failed counts why an exchange failed, and returns why.
func (x *Exchange) failed(err error) error {
	var i *Immediate
	var n Counter
	switch {
	case errors.As(err, &i):
		n = Answered
	case x.parent.Err() != nil:
		n = Abandoned
		err = x.parent.Err()
	case x.broken.Load():
		return ErrBroken
	case errors.Is(err, ErrTimeout):
		n = TimedOut
	case status.Code(err) == codes.Unavailable:
		n = Unreachable
		err = fmt.Errorf("the endpoint picker can't be reached: %w", err)
	default:
		n = Failed
	}
	x.client.counts[n].Add(1)
	return err
}

// Close ends the exchange; the picker sees the stream end.
func (x *Exchange) Close() {
	x.request.abandon()
	x.response.abandon()
	x.cancel()
}
