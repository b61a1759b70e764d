package record

import (
	"testing"

	"pgregory.net/rapid"
)

// pathSpan is a span of a router or of one of its hops, from..to in milliseconds.
func pathSpan(id byte, role SpanRole, service string, from, to int64) Span {
	s := UnknownSpan()
	s.TraceID, s.SpanID, s.Attempt, s.Role, s.Service = [16]byte{1}, [8]byte{id}, 0, role, service
	s.Start, s.Duration = from*1e6, (to-from)*1e6
	return s
}

func ofService(name string) func(*Span) { return func(s *Span) { s.Service = name } }

// TestOnion: the way of an answer of 150 ms, of which the engine had 100.
func TestOnion(t *testing.T) {
	engine := engineSpan(1, 20, 120, 11, ofService("vllm"))
	router := pathSpan(2, SpanRouter, "router", 5, 135)
	for _, c := range []struct {
		name  string
		spans []Span
		want  Onion
	}{
		{"no router", []Span{engine}, unknownOnion},
		{
			"a router that tells only of itself, as llm-d's endpoint picker does",
			[]Span{engine, router},
			Onion{20e6, 30e6, Null, Null, Null, false},
		},
		{
			"and of its hop, as vLLM's production stack does",
			[]Span{engine, router, pathSpan(3, SpanHop, "router", 10, 120)},
			Onion{20e6, 30e6, 20e6, 0, 10e6, false},
		},
		{
			"and of one that failed before",
			[]Span{engine, router, pathSpan(3, SpanHop, "router", 6, 16), pathSpan(4, SpanHop, "router", 16, 120)},
			Onion{20e6, 30e6, 16e6, 10e6, 4e6, false},
		},
		{"a router behind the router, which is of its hop", []Span{
			engine, router, pathSpan(3, SpanHop, "router", 10, 120), pathSpan(4, SpanRouter, "sidecar", 12, 118), pathSpan(5, SpanHop, "sidecar", 14, 116),
		}, Onion{20e6, 30e6, 20e6, 0, 10e6, false}},
		{
			"two hops at one time",
			[]Span{engine, router, pathSpan(3, SpanHop, "router", 6, 80), pathSpan(4, SpanHop, "router", 10, 120)},
			Onion{Null, Null, Null, Null, Null, true},
		},
		{
			"a router that was done before the engine",
			[]Span{engine, pathSpan(2, SpanRouter, "router", 5, 50)},
			Onion{Null, Null, Null, Null, Null, true},
		},
		{
			"a router that was done after the client",
			[]Span{engine, pathSpan(2, SpanRouter, "router", 5, 300)},
			Onion{-145e6, 195e6, Null, Null, Null, false},
		},
		{"the engine's own HTTP server", []Span{engine, pathSpan(2, SpanRouter, "vllm", 5, 135)}, unknownOnion},
		{"a router of an attempt that is not known", []Span{engine, func() Span { s := router; s.Attempt = Null32; return s }()}, unknownOnion},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := joinAll(answered(), c.spans...)
			if r.Spans != SpanJoined || r.Onion != c.want {
				t.Errorf("match %d, %+v; want %+v", r.Spans, r.Onion, c.want)
			}
		})
	}
}

// TestOnionSumsToTheWay: whatever spans come, the parts of a row that has them sum to
// what the client saw, to the nanosecond.
func TestOnionSumsToTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := []Span{engineSpan(1, 20, 20+rapid.Int64Range(1, 160).Draw(t, "engine"), 11, ofService("vllm"))}
		for i := range rapid.IntRange(0, 6).Draw(t, "spans") {
			from := rapid.Int64Range(0, 160).Draw(t, "from")
			spans = append(spans, pathSpan(byte(i+2), rapid.SampledFrom([]SpanRole{SpanRouter, SpanHop}).Draw(t, "role"),
				rapid.SampledFrom([]string{"router", "sidecar", "vllm"}).Draw(t, "service"), from, from+rapid.Int64Range(0, 160).Draw(t, "long")))
		}
		r := joinAll(answered(), spans...)
		o := r.Onion
		switch {
		case o.Unnested && (o.Edge != Null || o.Router != Null || o.Own != Null):
			t.Fatalf("%+v", o)
		case o.Edge != Null && o.Edge+o.Router+r.ServerE2E != diff(r.Done, r.Wrote):
			t.Fatalf("%+v and %d do not sum to %d", o, r.ServerE2E, diff(r.Done, r.Wrote))
		case o.Own != Null && o.Own+o.Retries+o.Hop != o.Router:
			t.Fatalf("%+v: the router's parts do not sum to it", o)
		}
	})
}
