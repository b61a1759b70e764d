package otlpin

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"goodput/loadgen/record"
)

var ourTrace, ourSpan = [16]byte{1, 2, 3}, [8]byte{4, 5}

func double(key string, v float64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}}
}

func integer(key string, v int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v}}}
}

func str(key, v string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}}
}

// spanOf is a span of our trace below the parent.
func spanOf(id byte, parent [8]byte, name string, kind tracepb.Span_SpanKind, attrs ...*common.KeyValue) *tracepb.Span {
	return &tracepb.Span{
		TraceId: ourTrace[:], SpanId: []byte{id, 0, 0, 0, 0, 0, 0, 1}, ParentSpanId: parent[:], Name: name, Kind: kind,
		StartTimeUnixNano: 1e9 + uint64(id)*1e6, EndTimeUnixNano: 2e9, Attributes: attrs,
	}
}

func export(spans ...*tracepb.Span) *collector.ExportTraceServiceRequest {
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}}
}

const (
	server   = tracepb.Span_SPAN_KIND_SERVER
	client   = tracepb.Span_SPAN_KIND_CLIENT
	internal = tracepb.Span_SPAN_KIND_INTERNAL
)

// vllm is a span as vLLM sends it, in its old or new names.
func vllm(id byte, parent [8]byte, names string) *tracepb.Span {
	in, out := "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"
	if names == "new" {
		in, out = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
	}
	return spanOf(id, parent, "llm_request", server,
		double("gen_ai.latency.time_to_first_token", .3), double("gen_ai.latency.e2e", 1), double("gen_ai.latency.time_in_queue", .1),
		double("gen_ai.latency.time_in_model_prefill", .15), double("gen_ai.latency.time_in_model_decode", .7),
		double("gen_ai.latency.time_in_model_inference", .85), integer(in, 100), integer(out, 20),
		str("gen_ai.request.id", "cmpl-x"), double("gen_ai.request.temperature", 1))
}

