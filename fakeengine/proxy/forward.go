package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// ServeHTTP implements http.Handler: it sends the request to a backend and its answer
// back as it comes.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	via := in.Header.Get(headerVia)
	hops := strings.FieldsFunc(via, func(c rune) bool { return c == ',' || c == ' ' })
	switch {
	case slices.Contains(hops, p.id):
		refuse(w, http.StatusLoopDetected, "the request has been here before: a backend of this proxy leads back to it")
		return
	case len(hops) >= maxHops:
		refuse(w, http.StatusLoopDetected, fmt.Sprintf("the request has passed %d proxies", len(hops)))
		return
	}
	route, body, err := p.look(in)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	via = strings.Join(append(hops, p.id), ", ")
	if p.picker != nil {
		p.asking(w, in, route, body, via)
		return
	}
	p.byRule(w, in, route, body, via)
}

// byRule sends a request where the policy says, and elsewhere if that refuses it and the
// policy has it go on.
func (p *Proxy) byRule(w http.ResponseWriter, in *http.Request, route *router.Request, body content, via string) {
	for p.once(w, in, route, body, via) {
		clear(w.Header())
	}
}

// once sends a request to one backend; again: it was refused, and is to go to another one.
func (p *Proxy) once(w http.ResponseWriter, in *http.Request, route *router.Request, body content, via string) (again bool) {
	passage := p.begin(in)
	id, wait := p.pick(route)
	if id == router.None {
		w.Header().Set("Retry-After", strconv.FormatInt(max(1, int64(math.Ceil(wait.Seconds()))), 10))
		refuse(w, http.StatusServiceUnavailable, "no backend takes requests now")
		return false
	}
	x := &exchange{proxy: p, route: route, id: id, end: router.End{FirstToken: clock.Never}, passage: passage}
	defer x.leave()
	w.Header().Set(headerReplica, p.backends[id].name)
	return x.forward(w, in, body, via)
}

// exchange is one request at one backend.
type exchange struct {
	proxy *Proxy
	route *router.Request
	id    int
	end   router.End

	passage *Passage // nil: it is not traced
}

func (x *exchange) leave() {
	x.proxy.done(x.route, x.id, x.end)
	if p := x.passage; p != nil {
		p.To = x.proxy.stamp.Stamp()
		if p.Asked.Known() && !p.Answered.Known() {
			p.Answered = p.To // it broke off, or there was none
		}
		p.Status, p.Backend = x.end.Status, x.proxy.backends[x.id].base.String()
		x.proxy.passages.Passage(*p)
	}
}

// hopByHop are the headers that belong to one connection (RFC 9110, 7.6.1).
var hopByHop = [...]string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// passOn copies the headers that are not for one connection.
func passOn(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
	for _, list := range from["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			to.Del(textproto.TrimString(name))
		}
	}
	for _, name := range hopByHop {
		to.Del(name)
	}
}

// outgoing is the request as the backend gets it.
func (x *exchange) outgoing(ctx context.Context, in *http.Request, body io.Reader, via string) (*http.Request, error) {
	to := *x.proxy.backends[x.id].base
	to.Path, to.RawQuery = to.Path+in.URL.Path, in.URL.RawQuery
	out, err := http.NewRequestWithContext(ctx, in.Method, to.String(), body)
	if err != nil {
		return nil, err
	}
	passOn(out.Header, in.Header)
	if strings.Contains(in.Header.Get("Te"), "trailers") {
		out.Header["Te"] = []string{"trailers"} // they are handed on
	}
	out.Header.Set(headerVia, via)
	if x.proxy.loads && out.Header[wire.LoadFormatHeader] == nil {
		out.Header[wire.LoadFormatHeader] = []string{"TEXT"}
	}
	if out.ContentLength = in.ContentLength; in.ContentLength == 0 {
		out.Body = http.NoBody
	}
	if _, named := out.Header["User-Agent"]; !named {
		out.Header["User-Agent"] = nil // the transport would add its own
	}
	if p := x.passage; p != nil {
		parent := p.Caller
		parent.Parent = p.Hop
		out.Header[headerTrace] = []string{parent.String()}
		p.Asked = x.proxy.stamp.Stamp()
	}
	return out, nil
}

// forward sends the request and copies the answer, unless that is a refusal with which the
// request is to go elsewhere. A body that is not known whole can be sent only once.
func (x *exchange) forward(w http.ResponseWriter, in *http.Request, body content, via string) (again bool) {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	out, err := x.outgoing(ctx, in, body.reader(), via)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return false
	}
	resp, err := x.proxy.transport.RoundTrip(out)
	if err != nil {
		x.unreachable(w, in, err)
		return false
	}
	defer func() { _ = resp.Body.Close() }() // what was read is all that counts
	x.end.Status, x.end.RetryAfter = resp.StatusCode, retryAfter(resp.Header)
	if resp.StatusCode >= http.StatusBadRequest && body.rest == nil && x.proxy.elsewhere(x.route, x.id, resp.StatusCode) {
		return true
	}
	passOn(w.Header(), resp.Header)
	x.heard(w.Header(), in)
	w.Header().Set(headerReplica, x.proxy.backends[x.id].name)
	w.WriteHeader(resp.StatusCode)
	x.copy(w, resp)
	return false
}

// retryAfter is what a backend says in seconds; 0: nothing, or a date, or beyond an hour.
func retryAfter(h http.Header) time.Duration {
	s, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || s < 0 || s > 3600 {
		return 0
	}
	return time.Duration(s) * time.Second
}

// unreachable answers a request whose backend did not.
func (x *exchange) unreachable(w http.ResponseWriter, in *http.Request, err error) {
	if in.Context().Err() != nil {
		return // the client has left: it is not the backend's fault
	}
	x.proxy.leaveOut(x.id)
	x.end.Status = http.StatusBadGateway
	refuse(w, http.StatusBadGateway, fmt.Sprintf("backend %d gave no answer: %v", x.id, err))
}

// copy hands on the body, read by read. If the backend breaks off, so does it: the
// client must see that there was more.
func (x *exchange) copy(w http.ResponseWriter, resp *http.Response) {
	rc := http.NewResponseController(w)
	if resp.ContentLength < 0 {
		_ = rc.Flush() // a stream: the client may want to know that it was accepted
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			x.saw(buf[:n])
			if _, werr := w.Write(buf[:n]); werr != nil {
				x.end.Status = 0 // the client has left
				return
			}
			if resp.ContentLength < 0 {
				_ = rc.Flush() // a client that has left shows at the next write
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			for name, values := range resp.Trailer {
				w.Header()[http.TrailerPrefix+name] = values
			}
			if p := x.passage; p != nil {
				p.Answered = x.proxy.stamp.Stamp()
			}
			return
		default:
			x.end.Status = 0
			_ = rc.Flush() // what came is the client's
			panic(http.ErrAbortHandler)
		}
	}
}

// saw notes that a piece of the answer came.
func (x *exchange) saw(piece []byte) {
	if !x.end.FirstToken.Known() && x.end.Status == http.StatusOK {
		x.end.FirstToken = x.proxy.answered(x.route, x.id)
	}
	x.end.Out += bytes.Count(piece, dataPrefix) // about one token each
}

// dataPrefix begins an event of a stream.
var dataPrefix = []byte("data:")

// refuse answers in the shape of an OpenAI error.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Nobody is left to tell of an error.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": why, "type": http.StatusText(status), "param": nil, "code": status,
	}})
}
