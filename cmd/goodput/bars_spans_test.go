package main

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"goodput/loadgen/clock"
)

// spanStorm sends spansPerSecond spans of an engine to url until it is stopped, a hundred
// in a body. They are of other traces, which are read like those of the run and counted.
// It returns how many were sent.
func spanStorm(b *testing.B, url string) (stop func() int) {
	b.Helper()
	const each = 100
	double := func(key string, v float64) *common.KeyValue {
		return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v}}}
	}
	spans := make([]*tracepb.Span, each)
	for i := range spans {
		spans[i] = &tracepb.Span{
			TraceId: make([]byte, 16), SpanId: make([]byte, 8), Name: "llm_request", Kind: tracepb.Span_SPAN_KIND_SERVER,
			Attributes: []*common.KeyValue{
				double("gen_ai.latency.time_to_first_token", .3), double("gen_ai.latency.e2e", 1), double("gen_ai.latency.time_in_queue", .1),
				double("gen_ai.latency.time_in_model_prefill", .15), double("gen_ai.latency.time_in_model_decode", .7),
			},
		}
	}
	sent := 0
	tick := clock.Every(time.Second*each/spansPerSecond, func() {
		for _, s := range spans {
			sent++
			binary.BigEndian.PutUint64(s.TraceId[8:], uint64(sent))
			binary.BigEndian.PutUint64(s.SpanId, uint64(sent))
		}
		body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}})
		if err != nil {
			b.Error(err)
			return
		}
		if resp, err := http.Post(url, "application/x-protobuf", bytes.NewReader(body)); err == nil {
			resp.Body.Close()
		}
	})
	return func() int {
		tick()
		return sent
	}
}

const spansPerSecond = 5000

// BenchmarkSpansBesideLoad offers 500 requests/s over HTTP while 5,000 spans a second come
// in, and while none do, one after the other: what spans do to the lag, and what they cost.
func BenchmarkSpansBesideLoad(b *testing.B) {
	const rate, seconds = 500, 6
	for b.Loop() {
		var lag, cpu [2]float64
		for i := range lag {
			url, _ := instant(b)
			at4318 := freeAddr(b)
			stop := func() int { return 0 }
			if i == 1 {
				stop = spanStorm(b, "http://"+at4318+"/v1/traces")
			}
			got, _ := offer(b, rate*seconds, "--base-url", url, "--model", "m", "--random-input-len", "16", "--random-output-len", "2",
				"--request-rate", "500", "--metrics-url", "none", "--otlp-http-listen", at4318, "--drain", "1s")
			sent := stop()
			if i == 1 {
				b.ReportMetric(float64(sent)/(seconds+1), "spans/s")
			}
			lag[i], cpu[i] = at(.99, got.lag), got.cpu
		}
		b.ReportMetric(lag[0], "lag-ms-p99-without")
		b.ReportMetric(lag[1], "lag-ms-p99-with")
		b.ReportMetric(lag[1]/lag[0], "x-lag-p99")
		b.ReportMetric(cpu[1]-cpu[0], "cpu-ms/request-more")
	}
}
