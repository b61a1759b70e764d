package server

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// TestStagesAreWithinTheirRequest: the spans of the stages are below that of the answer,
// follow one another without a gap, and end with it.
func TestStagesAreWithinTheirRequest(t *testing.T) {
	g, k := traced(t)
	g.stages = true
	ask(t, g, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", `{"prompt":"one two three four five","max_tokens":7,"stream":true}`)
	spans := k.all()
	var names []string
	ids := map[string]bool{}
	for _, s := range spans {
		names = append(names, s.Name)
		ids[string(s.SpanId)] = true
	}
	if d := cmp.Diff([]string{"llm_request", "queue", "prefill", "decode"}, names); d != "" || len(ids) != 4 {
		t.Fatalf("%d ids, %s", len(ids), d)
	}
	whole, at := spans[0], spans[1].StartTimeUnixNano
	for _, s := range spans[1:] {
		if !bytes.Equal(s.ParentSpanId, whole.SpanId) || !bytes.Equal(s.TraceId, whole.TraceId) || s.Kind != tracepb.Span_SPAN_KIND_INTERNAL {
			t.Errorf("%v", s)
		}
		if s.StartTimeUnixNano != at || s.EndTimeUnixNano < at || s.StartTimeUnixNano < whole.StartTimeUnixNano {
			t.Errorf("%s from %d to %d; the one before ended at %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano, at)
		}
		at = s.EndTimeUnixNano
	}
	if at != whole.EndTimeUnixNano {
		t.Errorf("the last stage ends at %d, the answer at %d", at, whole.EndTimeUnixNano)
	}
}
