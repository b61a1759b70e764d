package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"

	"goodput/fakeengine/proxy/extproc"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// picks count what became of a picker's decisions.
type picks struct{ fellBack, outside, opened, cut atomic.Int64 }

// Picks is what became of a picker's decisions, beside what extproc counts.
type Picks struct {
	// FellBack are requests that went to a further endpoint of the list, because the one
	// before could not be connected to.
	FellBack int64
	// Outside are endpoints that are no backend of this proxy.
	Outside int64
	// Opened are requests that went by the rule, because the picker failed.
	Opened int64
	// Cut are answers that were broken off, because the picker failed in their midst.
	Cut int64
}

// Picks tells what became of the picker's decisions.
func (p *Proxy) Picks() Picks {
	return Picks{p.picks.fellBack.Load(), p.picks.outside.Load(), p.picks.opened.Load(), p.picks.cut.Load()}
}

// asking sends a request where the picker says.
func (p *Proxy) asking(w http.ResponseWriter, in *http.Request, route *router.Request, body content, via string) {
	var from io.Reader
	if !body.none {
		from = body.reader()
	}
	scheme := "http"
	if in.TLS != nil {
		scheme = "https"
	}
	asked, d, err := p.picker.Open(in.Context(), &extproc.Head{
		Method: in.Method, Scheme: scheme, Authority: in.Host, Path: in.URL.RequestURI(), Header: in.Header,
	}, from)
	defer func() { asked.Close() }() // it is there with an error too
	if err == nil && d.Immediate != nil {
		immediately(w, asked, d.Immediate)
		return
	}
	var ids []int
	var changed content
	if err == nil {
		if ids = p.named(d.Endpoints); len(ids) == 0 {
			err = fmt.Errorf("the picker names %v, which are no backends of this proxy", d.Endpoints)
		} else {
			changed, err = gather(asked, body.none)
		}
	}
	switch {
	case err == nil:
		p.sendPicked(w, in, &pickedRequest{asked, d, ids, route, changed, via})
	case in.Context().Err() != nil: // the client has left
	case p.failOpen && body.rest == nil || p.failOpen && body.none:
		p.picks.opened.Add(1)
		p.byRule(w, in, route, body, via)
	default:
		refusePicker(w, err)
	}
}

// refusePicker answers a request of which the picker could not be asked, with the
// statuses of Envoy.
func refusePicker(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, extproc.ErrTimeout) {
		status = http.StatusGatewayTimeout
	}
	refuse(w, status, err.Error())
}

// named are the backends of endpoints.
func (p *Proxy) named(endpoints []string) (ids []int) {
	for _, e := range endpoints {
		i := slices.IndexFunc(p.backends, func(b backend) bool { return b.addr == e })
		if i < 0 {
			p.picks.outside.Add(1)
		} else if !slices.Contains(ids, i) {
			ids = append(ids, i)
		}
	}
	return ids
}

// gather reads the body that the picker sends back, as far as it is looked into: one that
// is known whole has a length, and can be sent again.
func gather(asked *extproc.Exchange, none bool) (content, error) {
	if none {
		return content{none: true}, nil
	}
	from := asked.Body()
	head, err := io.ReadAll(io.LimitReader(from, maxLook))
	switch {
	case err != nil:
		return content{}, fmt.Errorf("reading the request from the picker: %w", err)
	case len(head) == maxLook:
		return content{head: head, rest: from}, nil
	}
	return content{head: head}, nil
}

// pickedRequest is a request that a picker has decided.
type pickedRequest struct {
	asked    *extproc.Exchange
	decision *extproc.Decision
	ids      []int // of backends, the one to be tried first first
	route    *router.Request
	body     content
	via      string
}

// sendPicked sends a request to the first of the backends that can be connected to.
func (p *Proxy) sendPicked(w http.ResponseWriter, in *http.Request, r *pickedRequest) {
	for k, id := range r.ids {
		if k > 0 {
			p.picks.fellBack.Add(1)
		}
		p.place(r.route, id)
		x := &exchange{proxy: p, route: r.route, id: id, end: router.End{FirstToken: clock.Never}}
		last := k == len(r.ids)-1 || r.body.rest != nil
		if x.forwardPicked(w, in, r, last) {
			return
		}
	}
}

