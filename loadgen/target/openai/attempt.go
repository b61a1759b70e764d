package openai

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// attempt is one request in flight. Its goroutine owns it until it posts itself
// into the loop; the loop then delivers the End. Two fields are shared meanwhile:
// cancel, which may be called from anywhere, and answering.
type attempt struct {
	c      *Client
	to     *endpoint
	req    *target.Request
	sink   target.Sink
	ctx    context.Context
	cancel context.CancelCauseFunc

	ttft, total clock.Deadline // the loop's
	answering   atomic.Bool    // the first token has come: the TTFT timeout is off

	up        *upload
	connected bool
	fresh     bool // the connection had not served before
	wrote     bool // the Wrote event is out

	scanner *wire.Scanner
	probe   wire.Probe
	chunk   wire.Chunk
	batch   int        // events of the current read so far
	said    *wire.Said // what the answer says; nil: nobody asks
	told    int        // tokens that the usage of chunks has counted so far

	usage  target.Usage
	result target.Result
	blamed bool // result.Cause is settled
	end    clock.Time
}

var (
	_ clock.Event   = (*attempt)(nil)
	_ clock.Expirer = (*attempt)(nil)
)

// run is the attempt's goroutine.
func (a *attempt) run() {
	a.sink.Event(target.Event{At: a.c.stamp(), Kind: target.Dispatched})
	a.exchange()
	a.cancel(nil)
	// The sender may reuse the prompt after End, and net/http may still be reading
	// it if the server answered early.
	<-a.up.closed
	a.result.BytesOut = a.up.sent.Load()
	a.result.DecodeFallbacks = a.probe.Fallbacks
	if a.said != nil {
		a.quote()
	}
	a.end = a.c.stamp()
	a.late(a.end)
	a.c.cfg.Loop.Post(a)
}

// Fire delivers the End, on the loop's goroutine.
func (a *attempt) Fire(clock.Time) {
	a.c.ended(a)
	a.sink.Event(target.Event{At: a.end, Kind: target.End, Result: &a.result})
}

// Entity is the request's number.
func (a *attempt) Entity() uint64 { return a.req.Seq }

// exchange sends the request and takes the answer.
func (a *attempt) exchange() {
	body := a.c.format.Body(a.c.cfg.Prompt(a.req.Prompt, a.req.Quotes...), wire.Ask{
		MaxTokens: a.req.Out, IgnoreEOS: a.req.IgnoreEOS, Priority: a.req.Priority,
		Model: a.req.Adapter.Name, CacheSalt: a.req.CacheSalt,
	})
	a.up = newUpload(body.Reader(), body.Len(), a.c.cfg.Stamp)
	// No GetBody: it would allow net/http to repeat the request.
	req := &http.Request{
		Method: http.MethodPost, URL: a.to.api, Host: a.c.host, Header: a.header(),
		Body: a.up, ContentLength: body.Len(),
	}
	hooks := a.up.hooks(a.gotConn, a.c.cfg.HTTP2)
	made := new(making)
	made.watch(hooks, a.c.cfg.Stamp)
	leave, err := a.to.gate.enter(a.ctx)
	if err != nil {
		a.up.Close()
		a.failed(err)
		return
	}
	a.to.gate.watch(hooks, leave)
	resp, err := a.to.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(a.ctx, hooks)))
	leave()
	switch {
	case a.fresh:
		a.result.Net = made.net(a.to.number)
	case a.to.number != target.Unknown:
		a.result.Net = &target.Net{URL: a.to.number, DNS: target.Unknown, Dial: target.Unknown, TLS: target.Unknown}
	}
	now := a.c.stamp()
	a.responded(now)
	if err != nil {
		a.failed(err)
		return
	}
	defer resp.Body.Close()
	a.result.Status = resp.StatusCode
	a.result.RetryAfter = retryAfter(resp.Header)
	a.result.Replica = replica(resp.Header)
	a.sink.Event(target.Event{At: now, Kind: target.Header, Status: resp.StatusCode})
	if tell := a.c.cfg.Load; tell != nil {
		if l, ok := wire.ParseLoad(resp.Header.Get(wire.LoadHeader)); ok {
			tell(a.result.Replica, now, l)
		}
	}
	if why := a.unreadable(resp); why != "" {
		a.refused(resp, why)
		return
	}
	if a.c.cfg.streams() {
		// Only now: of requests that wait for their answer there may be very many.
		a.scanner = a.c.scanner()
		a.stream(resp.Body)
		a.scanner.Reset(nil)
		a.c.scanners.Put(a.scanner)
		a.result.Server = account(resp.Trailer)
		return
	}
	a.result.Server = account(resp.Header)
	a.whole(resp.Body)
}

// headerShape asks fake servers for an answer of several parts. One that the user gave
// stays.
const headerShape = "X-Goodput-Shape"

