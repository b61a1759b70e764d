package traceout

import (
	"testing"
	"time"

	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/otlpin"
)

// TestPassageIsReadAsARouters: what is told of a way comes back as the spans of a router
// and of its hop, of the attempt that they are below.
func TestPassageIsReadAsARouters(t *testing.T) {
	r := otlpin.New()
	s, err := r.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, _ := s.Addrs()
	e, err := New(Config{Endpoint: "http://" + addr.String(), Service: "proxy", Scope: "scope"})
	if err != nil {
		t.Fatal(err)
	}
	client := [8]byte{2}
	r.Expect(trace, client, 0)
	at := func(ms int) time.Time { return time.Unix(1000, int64(ms)*1e6) }
	e.Passage(Passage{
		Trace: trace, Parent: client, Own: [8]byte{3}, Hop: [8]byte{4}, From: at(0), To: at(100), Asked: at(10), Answered: at(90),
		Method: "POST", Path: "/v1/completions", Status: 502, Backend: "http://127.0.0.1:9001", Policy: "p2c", Candidates: 2,
	})
	e.Passage(Passage{Trace: trace, Parent: client, Own: [8]byte{5}, Hop: [8]byte{6}, From: at(200), To: at(201), Method: "POST", Path: "/", Status: 503})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	spans, counted := r.Finish()
	type row struct {
		role     record.SpanRole
		parent   byte
		duration int64 // ms
		failed   bool
	}
	got := map[string]row{}
	for _, s := range spans {
		if s.Attempt != 0 || s.Service != "proxy" {
			t.Errorf("%+v", s)
		}
		got[s.Name] = row{s.Role, s.ParentID[0], s.Duration / 1e6, s.Failed}
	}
	want := map[string]row{
		"POST /v1/completions": {record.SpanRouter, 2, 100, true}, "route": {record.SpanOther, 3, 10, false}, "POST": {record.SpanHop, 3, 80, true},
		"POST /": {record.SpanRouter, 2, 1, true},
	}
	for name, w := range want {
		if got[name] != w {
			t.Errorf("%s: %+v, want %+v", name, got[name], w)
		}
	}
	if len(spans) != 4 || counted["otlp_spans_orphaned"] != 0 {
		t.Errorf("%d spans, %v", len(spans), counted)
	}
}
