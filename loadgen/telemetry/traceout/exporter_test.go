package traceout

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/telemetry/otlpin"
)

var trace = [16]byte{1}

func numbered(i int) *tracepb.Span {
	return &tracepb.Span{
		TraceId: trace[:], SpanId: []byte{0, 0, 0, 0, 0, 1, byte(i >> 8), byte(i)}, Name: "llm_request", StartTimeUnixNano: 1, EndTimeUnixNano: 2,
	}
}

// TestArrivesAtAReceiver sends several batches over both transports.
func TestArrivesAtAReceiver(t *testing.T) {
	for _, transport := range []string{"gRPC", "HTTP"} {
		t.Run(transport, func(t *testing.T) {
			const n = 500
			r := otlpin.New()
			s, err := r.Listen("127.0.0.1:0", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			overGRPC, overHTTP := s.Addrs()
			endpoint := "http://" + overGRPC.String()
			if transport == "HTTP" {
				endpoint = "http://" + overHTTP.String() + "/v1/traces"
			}
			e, err := New(Config{Endpoint: endpoint, Service: "us", Scope: "scope", Delay: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			r.Expect(trace, [8]byte{2}, 0)
			for i := range n {
				e.Put(numbered(i + 1))
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			spans, counters := r.Finish()
			if len(spans) != n || e.Sent() != n || spans[0].Service != "us" {
				t.Errorf("%d spans arrived, %d by the exporter, %v", len(spans), e.Sent(), counters)
			}
		})
	}
}

// TestSendsWithoutAFullBatch: a span does not wait for others longer than the delay.
func TestSendsWithoutAFullBatch(t *testing.T) {
	r := otlpin.New()
	s, err := r.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, _ := s.Addrs()
	e, err := New(Config{Endpoint: "http://" + addr.String(), Delay: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.Expect(trace, [8]byte{2}, 0)
	e.Span(numbered(1))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r.Wait(ctx, 1); ctx.Err() != nil {
		t.Error("nothing came within a minute")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestTellsWhatWasLost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody is there
	e, err := New(Config{Endpoint: "http://" + l.Addr().String(), patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	e.Span(numbered(1))
	if err := e.Close(); err == nil || !strings.Contains(err.Error(), "1 of 1 did not arrive") {
		t.Errorf("error %v", err)
	}
	full := &Exporter{spans: make(chan *tracepb.Span, 1)}
	full.Span(numbered(1))
	full.Span(numbered(2))
	if full.dropped.Load() != 1 {
		t.Error("a full queue drops nothing, or blocks")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, endpoint := range []string{"", "127.0.0.1:4317", "ftp://x", "http://", "::"} {
		if _, err := New(Config{Endpoint: endpoint}); err == nil {
			t.Errorf("%q was taken", endpoint)
		}
	}
}