// headerSession tells routers which requests are of one session. One that the user gave
// stays.
const headerSession = "X-Session-Id"

func (a *attempt) header() http.Header {
	h := make(http.Header, len(a.c.header)+5)
	maps.Copy(h, a.c.header)
	h["Content-Type"] = []string{"application/json"}
	h["Accept"] = []string{a.c.cfg.mediaType()}
	if a.c.cfg.streams() {
		h["Te"] = a.c.trailers
	}
	if s := a.req.Shape; s != (target.Shape{}) && a.c.cfg.API == wire.Chat && h[headerShape] == nil {
		h[headerShape] = []string{s.String()}
	}
	if a.c.cfg.Load != nil && h[wire.LoadFormatHeader] == nil {
		h[wire.LoadFormatHeader] = []string{"TEXT"}
	}
	if a.req.Session != 0 && h[headerSession] == nil {
		h[headerSession] = []string{strconv.FormatUint(a.req.Session, 10)}
	}
	if a.req.TraceID != ([16]byte{}) {
		id := hex.EncodeToString(a.req.TraceID[:])
		h["X-Request-Id"] = []string{a.req.Name()}
		if a.req.SpanID != ([8]byte{}) {
			h["Traceparent"] = []string{"00-" + id + "-" + hex.EncodeToString(a.req.SpanID[:]) + "-01"}
		}
	}
	return h
}

func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	a.connected, a.fresh = true, !info.Reused
	a.sink.Event(target.Event{At: a.c.stamp(), Kind: target.Conn, Reused: info.Reused})
	if !a.c.cfg.HTTP2 {
		a.sink.Event(target.Event{At: a.c.stamp(), Kind: target.Writing})
	}
}

// responded reports what net/http's goroutines saw before the header was whole.
func (a *attempt) responded(now clock.Time) {
	if at := clock.Time(a.up.streamed.Load()); at.Known() && a.connected {
		a.sink.Event(target.Event{At: at, Kind: target.Writing})
	}
	first := clock.Time(a.up.firstByte.Load())
	if first.Known() {
		if at, ok := a.up.wroteBefore(first); ok {
			a.uploaded(at)
		}
		a.sink.Event(target.Event{At: first, Kind: target.FirstByte})
	}
	a.late(now)
}

// late reports the end of an upload that goes on beside the answer, once it is
// known and not after now.
func (a *attempt) late(now clock.Time) {
	if a.wrote {
		return
	}
	if at := clock.Time(a.up.wrote.Load()); at.Known() && at <= now {
		a.uploaded(at)
	}
}

func (a *attempt) uploaded(at clock.Time) {
	a.wrote = true
	a.sink.Event(target.Event{At: at, Kind: target.Wrote})
}

// blame settles the cause of the end; the first one counts.
func (a *attempt) blame(cause target.Cause, text string) {
	if a.blamed {
		return
	}
	a.blamed = true
	a.result.Cause = cause
	a.result.Err = wire.Clip(a.clean(text))
}

// clean strikes secrets and the prompt from a text that others have written. It
// comes before any cutting, which could leave half a secret.
func (a *attempt) clean(text string) string {
	text = a.c.secrets.Replace(text)
	head := make([]byte, 96)
	n, _ := io.ReadFull(a.c.cfg.Prompt(a.req.Prompt, a.req.Quotes...).Reader(), head)
	// Of messages it is the text of the first one that is looked for.
	head = head[bytes.LastIndexByte(head[:n], '"')+1 : n]
	head = head[:min(len(head), 32)]
	if at := strings.Index(text, string(head)); len(head) >= minSecret && at >= 0 {
		text = text[:at] + "[prompt]"
	}
	return text
}

// failed settles the cause after an error of net/http.
func (a *attempt) failed(err error) {
	if why, ok := context.Cause(a.ctx).(giveUp); ok {
		a.blame(why.cause, why.Error())
		return
	}
	text := err.Error()
	switch {
	case !a.connected:
		a.c.exhausted.note(err)
		a.blame(target.CauseConnect, "connecting: "+text)
	case a.result.Status != 0 && errors.Is(err, io.ErrUnexpectedEOF):
		a.blame(target.CauseTruncated, record.CutShort)
	case a.result.Status != 0 && broken(err):
		a.blame(target.CauseReset, "connection broken within the answer: "+text)
	case a.result.Status != 0:
		a.blame(target.CauseStreamError, "reading the answer: "+text)
	case broken(err):
		a.blame(target.CauseReset, "connection broken before the answer: "+text)
	default:
		a.blame(target.CauseStreamError, "no valid HTTP answer: "+text)
	}
}

// broken reports whether err is the loss of a connection.
func broken(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || dropped(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		// net/http does not export this one.
		err.Error() == "http: server closed idle connection"
}
