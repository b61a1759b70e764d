package traceout

import (
	"net"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/telemetry/otlpin"
)

func oneSpan(i int) []*tracepb.ResourceSpans {
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{numbered(i)}}}}}
}

// TestTee: what a receiver takes is handed on to another one, foreign traces too.
func TestTee(t *testing.T) {
	behind := otlpin.New()
	s, err := behind.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, _ := s.Addrs()
	tee, err := NewTee(Config{Endpoint: "http://" + addr.String()})
	if err != nil {
		t.Fatal(err)
	}
	front := otlpin.New()
	front.Forward(tee.Forward)
	f, err := front.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	at, _ := f.Addrs()
	out, err := New(Config{Endpoint: "http://" + at.String(), Service: "engine", Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	behind.Expect(trace, [8]byte{2}, 0) // the front one expects nothing
	const n = 40
	for i := range n {
		out.Put(numbered(i + 1))
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	sent, lost, err := tee.Close()
	spans, _ := behind.Finish()
	_, counted := front.Finish()
	if sent != n || lost != 0 || err != nil || len(spans) != n || spans[0].Service != "engine" || counted["otlp_spans_foreign"] != n {
		t.Errorf("sent %d, lost %d, %v; %d spans behind it, %v", sent, lost, err, len(spans), counted)
	}
}

// TestTeeToNobody neither waits nor loses anything uncounted.
func TestTeeToNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody is there
	tee, err := NewTee(Config{Endpoint: "http://" + l.Addr().String(), patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	const n = 4 * teeQueue
	for i := range n {
		tee.Forward(oneSpan(i + 1))
	}
	sent, lost, err := tee.Close()
	if sent != 0 || lost != n || err == nil || !strings.Contains(err.Error(), "did not arrive") {
		t.Errorf("sent %d, lost %d, %v", sent, lost, err)
	}
}
