package openai

import (
	"net/http"
	"testing"

	"goodput/loadgen/target"
)

// BenchmarkHeader is what the trace context costs for each attempt: traced less untraced.
func BenchmarkHeader(b *testing.B) {
	for _, c := range []struct {
		name string
		req  target.Request
	}{
		{"untraced", target.Request{}},
		{"traced", target.Request{TraceID: [16]byte{1}, SpanID: [8]byte{2}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			a := &attempt{c: &Client{header: http.Header{"User-Agent": {"goodput"}}}, req: &c.req}
			for b.Loop() {
				a.header()
			}
		})
	}
}
