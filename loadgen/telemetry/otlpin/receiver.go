package otlpin

import (
	"cmp"
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/record"
)

const (
	shards      = 64
	maxSpans    = 1 << 20 // kept in all
	maxPerTrace = 1 << 9  // of one trace; engines may send one for each token
	maxForeign  = 1 << 10 // trace ids a shard that are remembered, to tell who was early
	maxChain    = 1 << 6  // parents that are followed
	maxName     = 1 << 8  // bytes of a request's name that is searched for a trace
)

// Receiver holds the spans of a run. It may be used from several goroutines.
type Receiver struct {
	shard [shards]shard
	room  atomic.Int64 // spans that may still be kept

	kept, foreign, early, duplicate, badID, overCapacity atomic.Int64
	byName                                               atomic.Int64
	refused                                              atomic.Int64

	// engines and routers count traces that have a span of the kind.
	mu               sync.Mutex
	engines, routers int64
	waiter           *waiter // nil: nobody waits

	forward func([]*tracepb.ResourceSpans) // nil: to nobody

	alive  chan struct{} // closed when any span has come
	revive sync.Once
}

type waiter struct {
	n    int64
	done chan struct{}
}

type shard struct {
	mu      sync.Mutex
	traces  map[[16]byte]*trace
	foreign map[[16]byte]int64 // spans by trace id
}

// trace is one request: its attempts by number, and the spans that came for it.
type trace struct {
	attempts       []attempt
	spans          []record.Span
	engine, router bool // has a span of the kind
}

type attempt struct {
	span   [8]byte
	number int32
}

// New returns a receiver that expects nothing yet.
func New() *Receiver {
	r := &Receiver{alive: make(chan struct{})}
	r.room.Store(maxSpans)
	for i := range r.shard {
		r.shard[i].traces, r.shard[i].foreign = map[[16]byte]*trace{}, map[[16]byte]int64{}
	}
	return r
}

func (r *Receiver) of(id [16]byte) *shard { return &r.shard[id[15]%shards] }

// Alive is closed once any span has come, of this run or not: somebody exports.
func (r *Receiver) Alive() <-chan struct{} { return r.alive }

