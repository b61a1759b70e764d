package genai

import (
	"slices"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// engine hands over the span of an engine in this process, as vLLM has it, and those of
// its queue, prefill and decode. Client and engine have one clock, by which its account
// ends with the first token; what does not add up has no span.
func (t *Teller) engine(r *record.Request, emit func(*tracepb.Span)) {
	if r.ServerTTFT == record.Null || r.ServerE2E == record.Null || !r.FirstToken.Known() {
		return
	}
	from := r.FirstToken - clock.Time(r.ServerTTFT)
	to := from + clock.Time(r.ServerE2E)
	var a attributes
	a.text("gen_ai.request.id", r.RequestID)
	a.count(maxTokens, r.PlannedOutputTokens)
	a.text(responseModel, t.src.Model)
	a.seconds("gen_ai.latency.time_to_first_token", r.ServerTTFT)
	a.seconds("gen_ai.latency.e2e", r.ServerE2E)
	a.seconds("gen_ai.latency.time_in_queue", r.ServerQueue)
	a.seconds("gen_ai.latency.time_in_model_prefill", r.ServerPrefill)
	a.seconds("gen_ai.latency.time_in_model_decode", r.ServerDecode)
	a.count("gen_ai.usage.prompt_tokens", r.PromptTokens)
	a.count("gen_ai.usage.completion_tokens", r.OutputTokens)
	a.count(inputTokens, r.PromptTokens)
	a.count(outputTokens, r.OutputTokens)
	a.count(cacheRead, r.ServerCachedTokens)
	a.text("goodput.replica", r.Replica)
	id := name(r.TraceID[:], string(r.SpanID[:]), "llm_request")
	whole := t.below(r, r.SpanID[:], id[16:], "llm_request", from, to)
	whole.Kind, whole.Attributes = tracepb.Span_SPAN_KIND_SERVER, a
	emit(whole)
	if r.ServerQueue == record.Null || r.ServerPrefill == record.Null || r.ServerQueue+r.ServerPrefill > r.ServerTTFT {
		return // after a preemption they are of the last time that it was scheduled
	}
	first := from + clock.Time(r.ServerTTFT)
	scheduled := first - clock.Time(r.ServerPrefill)
	for _, stage := range [...]struct {
		name     string
		from, to clock.Time
	}{
		{"queue", scheduled - clock.Time(r.ServerQueue), scheduled},
		{"prefill", scheduled, first},
		{"decode", first, to},
	} {
		part := name(r.TraceID[:], string(r.SpanID[:]), stage.name)
		emit(t.below(r, whole.SpanId, part[16:], stage.name, stage.from, stage.to))
	}
}

// below is a span of the attempt's trace.
func (t *Teller) below(r *record.Request, parent, id []byte, name string, from, to clock.Time) *tracepb.Span {
	return &tracepb.Span{
		TraceId: slices.Clone(r.TraceID[:]), ParentSpanId: slices.Clone(parent), SpanId: slices.Clone(id),
		Flags: 1, Name: name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: t.unix(from), EndTimeUnixNano: t.unix(to),
	}
}
