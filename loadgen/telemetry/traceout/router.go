package traceout

import (
	"net"
	"net/url"
	"strconv"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Passage is the way of one request through a router, which is told by three spans: a
// server's of the whole, within that a client's of the wait for the engine, and an
// internal one of the choice.
type Passage struct {
	Trace            [16]byte
	Parent, Own, Hop [8]byte
	// From and To bound the whole, Asked and Answered the wait; a zero Asked: nobody was.
	From, To, Asked, Answered time.Time
	Method, Path              string
	Status                    int // of the answer; 0: it broke off
	Backend                   string
	Policy                    string
	Candidates                int // that it chose among
}

// Passage takes the spans of a way. They are dropped, and counted, if the queue is full.
func (e *Exporter) Passage(p Passage) {
	failed := p.Status == 0 || p.Status >= 500
	whole := p.span(p.Own, p.Parent, p.Method+" "+p.Path, tracepb.Span_SPAN_KIND_SERVER, p.From, p.To)
	whole.Attributes = []*common.KeyValue{text("http.request.method", p.Method), text("http.route", p.Path)}
	fail(whole, failed, p.Status)
	e.Span(whole)
	if p.Asked.IsZero() {
		return
	}
	route := p.span(p.Hop, p.Own, "route", tracepb.Span_SPAN_KIND_INTERNAL, p.From, p.Asked)
	route.SpanId[0] ^= 0x80 // of the three, it is nobody's parent
	route.Attributes = []*common.KeyValue{text("goodput.router.policy", p.Policy), number("goodput.router.candidates", p.Candidates), text("goodput.router.endpoint", p.Backend)}
	e.Span(route)
	hop := p.span(p.Hop, p.Own, p.Method, tracepb.Span_SPAN_KIND_CLIENT, p.Asked, p.Answered)
	hop.Attributes = []*common.KeyValue{text("http.request.method", p.Method)}
	if u, err := url.Parse(p.Backend); err == nil {
		host, port, err := net.SplitHostPort(u.Host)
		if err != nil {
			host = u.Host
		}
		hop.Attributes = append(hop.Attributes, text("server.address", host))
		if n, err := strconv.Atoi(port); err == nil {
			hop.Attributes = append(hop.Attributes, number("server.port", n))
		}
	}
	fail(hop, failed, p.Status)
	e.Span(hop)
}

func (p *Passage) span(id, parent [8]byte, name string, kind tracepb.Span_SpanKind, from, to time.Time) *tracepb.Span {
	return &tracepb.Span{
		TraceId: append([]byte(nil), p.Trace[:]...), SpanId: append([]byte(nil), id[:]...), ParentSpanId: append([]byte(nil), parent[:]...),
		Flags: 1, Name: name, Kind: kind, StartTimeUnixNano: uint64(from.UnixNano()), EndTimeUnixNano: uint64(to.UnixNano()),
	}
}

// fail marks a span with the status of the answer.
func fail(s *tracepb.Span, failed bool, status int) {
	if status > 0 {
		s.Attributes = append(s.Attributes, number("http.response.status_code", status))
	}
	if failed {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR}
	}
}

func text(key, v string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}}
}

func number(key string, v int) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(v)}}}
}
