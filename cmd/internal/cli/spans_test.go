package cli

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"goodput/loadgen/plan"
	"goodput/loadgen/telemetry/otlpin"
)

// sendSpan has the receiver take an engine's span of the trace.
func sendSpan(t *testing.T, r *otlpin.Receiver, trace [16]byte) {
	t.Helper()
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{
		Spans: []*tracepb.Span{{TraceId: trace[:], SpanId: []byte{1, 2, 3, 4, 5, 6, 7, trace[0]}, Name: "llm_request"}},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	q := httptest.NewRequest(http.MethodPost, "/v1/traces", bytes.NewReader(body))
	q.Header.Set("Content-Type", "application/x-protobuf")
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, q)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
}

func TestSpansAreAwaitedWhereSomeCome(t *testing.T) {
	const drain = 30 * time.Second
	for _, c := range []struct {
		name string
		sent []byte // first bytes of the traces of spans that came before the wait
		want time.Duration
	}{
		{"none ever came", nil, firstSpans},
		{"one of two came", []byte{1}, drain},
		{"only one of another trace came", []byte{9}, drain},
		{"all came", []byte{1, 2}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := otlpin.New()
				for _, id := range []byte{1, 2} {
					r.Expect([16]byte{id}, [8]byte{id}, 0)
				}
				for _, id := range c.sent {
					sendSpan(t, r, [16]byte{id})
				}
				from := time.Now()
				awaitSpans(r, 2, drain, make(chan os.Signal))
				if took := time.Since(from); took != c.want {
					t.Errorf("waited %v, want %v", took, c.want)
				}
				synctest.Wait()
			})
		})
	}
}

func TestComparisonFindsThePortOfSpansTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for addr, want := range map[string]string{l.Addr().String(): "choose another port", "127.0.0.1:0": "name a port"} {
		err := checkSpansOf(&plan.Plan{OTLPListen: addr})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