// Expect announces an attempt, before it is sent.
func (r *Receiver) Expect(id [16]byte, span [8]byte, number int) {
	s := r.of(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.traces[id]
	if t == nil {
		t = &trace{}
		s.traces[id] = t
		if n := s.foreign[id]; n > 0 {
			r.early.Add(n)
			delete(s.foreign, id)
		}
	}
	t.attempts = append(t.attempts, attempt{span, int32(number)})
}

// Forward has f called with every export that could be read, of whatever traces. f must not
// block or change it. Forward must be called before anything is taken.
func (r *Receiver) Forward(f func([]*tracepb.ResourceSpans)) { r.forward = f }

// take keeps the spans of an export that are of this run.
func (r *Receiver) take(in *collector.ExportTraceServiceRequest) {
	if r.forward != nil {
		r.forward(in.GetResourceSpans())
	}
	named := false
	for _, rs := range in.GetResourceSpans() {
		service := serviceName(rs.GetResource())
		for _, ss := range rs.GetScopeSpans() {
			for _, sp := range ss.GetSpans() {
				r.revive.Do(func() { close(r.alive) })
				if len(sp.GetTraceId()) != 16 || len(sp.GetSpanId()) != 8 || zero(sp.GetTraceId()) || zero(sp.GetSpanId()) {
					r.badID.Add(1)
					continue
				}
				id := [16]byte(sp.GetTraceId())
				span := read(sp)
				if !r.has(id) {
					// Who starts a trace of its own may have passed on the request's name.
					if span.TraceID, named = r.traceNamed(span.RequestID); !named {
						r.stranger(id)
						continue
					}
					r.byName.Add(1)
				}
				span.Service = service
				r.keep(&span)
			}
		}
	}
}

// has reports whether the trace is of this run.
func (r *Receiver) has(id [16]byte) bool {
	s := r.of(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.traces[id] != nil
}

// stranger counts a span of a trace that is not of this run.
func (r *Receiver) stranger(id [16]byte) {
	s := r.of(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.foreign.Add(1)
	if n, known := s.foreign[id]; known || len(s.foreign) < maxForeign {
		s.foreign[id] = n + 1
	}
}

// traceNamed is the trace of this run that the name of a request holds, as X-Request-Id
// does and what engines make of it (cmpl-…-0): the only one that is spelled in it.
func (r *Receiver) traceNamed(name string) (id [16]byte, ok bool) {
	const digits = 2 * len(id)
	if len(name) > maxName {
		return id, false
	}
	for i := 0; i+digits <= len(name); i++ {
		var at [16]byte
		if n, err := hex.Decode(at[:], []byte(name[i:i+digits])); err != nil || n != len(at) || !r.has(at) {
			continue
		}
		if ok && at != id {
			return id, false
		}
		id, ok = at, true
	}
	return id, ok
}

func (r *Receiver) keep(span *record.Span) {
	s := r.of(span.TraceID)
	s.mu.Lock()
	t := s.traces[span.TraceID]
	if len(t.spans) >= maxPerTrace {
		s.mu.Unlock()
		r.overCapacity.Add(1)
		return
	}
	if slices.ContainsFunc(t.spans, func(o record.Span) bool { return o.SpanID == span.SpanID }) {
		s.mu.Unlock()
		r.duplicate.Add(1)
		return
	}
	if r.room.Add(-1) < 0 {
		s.mu.Unlock()
		r.room.Add(1)
		r.overCapacity.Add(1)
		return
	}
	t.spans = append(t.spans, *span)
	engine, router := span.Role == record.SpanEngine && !t.engine, span.Role == record.SpanRouter && !t.router
	t.engine, t.router = t.engine || engine, t.router || router
	s.mu.Unlock()
	r.kept.Add(1)
	if engine || router {
		r.progress(engine, router)
	}
}

// progress counts a trace that has got its first span of a kind.
func (r *Receiver) progress(engine, router bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if engine {
		r.engines++
	}
	if router {
		r.routers++
	}
	r.tell()
}

// tell lets the waiter go if it has what it waits for. The caller holds mu.
func (r *Receiver) tell() {
	if w := r.waiter; w != nil && r.engines >= w.n && (r.routers == 0 || r.routers >= w.n) {
		close(w.done)
		r.waiter = nil
	}
}

// Wait returns when n traces have a span of an engine, and of a router if any has one,
// or when ctx ends: exporters send in batches, seconds after a request has ended.
func (r *Receiver) Wait(ctx context.Context, n int64) {
	w := &waiter{n: n, done: make(chan struct{})}
	r.mu.Lock()
	r.waiter = w
	r.tell()
	r.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

// Finish returns the spans in order of trace id, parents before what they called as
// far as the clocks agree, each with its attempt, and everything that was counted
// (loadgen/record/FORMAT.md). Nothing must be taken from then on.
func (r *Receiver) Finish() ([]record.Span, map[string]int64) {
	var all []record.Span
	var unplaced, orphaned int64
	for i := range r.shard {
		s := &r.shard[i]
		s.mu.Lock()
		for _, id := range slices.SortedFunc(maps.Keys(s.traces), func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) }) {
			u, o := s.traces[id].place(id)
			unplaced, orphaned = unplaced+u, orphaned+o
			all = append(all, s.traces[id].spans...)
		}
		s.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b record.Span) int {
		if c := slices.Compare(a.TraceID[:], b.TraceID[:]); c != 0 {
			return c
		}
		return cmp.Compare(a.Start, b.Start)
	})
	return all, map[string]int64{
		"otlp_spans": r.kept.Load(), "otlp_spans_foreign": r.foreign.Load(), "otlp_spans_early": r.early.Load(),
		"otlp_spans_by_request_id": r.byName.Load(), "otlp_spans_duplicate": r.duplicate.Load(), "otlp_spans_bad_id": r.badID.Load(),
		"otlp_spans_over_capacity": r.overCapacity.Load(), "otlp_bodies_refused": r.refused.Load(),
		"otlp_spans_unplaced": unplaced, "otlp_spans_orphaned": orphaned,
	}
}

// place finds the attempt of each span, and completes what engines tell by what the
// spans below theirs do.
func (t *trace) place(id [16]byte) (unplaced, orphaned int64) {
	parents := make(map[[8]byte][8]byte, len(t.spans))
	for i := range t.spans {
		parents[t.spans[i].SpanID] = t.spans[i].ParentID
	}
	for i := range t.spans {
		s := &t.spans[i]
		root := s.ParentID
		for range maxChain {
			up, ok := parents[root]
			if !ok {
				break
			}
			root = up
		}
		at := slices.IndexFunc(t.attempts, func(a attempt) bool { return a.span == root })
		if at < 0 && root != ([8]byte{}) {
			orphaned++
		}
		switch {
		case at >= 0:
			s.Attempt = t.attempts[at].number
		case len(t.attempts) == 1:
			s.Attempt = t.attempts[0].number
		default:
			if s.Attempt = t.named(id, s.RequestID); s.Attempt == record.Null32 {
				unplaced++
			}
		}
	}
	t.stages(parents)
	return unplaced, orphaned
}

// named is the attempt that a request id tells, which holds the trace id, and behind a
// hyphen the number of any attempt but the first; vLLM adds -0 to that of completions.
func (t *trace) named(id [16]byte, name string) int32 {
	_, rest, found := strings.Cut(name, hex.EncodeToString(id[:]))
	if !found {
		return record.Null32
	}
	rest = strings.TrimSuffix(rest, "-0")
	n, err := int64(0), error(nil)
	if rest != "" {
		n, err = strconv.ParseInt(strings.TrimPrefix(rest, "-"), 10, 16)
	}
	if err != nil || !slices.ContainsFunc(t.attempts, func(a attempt) bool { return int64(a.number) == n }) {
		return record.Null32
	}
	return int32(n)
}
