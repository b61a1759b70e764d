package server

import (
	"encoding/binary"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// SpanSink takes the span of each sequence that ended in good order, as vLLM exports
// it: its name, its kind, its attributes. It must not block.
type SpanSink interface {
	Span(s *tracepb.Span)
}

// trace hands over the span of a choice whose truth is known. A context that is not
// sampled has none, and neither has an answer that was broken off; without a context
// the span is the root of a trace of its own.
func (x *exchange) trace(t *truth, why engine.Finish) {
	s := x.srv
	if s.spans == nil || why == engine.Aborted || !t.firstToken.Known() || !t.received.Known() {
		return
	}
	c, ok := wire.ParseTraceparent(t.traceparent)
	switch {
	case !ok:
		binary.BigEndian.PutUint64(c.Trace[:8], s.spanNumber())
		binary.BigEndian.PutUint64(c.Trace[8:], s.spanNumber())
	case !c.Sampled:
		return
	}
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], s.spanNumber())
	span := &tracepb.Span{
		TraceId: c.Trace[:], SpanId: id[:], Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER, Flags: 1,
		StartTimeUnixNano: s.unix(t.received), EndTimeUnixNano: s.unix(t.lastToken),
		Attributes: s.spanAttributes(t),
	}
	if ok {
		span.ParentSpanId = c.Parent[:]
	}
	s.spans.Span(span)
	if s.stages {
		s.traceStages(t, span)
	}
}

// traceStages hands over a span each for what the request went through, below its own.
// After a preemption they are of the last time that it was scheduled, as the attributes of
// the whole are.
func (s *Server) traceStages(t *truth, whole *tracepb.Span) {
	for _, stage := range [...]struct {
		name     string
		from, to clock.Time
		attrs    []*common.KeyValue
	}{
		{"queue", t.queued, t.scheduled, nil},
		{"prefill", t.scheduled, t.firstToken, []*common.KeyValue{
			intAttr("goodput.cached_tokens", max(0, t.cached)), intAttr("goodput.computed_tokens", t.prompt-max(0, t.cached)),
		}},
		{"decode", t.firstToken, t.lastToken, []*common.KeyValue{
			intAttr("goodput.output_tokens", t.output), intAttr("goodput.preemptions", max(0, t.preemptions)),
		}},
	} {
		if !stage.from.Known() || !stage.to.Known() {
			continue
		}
		id := make([]byte, 8)
		binary.BigEndian.PutUint64(id, s.spanNumber())
		s.spans.Span(&tracepb.Span{
			TraceId: whole.TraceId, SpanId: id, ParentSpanId: whole.SpanId, Name: stage.name,
			Kind: tracepb.Span_SPAN_KIND_INTERNAL, Flags: whole.Flags,
			StartTimeUnixNano: s.unix(stage.from), EndTimeUnixNano: s.unix(stage.to), Attributes: stage.attrs,
		})
	}
}

// spanAttributes are those of vLLM, with the names of tokens that came after its own.
func (s *Server) spanAttributes(t *truth) []*common.KeyValue {
	id := t.api.prefix() + t.requestID
	if t.api == completions {
		id += "-0" // the number of the prompt
	}
	between := func(from, to clock.Time) float64 { return s.wallAt(to).Sub(s.wallAt(from)).Seconds() }
	return []*common.KeyValue{
		textAttr("gen_ai.request.id", id),
		intAttr("gen_ai.request.max_tokens", t.maxTokens),
		textAttr("gen_ai.response.model", s.model),
		doubleAttr("gen_ai.latency.time_to_first_token", between(t.received, t.firstToken)),
		doubleAttr("gen_ai.latency.e2e", between(t.received, t.lastToken)),
		doubleAttr("gen_ai.latency.time_in_queue", between(t.queued, t.scheduled)),
		doubleAttr("gen_ai.latency.time_in_model_prefill", between(t.scheduled, t.firstToken)),
		doubleAttr("gen_ai.latency.time_in_model_decode", between(t.firstToken, t.lastToken)),
		doubleAttr("gen_ai.latency.time_in_model_inference", between(t.scheduled, t.lastToken)),
		intAttr("gen_ai.usage.prompt_tokens", t.prompt),
		intAttr("gen_ai.usage.completion_tokens", t.output),
		intAttr("gen_ai.usage.input_tokens", t.prompt),
		intAttr("gen_ai.usage.output_tokens", t.output),
		intAttr("gen_ai.usage.cache_read.input_tokens", max(0, t.cached)),
	}
}

// spanNumber is a number that no other span of the server has, and is not 0.
func (s *Server) spanNumber() uint64 { return max(1, mix(s.salt^mix(s.spanCount.Add(1)))) }

func (s *Server) unix(t clock.Time) uint64 { return uint64(s.wallAt(t).UnixNano()) }

func textAttr(key, v string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}}
}

func intAttr(key string, v int) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: int64(v)}}}
}

func doubleAttr(key string, v float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}}
}