func TestReadsDialects(t *testing.T) {
	full := func(s *record.Span) {
		s.TTFT, s.E2E, s.Queue, s.Prefill, s.Decode = 3e8, 1e9, 1e8, 15e7, 7e8
		s.PromptTokens, s.OutputTokens, s.RequestID = 100, 20, "cmpl-x"
		s.Attributes = `{"gen_ai.latency.time_in_model_inference":0.85,"gen_ai.request.temperature":1}`
	}
	for _, c := range []struct {
		name string
		in   []*tracepb.Span
		want record.SpanRole
		fill func(*record.Span)
	}{
		{"vLLM", []*tracepb.Span{vllm(1, ourSpan, "old")}, record.SpanEngine, full},
		{"vLLM, new names", []*tracepb.Span{vllm(1, ourSpan, "new")}, record.SpanEngine, full},
		{"SGLang with stages", []*tracepb.Span{
			spanOf(1, ourSpan, " Req 01234567", internal, double("gen_ai.latency.time_to_first_token", .3),
				double("gen_ai.latency.e2e", 1), double("gen_ai.latency.time_in_model_prefill", 1.25)),
			spanOf(2, [8]byte{1, 0, 0, 0, 0, 0, 0, 1}, "scheduler [TP 0] (host:x | pid:1)", internal),
			spanOf(3, [8]byte{2, 0, 0, 0, 0, 0, 0, 1}, "prefill_waiting", internal),
		}, record.SpanEngine, func(s *record.Span) {
			s.TTFT, s.E2E, s.Queue, s.Prefill = 3e8, 1e9, 997e6, 253e6
		}},
		{"SGLang without stages", []*tracepb.Span{
			spanOf(1, ourSpan, " Req 01234567", internal, double("gen_ai.latency.e2e", 1), double("gen_ai.latency.time_in_model_prefill", .25)),
		}, record.SpanEngine, func(s *record.Span) { s.E2E = 1e9 }},
		{"llm-d endpoint picker", []*tracepb.Span{spanOf(1, ourSpan, "gateway.request", server)}, record.SpanRouter, nil},
		{"production stack", []*tracepb.Span{spanOf(1, ourSpan, "router /v1/completions", server)}, record.SpanRouter, nil},
		{"its attempt", []*tracepb.Span{spanOf(1, ourSpan, "process_request", client)}, record.SpanHop, nil},
		{"a step", []*tracepb.Span{spanOf(1, ourSpan, "run_scheduler_profile", internal)}, record.SpanOther, nil},
		{"nonsense in numbers", []*tracepb.Span{
			spanOf(1, ourSpan, "llm_request", server, double("gen_ai.latency.e2e", -1), double("gen_ai.latency.time_in_queue", 1e300), str("gen_ai.usage.prompt_tokens", "many")),
		}, record.SpanEngine, func(s *record.Span) {
			s.Attributes = `{"gen_ai.latency.e2e":-1,"gen_ai.latency.time_in_queue":1e+300,"gen_ai.usage.prompt_tokens":"many"}`
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New()
			r.Expect(ourTrace, ourSpan, 0)
			r.take(export(c.in...))
			spans, _ := r.Finish()
			if len(spans) != len(c.in) {
				t.Fatalf("%d spans of %d", len(spans), len(c.in))
			}
			want := record.UnknownSpan()
			want.TraceID, want.SpanID, want.ParentID = ourTrace, [8]byte{1, 0, 0, 0, 0, 0, 0, 1}, ourSpan
			want.Attempt, want.Role, want.Name, want.Kind = 0, c.want, c.in[0].Name, spans[0].Kind
			want.Start, want.Duration = 1e9+1e6, 999e6
			if c.fill != nil {
				c.fill(&want)
			}
			if d := cmp.Diff(want, spans[0]); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestPlacesSpansOfSeveralAttempts(t *testing.T) {
	second := [8]byte{7}
	engine := func(id byte, parent [8]byte, name string) *tracepb.Span {
		return spanOf(id, parent, "llm_request", server, str("gen_ai.request.id", name))
	}
	own := hex.EncodeToString(ourTrace[:])
	for _, c := range []struct {
		name string
		of   []*tracepb.Span
		want int32 // of the last one
	}{
		{"by its parent", []*tracepb.Span{engine(1, second, "")}, 1},
		{"by its parent's parent", []*tracepb.Span{spanOf(1, second, "route", server), engine(2, [8]byte{1, 0, 0, 0, 0, 0, 0, 1}, "")}, 1},
		{"by the request id of the first", []*tracepb.Span{engine(1, [8]byte{99}, "cmpl-"+own+"-0")}, 0},
		{"by the request id of the second", []*tracepb.Span{engine(1, [8]byte{99}, "cmpl-"+own+"-1-0")}, 1},
		{"of chat", []*tracepb.Span{engine(1, [8]byte{99}, "chatcmpl-"+own+"-1")}, 1},
		{"of no attempt that was made", []*tracepb.Span{engine(1, [8]byte{99}, "chatcmpl-"+own+"-5")}, record.Null32},
		{"by nothing", []*tracepb.Span{engine(1, [8]byte{99}, "abc")}, record.Null32},
		{"parents in a circle", []*tracepb.Span{spanOf(2, [8]byte{3, 0, 0, 0, 0, 0, 0, 1}, "a", server), spanOf(3, [8]byte{2, 0, 0, 0, 0, 0, 0, 1}, "b", server)}, record.Null32},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New()
			r.Expect(ourTrace, ourSpan, 0)
			r.Expect(ourTrace, second, 1)
			r.take(export(c.of...))
			spans, counters := r.Finish()
			if got := spans[len(spans)-1].Attempt; got != c.want {
				t.Errorf("attempt %d, want %d", got, c.want)
			}
			if unplaced := counters["otlp_spans_unplaced"] > 0; unplaced != (c.want == record.Null32) {
				t.Errorf("counters %v", counters)
			}
		})
	}
}

// A router that starts traces of its own may still pass on the name of a request, which
// holds the trace of its attempt. A name that fits nothing, or two, tells nothing.
func TestFindsByTheRequestIDWhatIsInAnotherTrace(t *testing.T) {
	other := [16]byte{9, 9}
	own, second := hex.EncodeToString(ourTrace[:]), hex.EncodeToString(other[:])
	for _, c := range []struct {
		name, id string
		found    bool
	}{
		{"of completions", "cmpl-" + own + "-0", true},
		{"behind a prefix", "run1-" + own, true},
		{"in capitals", "cmpl-" + strings.ToUpper(own), true},
		{"of another run", "cmpl-" + hex.EncodeToString(bytes.Repeat([]byte{5}, 16)), false},
		{"cut short", "cmpl-" + own[:31], false},
		{"of two", own + "-" + second, false},
		{"too long to look at", own + strings.Repeat("x", maxName), false},
		{"none", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New()
			r.Expect(ourTrace, ourSpan, 0)
			r.Expect(other, [8]byte{8}, 0)
			sp := vllm(1, [8]byte{77}, "old")
			sp.TraceId = bytes.Repeat([]byte{6}, 16)
			for _, a := range sp.Attributes {
				if a.Key == "gen_ai.request.id" {
					a.Value = str("", c.id).Value
				}
			}
			r.take(export(sp))
			spans, counters := r.Finish()
			if !c.found {
				if len(spans) != 0 || counters["otlp_spans_foreign"] != 1 || counters["otlp_spans_by_request_id"] != 0 {
					t.Errorf("%d spans, %v", len(spans), counters)
				}
				return
			}
			if len(spans) != 1 || spans[0].TraceID != ourTrace || spans[0].Attempt != 0 || counters["otlp_spans_by_request_id"] != 1 || counters["otlp_spans_foreign"] != 0 {
				t.Errorf("%+v, %v", spans, counters)
			}
		})
	}
}

func TestCountsWhatItDoesNotKeep(t *testing.T) {
	r := New()
	early := [16]byte{42}
	earlySpan := spanOf(1, [8]byte{}, "x", server)
	earlySpan.TraceId = early[:]
	foreign := spanOf(1, [8]byte{}, "x", server)
	foreign.TraceId = bytes.Repeat([]byte{9}, 16)
	short := spanOf(1, [8]byte{}, "x", server)
	short.TraceId = []byte{1, 2}
	null := spanOf(1, [8]byte{}, "x", server)
	null.SpanId = make([]byte, 8)
	long := spanOf(1, [8]byte{}, "x", server)
	long.TraceId = make([]byte, 24)

	r.Expect(ourTrace, ourSpan, 0)
	r.take(export(earlySpan, foreign, short, null, long, vllm(1, ourSpan, "old"), vllm(1, ourSpan, "old"), spanOf(5, [8]byte{77}, "lost", internal)))
	r.Expect(early, ourSpan, 0)
	spans, got := r.Finish()
	want := map[string]int64{
		"otlp_spans": 2, "otlp_spans_foreign": 2, "otlp_spans_early": 1, "otlp_spans_by_request_id": 0, "otlp_spans_duplicate": 1, "otlp_spans_bad_id": 3,
		"otlp_spans_over_capacity": 0, "otlp_bodies_refused": 0, "otlp_spans_unplaced": 0, "otlp_spans_orphaned": 1,
	}
	if d := cmp.Diff(want, got); d != "" || len(spans) != 2 {
		t.Errorf("%d spans, counters (-want +got):\n%s", len(spans), d)
	}
}

func TestKeepsNoMoreThanItHasRoomFor(t *testing.T) {
	r := New()
	r.room.Store(3)
	r.Expect(ourTrace, ourSpan, 0)
	for i := range 10 {
		r.take(export(spanOf(byte(i+1), ourSpan, "x", internal)))
	}
	if spans, c := r.Finish(); len(spans) != 3 || c["otlp_spans"] != 3 || c["otlp_spans_over_capacity"] != 7 {
		t.Errorf("%d spans, %v", len(spans), c)
	}
}

func post(t *testing.T, r *Receiver, path, kind, encoding string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	q := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	q.Header.Set("Content-Type", kind)
	if encoding != "" {
		q.Header.Set("Content-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	return w
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

func TestHTTP(t *testing.T) {
	binary, err := proto.Marshal(export(vllm(1, ourSpan, "old")))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%X","spanId":"0100000000000001","parentSpanId":"%x",
		"name":"llm_request","kind":2,"unknownKey":1,"attributes":[{"key":"gen_ai.latency.e2e","value":{"doubleValue":1}}]}]}]}]}`, ourTrace, ourSpan)
	for _, c := range []struct {
		name, path, kind, encoding string
		body                       []byte
		status                     int
		kept                       int
	}{
		{"protobuf", "/v1/traces", typeProtobuf, "", binary, 200, 1},
		{"gzip", "/v1/traces", typeProtobuf, "gzip", zipped(binary), 200, 1},
		{"JSON with hexadecimal ids", "/v1/traces", typeJSON + "; charset=utf-8", "", text, 200, 1},
		{"JSON with other ids", "/v1/traces", typeJSON, "", bytes.ReplaceAll(text, fmt.Appendf(nil, "%X", ourTrace), []byte("AQIDAAAAAAAAAAAAAAAAAA==")), 200, 0},
		{"metrics", "/v1/metrics", typeProtobuf, "", []byte("whatever"), 200, 0},
		{"logs", "/v1/logs", typeJSON, "gzip", zipped([]byte("{}")), 200, 0},
		{"garbage", "/v1/traces", typeProtobuf, "", []byte("\xff\xff\xff garbage"), 400, 0},
		{"garbage as JSON", "/v1/traces", typeJSON, "", []byte("{"), 400, 0},
		{"garbage as gzip", "/v1/traces", typeProtobuf, "gzip", []byte("no gzip"), 400, 0},
		{"unknown encoding", "/v1/traces", typeProtobuf, "zstd", binary, 400, 0},
		{"unknown type", "/v1/traces", "text/plain", "", binary, 415, 0},
		{"100 MB", "/v1/traces", typeProtobuf, "", make([]byte, 100<<20), 413, 0},
		{"small, and large when inflated", "/v1/traces", typeProtobuf, "gzip", zipped(make([]byte, maxInflated+1)), 413, 0},
		{"unknown path", "/v1/profiles", typeProtobuf, "", nil, 404, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New()
			r.Expect(ourTrace, ourSpan, 0)
			w := post(t, r, c.path, c.kind, c.encoding, c.body)
			spans, counters := r.Finish()
			if w.Code != c.status || len(spans) != c.kept {
				t.Errorf("status %d, %d spans; want %d, %d: %s", w.Code, len(spans), c.status, c.kept, w.Body)
			}
			if refused := counters["otlp_bodies_refused"]; (refused == 1) != (c.status >= 400 && c.status != 404) {
				t.Errorf("%d bodies refused", refused)
			}
			kind, _, _ := strings.Cut(c.kind, ";")
			if got := w.Header().Get("Content-Type"); c.status == 200 && got != kind {
				t.Errorf("answered in %q", got)
			}
		})
	}
}

func TestHTTPRefusesWithoutLength(t *testing.T) {
	r := New()
	q := httptest.NewRequest(http.MethodPost, "/v1/traces", io.LimitReader(endless{}, 100<<20))
	q.Header.Set("Content-Type", typeProtobuf)
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestTakesSpansOfTheOfficialSDK sends spans as an instrumented server does: the parent
// from a traceparent, over both transports, compressed.
func TestTakesSpansOfTheOfficialSDK(t *testing.T) {
	for _, transport := range []string{"grpc", "http"} {
		t.Run(transport, func(t *testing.T) {
			r := New()
			s, err := r.Listen(":0", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			g, h := s.Addrs()
			c := otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(g.String()), otlptracegrpc.WithInsecure(), otlptracegrpc.WithCompressor("gzip"))
			if transport == "http" {
				c = otlptracehttp.NewClient(otlptracehttp.WithEndpoint(h.String()), otlptracehttp.WithInsecure(), otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
			}
			ctx := t.Context()
			out, err := otlptrace.New(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			p := sdk.NewTracerProvider(sdk.WithBatcher(out), sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "engine-7"))))

			r.Expect(ourTrace, ourSpan, 0)
			parent := propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": fmt.Sprintf("00-%x-%x-01", ourTrace, ourSpan)})
			_, span := p.Tracer("vllm.llm_engine").Start(parent, "llm_request", oteltrace.WithSpanKind(oteltrace.SpanKindServer),
				oteltrace.WithAttributes(attribute.Float64("gen_ai.latency.e2e", 1.5), attribute.Int("gen_ai.usage.completion_tokens", 7)))
			span.End()
			_, foreign := p.Tracer("other").Start(ctx, "startup")
			foreign.End()
			if err := p.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}

			waiting, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			r.Wait(waiting, 1)
			spans, counters := r.Finish()
			if len(spans) != 1 || counters["otlp_spans_foreign"] != 1 {
				t.Fatalf("%d spans, %v", len(spans), counters)
			}
			if s := spans[0]; s.E2E != 15e8 || s.OutputTokens != 7 || s.Service != "engine-7" || s.Attempt != 0 || s.ParentID != ourSpan || s.Role != record.SpanEngine {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestGRPC: metrics are taken, and what can't be read is refused and counted.
func TestGRPC(t *testing.T) {
	r := New()
	s, err := r.Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	addr, _ := s.Addrs()
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := metrics.NewMetricsServiceClient(conn).Export(t.Context(), &metrics.ExportMetricsServiceRequest{}); err != nil {
		t.Errorf("metrics: %v", err)
	}
	// A field of its number, but a string where the spans are.
	bad := &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "junk"}}
	if err := conn.Invoke(t.Context(), collector.TraceService_Export_FullMethodName, bad, &collector.ExportTraceServiceResponse{}); err == nil {
		t.Error("garbage was taken")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, c := r.Finish(); c["otlp_bodies_refused"] != 1 {
		t.Errorf("counters %v", c)
	}
}

func TestListenFails(t *testing.T) {
	r := New()
	for _, addrs := range [][2]string{{"nonsense", ""}, {"", "nonsense"}, {"127.0.0.1:0", "127.0.0.1:99999"}} {
		if s, err := r.Listen(addrs[0], addrs[1]); err == nil {
			t.Errorf("%v: listening", addrs)
			s.Close()
		}
	}
}

// FuzzTake feeds the decoders anything at all: nothing must be kept that has not the id
// of an expected trace.
func FuzzTake(f *testing.F) {
	binary, err := proto.Marshal(export(vllm(1, ourSpan, "old"), spanOf(2, [8]byte{1, 0, 0, 0, 0, 0, 0, 1}, "prefill_waiting", internal)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(binary, false)
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01020300000000000000000000000000","spanId":"0100000000000001","attributes":[{"key":"a","value":{"arrayValue":{"values":[{"kvlistValue":{"values":[{"key":"b"}]}}]}}}]}]}]}]}`), true)
	f.Add([]byte("\x0a\xff"), false)
	f.Fuzz(func(t *testing.T, body []byte, isJSON bool) {
		in, err := decode(body, isJSON)
		if err != nil {
			return
		}
		r := New()
		r.Expect(ourTrace, ourSpan, 0)
		r.Expect(ourTrace, [8]byte{7}, 1)
		r.take(in)
		spans, c := r.Finish()
		if int64(len(spans)) != c["otlp_spans"] {
			t.Errorf("%d spans, %d counted", len(spans), c["otlp_spans"])
		}
		for _, s := range spans {
			if s.TraceID != ourTrace || s.Duration < 0 || s.E2E < 0 && s.E2E != record.Null {
				t.Errorf("kept %+v", s)
			}
		}
	})
}

