package proxy

import (
	"encoding/binary"
	"net/http"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/wire"
)

// Passage is a request's way through the proxy, for a trace: from when it was
// looked into until its answer was handed on, and within that the time at a backend.
type Passage struct {
	// Caller is what the request's traceparent said; Own and Hop are the spans of the
	// proxy and of its wait for the backend, whose parent Own is.
	Caller   wire.Traceparent
	Own, Hop [8]byte
	// From and To bound the whole, Asked and Answered the hop; Never: nobody was asked.
	From, To, Asked, Answered clock.Time
	Method, Path              string
	// Status is that of the answer; 0: it broke off.
	Status int
	// Backend is its base URL. Policy is the rule, Candidates how
	// many it chose among.
	Backend, Policy string
	Candidates      int
}

// Passages takes them. It must not block.
type Passages interface {
	Passage(p Passage)
}

// begin reads the trace context of a request; nil: it is not traced.
func (p *Proxy) begin(in *http.Request) *Passage {
	if p.passages == nil {
		return nil
	}
	c, ok := wire.ParseTraceparent(in.Header.Get(headerTrace))
	if !ok || !c.Sampled {
		return nil
	}
	ids := p.spans.Stream(p.passed.Add(1))
	out := &Passage{
		Caller: c, From: p.stamp.Stamp(), Asked: clock.Never, Answered: clock.Never, Method: in.Method, Path: in.URL.Path,
		Policy: p.rule, Candidates: len(p.backends),
	}
	binary.BigEndian.PutUint64(out.Own[:], max(1, ids.Uint64()))
	binary.BigEndian.PutUint64(out.Hop[:], max(1, ids.Uint64()))
	return out
}

// headerTrace is the W3C header that a backend finds its parent in.
const headerTrace = "Traceparent"

// spanIDs names the spans of a proxy.
func spanIDs(id string) rng.Family { return rng.Of(0, "proxy-span/"+id) }
