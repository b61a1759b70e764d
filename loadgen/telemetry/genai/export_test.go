package genai

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"goodput/loadgen/record"
)

// sink is a collector over HTTP that keeps what comes.
type sink struct {
	mu       sync.Mutex
	services map[string]int // spans by service
	schema   string
	key      string
	metrics  int
}

func (s *sink) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(q.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = z
	}
	text, err := io.ReadAll(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = q.Header.Get("X-Key")
	switch q.URL.Path {
	case "/v1/traces":
		in := &collector.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(text, in)
		}
		for _, rs := range in.GetResourceSpans() {
			s.schema = rs.GetSchemaUrl()
			for _, ss := range rs.GetScopeSpans() {
				s.services[rs.GetResource().GetAttributes()[0].GetValue().GetStringValue()] += len(ss.GetSpans())
			}
		}
	case "/v1/metrics":
		in := &metricscollector.ExportMetricsServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(text, in)
		}
		for _, rm := range in.GetResourceMetrics() {
			s.metrics += len(rm.GetScopeMetrics()[0].GetMetrics())
		}
	default:
		http.NotFound(w, q)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// runOf writes a run of n answers, each by an engine of this process.
func runOf(t *testing.T, n int) *record.Run {
	t.Helper()
	dir := t.TempDir() + "/run"
	w, err := record.Create(dir, record.Meta{RunID: "run", Virtual: true, Started: time.Unix(1_000_000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := answered()
		r.RunID, r.Seq, r.TraceID = "run", int64(i), [16]byte{1, byte(i), byte(i >> 8)}
		r.ServerSource, r.ServerQueue, r.ServerPrefill, r.ServerTTFT, r.ServerE2E = "inprocess", 10e6, 30e6, 45e6, 180e6
		w.Write(&r)
	}
	if err := w.Close(record.Final{}); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func never() bool { return false }

func TestExport(t *testing.T) {
	s := &sink{services: map[string]int{}}
	at := httptest.NewServer(s)
	defer at.Close()
	const n = 300
	counted, err := Export(runOf(t, n), source(Released), at.URL+"/v1/traces", map[string]string{"x-key": "k"}, never)
	if err != nil {
		t.Fatal(err)
	}
	if s.services["goodput"] != n || s.services["goodput-engine"] != 4*n || s.metrics != 7 || s.schema != Released.Schema || s.key != "k" {
		t.Errorf("%+v", s)
	}
	if counted[CounterSpans] != 5*n || counted[CounterSpansLost] != 0 || counted[CounterRowsUnsent] != 0 || counted[CounterMetricsLost] != 0 {
		t.Errorf("%v", counted)
	}
}

// TestExportToNobody: it ends, and counts everything.
func TestExportToNobody(t *testing.T) {
	refuse := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer refuse.Close()
	const n = 600
	counted, err := Export(runOf(t, n), source(Released), refuse.URL+"/v1/traces", nil, never)
	if err == nil || !strings.Contains(err.Error(), "did not arrive") {
		t.Errorf("error %v", err)
	}
	if counted[CounterSpans] != 0 || counted[CounterSpansLost] < n || counted[CounterMetricsLost] == 0 {
		t.Errorf("%v", counted)
	}
}

// TestExportStops as soon as it is told to.
func TestExportStops(t *testing.T) {
	s := &sink{services: map[string]int{}}
	at := httptest.NewServer(s)
	defer at.Close()
	asked := 0
	counted, err := Export(runOf(t, 10), source(Released), at.URL+"/v1/traces", nil, func() bool { asked++; return asked > 4 })
	if err == nil || counted[CounterSpans] != 4*5 || counted[CounterSpansLost] != 6 {
		t.Errorf("%v, %v", counted, err)
	}
}

func TestExportRefuses(t *testing.T) {
	if _, err := Export(runOf(t, 1), source(Released), "127.0.0.1:4317", nil, never); err == nil {
		t.Error("no URL was taken")
	}
}

// BenchmarkTell is the work for a row, all of which comes after the load.
func BenchmarkTell(b *testing.B) {
	b.ReportAllocs()
	x, r := New(source(Released)), answered()
	drop := func(*tracepb.Span) {}
	for b.Loop() {
		x.Attempt(&r, drop, drop)
	}
}