func FuzzInflate(f *testing.F) {
	f.Add(zipped([]byte("text")))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if out, err := inflate(body); err == nil && len(out) > maxInflated {
			t.Errorf("%d bytes", len(out))
		}
	})
}

// BenchmarkExpect is what the receiver costs the load, for each request.
func BenchmarkExpect(b *testing.B) {
	b.ReportAllocs()
	r := New()
	var id [16]byte
	for i := 0; b.Loop(); i++ {
		id[0], id[1], id[2], id[15] = byte(i), byte(i>>8), byte(i>>16), byte(i)
		r.Expect(id, ourSpan, 0)
	}
}

// BenchmarkTake is what a span costs, decoding included.
func BenchmarkTake(b *testing.B) {
	b.ReportAllocs()
	const batch = 512
	var spans []*tracepb.Span
	for i := range batch {
		s := vllm(byte(i), ourSpan, "old")
		s.TraceId = []byte{0: 1, 13: byte(i >> 8), 14: 1, 15: byte(i)}
		spans = append(spans, s)
	}
	body, err := proto.Marshal(export(spans...))
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		r := New()
		for _, s := range spans {
			r.Expect([16]byte(s.TraceId), ourSpan, 0)
		}
		in, err := decode(body, false)
		if err != nil {
			b.Fatal(err)
		}
		r.take(in)
		n += batch
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
}
