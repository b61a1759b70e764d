package server

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
)

// kept is a SpanSink.
type kept struct {
	mu    sync.Mutex
	spans []*tracepb.Span
}

func (k *kept) Span(s *tracepb.Span) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans = append(k.spans, s)
}

func (k *kept) all() []*tracepb.Span {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.spans
}

// traced is a rig that hands its spans to the sink.
func traced(t *testing.T) (*rig, *kept) {
	k := &kept{}
	return start(t, func(c *Config) {
		c.Spans, c.Wall = k, func(at clock.Time) time.Time { return time.Unix(1_000_000, int64(at)) }
	}), k
}

func ask(t *testing.T, g *rig, traceparent, body string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if traceparent != "" {
		q.Header.Set("traceparent", traceparent)
	}
	q.Header.Set("X-Request-Id", "abc")
	w := newRecorder()
	g.Handler().ServeHTTP(w, q)
	if w.status != http.StatusOK {
		t.Fatalf("status %d: %s", w.status, w.body.String())
	}
}

// recorder is a ResponseWriter that can be flushed.
type recorder struct {
	header http.Header
	body   strings.Builder
	status int
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(s int)   { r.status = s }
func (r *recorder) Flush()              {}
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}

// TestSpansTellTheTruth holds each span against the ground-truth log.
func TestSpansTellTheTruth(t *testing.T) {
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	g, k := traced(t)
	ask(t, g, "00-"+trace+"-"+parent+"-01", `{"prompt":"one two three four five","max_tokens":7,"stream":true,"n":2}`)
	facts, spans := g.truth.facts(t), k.all()
	if len(spans) != 2 || len(facts) != 2 {
		t.Fatalf("%d spans, %d facts", len(spans), len(facts))
	}
	if hex.EncodeToString(spans[0].SpanId) == hex.EncodeToString(spans[1].SpanId) {
		t.Error("two spans of one id")
	}
	for i, s := range spans {
		f := facts[i]
		if hex.EncodeToString(s.TraceId) != trace || hex.EncodeToString(s.ParentSpanId) != parent || s.Name != "llm_request" || s.Kind != tracepb.Span_SPAN_KIND_SERVER {
			t.Errorf("%v", s)
		}
		got := map[string]string{}
		for _, a := range s.Attributes {
			switch v := a.Value.GetStringValue(); {
			case v != "":
				got[a.Key] = v
			case strings.HasPrefix(a.Key, "gen_ai.latency"):
				got[a.Key] = fmt.Sprintf("%.9f", a.Value.GetDoubleValue())
			default:
				got[a.Key] = fmt.Sprint(a.Value.GetIntValue())
			}
		}
		seconds := func(from, to *int64) string { return fmt.Sprintf("%.9f", float64(*to-*from)/1e9) }
		for key, want := range map[string]string{
			"gen_ai.request.id": "cmpl-abc-0", "gen_ai.request.max_tokens": "7",
			"gen_ai.latency.time_to_first_token":     seconds(f.Received, f.FirstToken),
			"gen_ai.latency.e2e":                     seconds(f.Received, f.LastToken),
			"gen_ai.latency.time_in_queue":           seconds(f.Queued, f.Scheduled),
			"gen_ai.latency.time_in_model_prefill":   seconds(f.Scheduled, f.FirstToken),
			"gen_ai.latency.time_in_model_decode":    seconds(f.FirstToken, f.LastToken),
			"gen_ai.latency.time_in_model_inference": seconds(f.Scheduled, f.LastToken),
			"gen_ai.usage.prompt_tokens":             fmt.Sprint(*f.Prompt),
			"gen_ai.usage.completion_tokens":         "7", "gen_ai.usage.output_tokens": "7",
		} {
			if got[key] != want {
				t.Errorf("%s is %s, want %s", key, got[key], want)
			}
		}
		if s.StartTimeUnixNano != uint64(1e15+*f.Received) || s.EndTimeUnixNano != uint64(1e15+*f.LastToken) {
			t.Errorf("from %d to %d", s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
	}
}

// TestSpansFollowTheSender: an unsampled context has no span, none or a broken one
// begins a trace.
func TestSpansFollowTheSender(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for _, c := range []struct {
		name, header string
		spans        int
		same         bool // of the header's trace
	}{
		{"sampled", "00-" + trace + "-b7ad6b7169203331-01", 1, true},
		{"not sampled", "00-" + trace + "-b7ad6b7169203331-00", 0, false},
		{"none", "", 1, false},
		{"a later version with more fields", "01-" + trace + "-b7ad6b7169203331-01-x", 1, true},
		{"more fields than the version has", "00-" + trace + "-b7ad6b7169203331-01-x", 1, false},
		{"upper case", "00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01", 1, false},
		{"no version", "ff-" + trace + "-b7ad6b7169203331-01", 1, false},
		{"zeros", "00-" + trace + "-0000000000000000-01", 1, false},
		{"no digits", "00-" + trace + "-b7ad6b716920333g-01", 1, false},
		{"short", "00-0af7-b7ad-01", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, k := traced(t)
			ask(t, g, c.header, `{"prompt":"one two three","max_tokens":2}`)
			spans := k.all()
			if len(spans) != c.spans {
				t.Fatalf("%d spans", len(spans))
			}
			if len(spans) == 1 && ((hex.EncodeToString(spans[0].TraceId) == trace) != c.same || (len(spans[0].ParentSpanId) > 0) != c.same) {
				t.Errorf("trace %x, parent %x", spans[0].TraceId, spans[0].ParentSpanId)
			}
		})
	}
}