// place charges a request to the backend that the picker chose.
func (p *Proxy) place(r *router.Request, id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.At = p.stamp.Stamp()
	p.fleet.Place(r, id)
}

// forwardPicked sends the request and copies the answer. It reports false if another
// backend may be tried instead.
func (x *exchange) forwardPicked(w http.ResponseWriter, in *http.Request, r *pickedRequest, last bool) bool {
	defer x.leave()
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	out, err := x.outgoing(ctx, in, r.body.reader(), r.via)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return true
	}
	r.asked.Apply(&r.decision.Headers, out.Header)
	out.Header.Del("Content-Length")
	switch {
	case r.body.none || r.body.rest == nil && len(r.body.head) == 0:
		out.Body, out.ContentLength = http.NoBody, 0
	case r.body.rest == nil:
		out.ContentLength = int64(len(r.body.head))
	default:
		out.ContentLength = -1
	}
	resp, err := x.proxy.transport.RoundTrip(out)
	if err != nil {
		var dial *net.OpError
		if !last && in.Context().Err() == nil && errors.As(err, &dial) && dial.Op == "dial" {
			x.proxy.leaveOut(x.id)
			x.end.Status = http.StatusBadGateway
			return false
		}
		w.Header().Set(headerReplica, x.proxy.backends[x.id].name)
		x.unreachable(w, in, err)
		return true
	}
	defer func() { _ = resp.Body.Close() }() // what was read is all that counts
	x.end.Status = resp.StatusCode
	passOn(w.Header(), resp.Header)
	if r.asked.Sees() {
		x.copyPicked(ctx, w, resp, r.asked)
		return true
	}
	w.Header().Set(headerReplica, x.proxy.backends[x.id].name)
	w.WriteHeader(resp.StatusCode)
	x.copy(w, resp)
	return true
}

// copyPicked shows the picker the answer and hands on what it makes of it.
func (x *exchange) copyPicked(ctx context.Context, w http.ResponseWriter, resp *http.Response, asked *extproc.Exchange) {
	var from io.Reader
	if resp.ContentLength != 0 && resp.Body != http.NoBody {
		from = resp.Body
	}
	h := w.Header()
	m, err := asked.Answer(resp.StatusCode, h, x.proxy.backends[x.id].addr, from)
	var own *extproc.Immediate
	switch {
	case errors.As(err, &own):
		clear(h)
		immediately(w, asked, own)
		return
	case ctx.Err() != nil:
		x.end.Status = 0
		return
	case errors.Is(err, extproc.ErrBroken):
		clear(h)
		x.end.Status = http.StatusBadGateway
		refuse(w, http.StatusBadGateway, fmt.Sprintf("backend %d broke its answer off", x.id))
		return
	case err != nil:
		clear(h)
		h.Set(headerReplica, x.proxy.backends[x.id].name)
		refusePicker(w, err)
		return
	}
	asked.Apply(m, h)
	if from != nil {
		h.Del("Content-Length") // the picker may change it
	}
	h.Set(headerReplica, x.proxy.backends[x.id].name)
	w.WriteHeader(resp.StatusCode)
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	for {
		piece, err := asked.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			x.end.Status = 0
			if ctx.Err() == nil && !errors.Is(err, extproc.ErrBroken) {
				x.proxy.picks.cut.Add(1)
			}
			_ = rc.Flush()
			panic(http.ErrAbortHandler)
		}
		x.saw(piece)
		if _, err := w.Write(piece); err != nil {
			x.end.Status = 0 // the client has left
			return
		}
		_ = rc.Flush()
	}
}

// immediately answers with the picker's own answer.
func immediately(w http.ResponseWriter, asked *extproc.Exchange, i *extproc.Immediate) {
	h := w.Header()
	h.Set("Content-Type", "text/plain")
	asked.Apply(&i.Headers, h)
	h.Del("Content-Length")
	w.WriteHeader(i.Status)
	_, _ = io.Copy(w, bytes.NewReader(i.Body)) // nobody is left to tell of an error
}
