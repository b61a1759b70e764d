package record

import (
	"cmp"
	"slices"
)

// Onion divides the way of an answer, from when the request was written until the
// terminal marker, where a router sent spans, too. Durations are nanoseconds, Null where
// they are unknown. Router is Own + Retries + Hop, and
//
//	Edge + Router + server_e2e = done - wrote
type Onion struct {
	// Edge is what lies before the router. It is below 0 where the router knew only after
	// the client that it was done.
	Edge int64
	// Router is all of the router's time but the engine's.
	Router int64
	// Own is what the router took beside waiting for others, Retries its waiting for
	// those that did not answer in the end, Hop the way to the engine and back.
	Own, Retries, Hop int64
	// Unnested: the spans are not one within the other and one after the other, so that
	// nothing follows from them.
	Unnested bool
}

var unknownOnion = Onion{Edge: Null, Router: Null, Own: Null, Retries: Null, Hop: Null}

// outermost is the span of the router that the client met: of several the one that took
// longest. A span of the engine's own HTTP server is none.
func outermost(engine *Span, path []Span) *Span {
	var out *Span
	for i := range path {
		s := &path[i]
		if s.Role != SpanRouter || s.Failed || engine.Service != "" && s.Service == engine.Service {
			continue
		}
		if out == nil || s.Duration > out.Duration {
			out = s
		}
	}
	return out
}

// peel divides the way of a row that has the account of an engine's span. Hops are those
// of the outermost router, by its service.
func (r *Request) peel(engine *Span, path []Span) {
	way := diff(r.Done, r.Wrote)
	router := outermost(engine, path)
	if router == nil || way == Null || r.ServerE2E == Null {
		return
	}
	o := Onion{Edge: way - router.Duration, Router: router.Duration - r.ServerE2E, Own: Null, Retries: Null, Hop: Null}
	var hops []Span
	for _, s := range path {
		if s.Role == SpanHop && s.Service == router.Service {
			hops = append(hops, s)
		}
	}
	slices.SortFunc(hops, func(a, b Span) int { return cmp.Compare(a.end(), b.end()) })
	for i := 1; i < len(hops); i++ {
		o.Unnested = o.Unnested || hops[i].Start+spanSlack < hops[i-1].end()
	}
	if len(hops) > 0 {
		won := &hops[len(hops)-1]
		o.Retries = 0
		for _, s := range hops[:len(hops)-1] {
			o.Retries += s.Duration
		}
		o.Own, o.Hop = router.Duration-o.Retries-won.Duration, won.Duration-r.ServerE2E
	}
	for _, part := range []int64{o.Router, o.Own, o.Hop} {
		o.Unnested = o.Unnested || part != Null && part < -spanSlack
	}
	if o.Unnested {
		o = unknownOnion
		o.Unnested = true
	}
	r.Onion = o
}
