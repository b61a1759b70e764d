package otlpin

import (
	"encoding/json"
	"math"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/record"
)

// engineSpan is the name of vLLM's span of a request.
const engineSpan = "llm_request"

// waitingSlice is the name of SGLang's span of the wait for prefill, below that of the
// request.
const waitingSlice = "prefill_waiting"

// seconds are the attributes that hold durations, as vLLM, SGLang and TensorRT-LLM
// name them.
func seconds(s *record.Span, key string) *int64 {
	switch key {
	case "gen_ai.latency.time_to_first_token":
		return &s.TTFT
	case "gen_ai.latency.e2e":
		return &s.E2E
	case "gen_ai.latency.time_in_queue":
		return &s.Queue
	case "gen_ai.latency.time_in_model_prefill":
		return &s.Prefill
	case "gen_ai.latency.time_in_model_decode":
		return &s.Decode
	}
	return nil
}

// counts are the attributes that hold numbers of tokens, in their old and new names.
func counts(s *record.Span, key string) *int32 {
	switch key {
	case "gen_ai.usage.prompt_tokens", "gen_ai.usage.input_tokens":
		return &s.PromptTokens
	case "gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens":
		return &s.OutputTokens
	case "gen_ai.usage.cached_tokens", "gen_ai.usage.cache_read.input_tokens":
		return &s.CachedToken
	}
	return nil
}

// read takes what a span says. Values of a wrong type, and what no request can have,
// such as a negative duration, stay unknown and are among the attributes.
func read(in *tracepb.Span) record.Span {
	s := record.UnknownSpan()
	s.TraceID, s.SpanID = [16]byte(in.GetTraceId()), [8]byte(in.GetSpanId())
	if p := in.GetParentSpanId(); len(p) == len(s.ParentID) {
		s.ParentID = [8]byte(p)
	}
	s.Name, s.Kind = in.GetName(), kindName(in.GetKind())
	s.Start = int64(in.GetStartTimeUnixNano())
	if from, to := in.GetStartTimeUnixNano(), in.GetEndTimeUnixNano(); to > from {
		s.Duration = int64(min(to-from, math.MaxInt64))
	}
	s.Failed = in.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR
	rest := map[string]any{}
	for _, a := range in.GetAttributes() {
		if !take(&s, a.GetKey(), a.GetValue()) {
			rest[a.GetKey()] = plain(a.GetValue())
		}
	}
	if len(rest) > 0 {
		text, err := json.Marshal(rest)
		if err == nil {
			s.Attributes = string(text)
		}
	}
	s.Role = role(&s)
	return s
}

// take fills in the field of an attribute; false: it has none.
func take(s *record.Span, key string, v *common.AnyValue) bool {
	if key == "gen_ai.request.id" || key == "rid" && s.RequestID == "" {
		s.RequestID = v.GetStringValue()
		return s.RequestID != ""
	}
	n, ok := number(v)
	if !ok {
		return false
	}
	if to := seconds(s, key); to != nil && n <= math.MaxInt32 {
		*to = int64(math.Round(n * 1e9))
		return true
	}
	if to := counts(s, key); to != nil && n <= math.MaxInt32 {
		*to = int32(n)
		return true
	}
	return false
}

// number is a finite value that is not negative.
func number(v *common.AnyValue) (float64, bool) {
	n := math.NaN()
	switch x := v.GetValue().(type) {
	case *common.AnyValue_DoubleValue:
		n = x.DoubleValue
	case *common.AnyValue_IntValue:
		n = float64(x.IntValue)
	}
	return n, n >= 0 && !math.IsInf(n, 1)
}

// role tells engines by what only they say, and others by their kind.
func role(s *record.Span) record.SpanRole {
	switch {
	case s.Name == engineSpan, s.TTFT != record.Null, s.E2E != record.Null:
		return record.SpanEngine
	case s.Kind == "server":
		return record.SpanRouter
	case s.Kind == "client":
		return record.SpanHop
	}
	return record.SpanOther
}

// stages completes engines that say only as a whole how long the prompt waited and was
// computed, as SGLang does: the spans below tell the wait. Where they don't, neither is
// known.
func (t *trace) stages(parents map[[8]byte][8]byte) {
	for i := range t.spans {
		e := &t.spans[i]
		if e.Role != record.SpanEngine || e.Queue != record.Null || e.Prefill == record.Null {
			continue
		}
		both := e.Prefill
		e.Prefill = record.Null
		for j := range t.spans {
			if w := &t.spans[j]; w.Name == waitingSlice && below(w.SpanID, e.SpanID, parents) && w.Duration <= both {
				e.Queue, e.Prefill = w.Duration, both-w.Duration
			}
		}
	}
}

// below reports whether a span was called from another one, through any number.
func below(id, top [8]byte, parents map[[8]byte][8]byte) bool {
	for range maxChain {
		up, ok := parents[id]
		if !ok {
			return false
		}
		if up == top {
			return true
		}
		id = up
	}
	return false
}

func kindName(k tracepb.Span_SpanKind) string {
	switch k {
	case tracepb.Span_SPAN_KIND_SERVER:
		return "server"
	case tracepb.Span_SPAN_KIND_CLIENT:
		return "client"
	case tracepb.Span_SPAN_KIND_INTERNAL:
		return "internal"
	case tracepb.Span_SPAN_KIND_PRODUCER:
		return "producer"
	case tracepb.Span_SPAN_KIND_CONSUMER:
		return "consumer"
	}
	return "unspecified"
}

// plain is the value as JSON has it.
func plain(v *common.AnyValue) any {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_BoolValue:
		return x.BoolValue
	case *common.AnyValue_IntValue:
		return x.IntValue
	case *common.AnyValue_BytesValue:
		return x.BytesValue
	case *common.AnyValue_DoubleValue:
		if math.IsNaN(x.DoubleValue) || math.IsInf(x.DoubleValue, 0) {
			return nil // JSON has no word for it
		}
		return x.DoubleValue
	case *common.AnyValue_ArrayValue:
		out := []any{}
		for _, e := range x.ArrayValue.GetValues() {
			out = append(out, plain(e))
		}
		return out
	case *common.AnyValue_KvlistValue:
		out := map[string]any{}
		for _, e := range x.KvlistValue.GetValues() {
			out[e.GetKey()] = plain(e.GetValue())
		}
		return out
	}
	return nil
}

func serviceName(r *resource.Resource) string {
	for _, a := range r.GetAttributes() {
		if a.GetKey() == "service.name" {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
