package genai

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

const ms = clock.Time(time.Millisecond)

var epoch = time.Unix(1_000_000, 0)

func source(names Conventions) Source {
	return Source{
		Conventions: names, RunID: "run", Epoch: epoch, Operation: "chat", Model: "m", Streamed: true,
		Servers: []Server{{"a", 8000}, {"b", 8001}},
	}
}

// answered is a success of 200 ms with three chunks.
func answered() record.Request {
	var r record.Request
	r.Reset()
	r.TraceID, r.SpanID, r.Final, r.RequestID = [16]byte{1}, [8]byte{2}, true, "01"
	r.Intended, r.Dispatched, r.Conn, r.Writing, r.Wrote = 100*ms, 101*ms, 102*ms, 103*ms, 104*ms
	r.FirstByte, r.FirstEvent, r.FirstToken, r.LastToken, r.Done, r.Closed = 140*ms, 150*ms, 155*ms, 290*ms, 300*ms, 301*ms
	r.PlannedOutputTokens, r.PromptTokens, r.OutputTokens, r.CachedTokens = 3, 40, 3, 16
	r.TokenGapsUS, r.Chunks = []int32{30_000, 105_000}, 3
	r.FinishReason, r.HTTPStatus, r.ConnReused, r.SLOMet = "length", 200, record.Yes, record.No
	return r
}

// told are the spans of rows, and those of engines.
func told(t *Teller, rows ...record.Request) (client, engine []*tracepb.Span) {
	for i := range rows {
		t.Attempt(&rows[i], func(s *tracepb.Span) { client = append(client, s) }, func(s *tracepb.Span) { engine = append(engine, s) })
	}
	return client, engine
}

// plain is the attributes as Go values.
func plain(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[a.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			out[a.Key] = v.DoubleValue
		case *common.AnyValue_BoolValue:
			out[a.Key] = v.BoolValue
		case *common.AnyValue_ArrayValue:
			out[a.Key] = v.ArrayValue.Values[0].GetStringValue()
		}
	}
	return out
}

// TestAttempt holds the span of a success against the names of the conventions' own
// package.
func TestAttempt(t *testing.T) {
	r := answered()
	r.URL, r.SessionID, r.Class = 1, "s", "chat"
	spans, engines := told(New(source(Released)), r)
	if len(spans) != 1 || len(engines) != 0 {
		t.Fatalf("%d spans, %d of engines", len(spans), len(engines))
	}
	s := spans[0]
	if s.Name != "chat m" || s.Kind != tracepb.Span_SPAN_KIND_CLIENT || [16]byte(s.TraceId) != r.TraceID || [8]byte(s.SpanId) != r.SpanID || len(s.ParentSpanId) != 0 || s.Status != nil {
		t.Errorf("%v", s)
	}
	at := func(x clock.Time) uint64 { return uint64(epoch.UnixNano() + int64(x)) }
	if s.StartTimeUnixNano != at(101*ms) || s.EndTimeUnixNano != at(301*ms) || len(s.Links) != 1 {
		t.Errorf("from %d to %d, %d links", s.StartTimeUnixNano, s.EndTimeUnixNano, len(s.Links))
	}
	want := map[string]any{
		string(semconv.GenAIOperationNameKey): "chat", string(semconv.GenAIProviderNameKey): "openai", string(semconv.GenAIRequestModelKey): "m",
		string(semconv.GenAIRequestStreamKey): true, string(semconv.GenAIRequestMaxTokensKey): int64(3), string(semconv.GenAIConversationIDKey): "s",
		string(semconv.ServerAddressKey): "b", string(semconv.ServerPortKey): int64(8001),
		string(semconv.GenAIResponseFinishReasonsKey): "length", string(semconv.GenAIResponseTimeToFirstChunkKey): .047,
		string(semconv.GenAIUsageInputTokensKey): int64(40), string(semconv.GenAIUsageOutputTokensKey): int64(3), string(semconv.GenAIUsageCacheReadInputTokensKey): int64(16),
		string(semconv.HTTPResponseStatusCodeKey): int64(200),
		"goodput.run_id": "run", "goodput.seq": int64(0), "goodput.attempt": int64(0), "goodput.phase": "measure", "goodput.class": "chat",
		"goodput.lag_s": .001, "goodput.connect_s": .001, "goodput.upload_s": .002, "goodput.ttft_s": .055, "goodput.chunks": int64(3),
		"goodput.conn_reused": true, "goodput.slo_met": false,
	}
	if d := cmp.Diff(want, plain(s.Attributes)); d != "" {
		t.Errorf("attributes (-want +got):\n%s", d)
	}
}

// TestAttemptOfAFailure: it has an error, and nothing that was not observed.
func TestAttemptOfAFailure(t *testing.T) {
	var r record.Request
	r.Reset()
	r.TraceID, r.SpanID, r.Attempt, r.Hedge = [16]byte{1}, [8]byte{2}, 1, true
	r.Intended, r.Dispatched, r.Closed, r.Outcome, r.Error = 0, 1*ms, 2*ms, record.Connect, "refused"
	dropped := r
	dropped.Outcome = record.DroppedCap
	unsent := r
	unsent.Dispatched = clock.Never
	unsent.Closed = clock.Never
	x := New(source(Released))
	spans, _ := told(x, r, dropped, unsent)
	if len(spans) != 1 || x.Unsent() != 2 {
		t.Fatalf("%d spans, %d rows unsent", len(spans), x.Unsent())
	}
	s := spans[0]
	if s.Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR || s.Status.GetMessage() != "refused" {
		t.Errorf("status %v", s.Status)
	}
	got := plain(s.Attributes)
	want := map[string]any{
		opName: "chat", provider: "openai", requestModel: "m", streamed: true, serverAddress: "a", serverPort: int64(8000), errorType: "connect", resendCount: int64(1),
		"goodput.run_id": "run", "goodput.seq": int64(0), "goodput.attempt": int64(1), "goodput.hedge": true, "goodput.phase": "measure", "goodput.lag_s": .001,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("attributes (-want +got):\n%s", d)
	}
}

// TestEngineOfThisProcess: the engine's stages follow one another and end with it, and
// the first token is at the client's.
func TestEngineOfThisProcess(t *testing.T) {
	r := answered()
	r.ServerSource, r.ServerQueue, r.ServerPrefill, r.ServerTTFT, r.ServerDecode, r.ServerE2E = "inprocess", 10e6, 30e6, 45e6, 135e6, 180e6
	client, spans := told(New(source(Released)), r)
	var names []string
	for _, s := range spans {
		names = append(names, s.Name)
		if string(s.TraceId) != string(client[0].TraceId) || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("%v", s)
		}
	}
	if d := cmp.Diff([]string{"llm_request", "queue", "prefill", "decode"}, names); d != "" {
		t.Fatal(d)
	}
	whole := spans[0]
	if string(whole.ParentSpanId) != string(client[0].SpanId) || whole.Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("%v", whole)
	}
	if first := uint64(epoch.UnixNano() + int64(r.FirstToken)); spans[2].EndTimeUnixNano != first || spans[3].StartTimeUnixNano != first || spans[1].EndTimeUnixNano != spans[2].StartTimeUnixNano {
		t.Error("the stages do not meet")
	}
	if spans[3].EndTimeUnixNano != whole.EndTimeUnixNano {
		t.Error("the decode ends apart from the answer")
	}
}

// TestSession: an agent has its tools and sub-agents below it, and links to all attempts.
func TestSession(t *testing.T) {
	x := New(source(Development))
	step := func(n byte, thread, parent, trigger string, turn int32, intended, from, to clock.Time) record.Request {
		r := answered()
		r.TraceID, r.SessionID, r.Thread, r.ParentThread, r.Trigger, r.Turn = [16]byte{n}, "s", thread, parent, trigger, turn
		r.Intended, r.Dispatched, r.Closed = intended, from, to
		r.Done = to
		return r
	}
	rows := []record.Request{
		step(1, "main", "", "user", 0, 0, 0, 400*ms),
		step(2, "1", "main", "spawn", 0, 500*ms, 500*ms, 900*ms),
		step(3, "1", "main", "tool", 1, 1000*ms, 1001*ms, 1400*ms),
		step(4, "main", "", "tool", 1, 600*ms, 600*ms, 1000*ms),
		step(5, "main", "", "user", 2, 2000*ms, 2000*ms, 2400*ms),
	}
	client, _ := told(x, rows...)
	var spans []*tracepb.Span
	s := record.Session{SessionID: "s", Arrival: 0, Ended: 2400 * ms}
	x.Session(&s, func(p *tracepb.Span) { spans = append(spans, p) })
	type line struct {
		Name     string
		Below    string
		From, To int64 // ms
	}
	names := map[string]string{}
	for _, p := range spans {
		names[string(p.SpanId)] = p.Name
	}
	var got []line
	for _, p := range spans {
		since := func(u uint64) int64 { return (int64(u) - epoch.UnixNano()) / 1e6 }
		got = append(got, line{p.Name, names[string(p.ParentSpanId)], since(p.StartTimeUnixNano), since(p.EndTimeUnixNano)})
		if string(p.TraceId) != string(spans[0].TraceId) {
			t.Errorf("%s is of another trace", p.Name)
		}
	}
	want := []line{
		{"invoke_agent main", "", 0, 2400},
		{"invoke_agent 1", "invoke_agent main", 500, 1400},
		{"execute_tool simulated", "invoke_agent 1", 900, 1000},
		{"execute_tool simulated", "invoke_agent main", 400, 600},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
	if len(spans[0].Links) != len(rows) {
		t.Errorf("%d links", len(spans[0].Links))
	}
	for i, l := range spans[0].Links {
		if string(l.TraceId) != string(client[i].TraceId) || string(l.SpanId) != string(client[i].SpanId) {
			t.Errorf("link %d leads to %x", i, l.TraceId)
		}
		if back := client[i].Links[0]; string(back.TraceId) != string(spans[0].TraceId) || string(back.SpanId) != string(spans[0].SpanId) {
			t.Errorf("attempt %d does not lead back", i)
		}
	}
	found := map[string]float64{}
	for _, m := range x.Metrics() {
		if h := m.GetHistogram(); h != nil {
			found[m.Name] = h.DataPoints[0].GetSum()
		}
	}
	for name, sum := range map[string]float64{
		"gen_ai.invoke_agent.duration": 2.4, "gen_ai.invoke_agent.inference_calls": 5, "gen_ai.invoke_agent.tool_calls": 2, "gen_ai.execute_tool.duration": .3,
	} {
		if d := found[name] - sum; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s sums to %v, want %v", name, found[name], sum)
		}
	}
}

// TestLinksBeyondTheLimitAreCounted: none gets lost in silence.
func TestLinksBeyondTheLimitAreCounted(t *testing.T) {
	x := New(source(Released))
	r := answered()
	r.SessionID = "s"
	for range maxLinks + 7 {
		told(x, r)
	}
	var spans []*tracepb.Span
	x.Session(&record.Session{SessionID: "s", Ended: 1}, func(p *tracepb.Span) { spans = append(spans, p) })
	if len(spans) == 0 || len(spans[0].Links) != maxLinks || spans[0].DroppedLinksCount != 7 {
		t.Fatalf("%d spans", len(spans))
	}
}

// TestMetrics compares names, units and bounds of the released set with those of the
// conventions' own package, and the figures with the row's.
func TestMetrics(t *testing.T) {
	r := answered()
	r.ServerSource, r.ServerTTFT, r.ServerE2E = "inprocess", 45e6, 180e6
	x := New(source(Released))
	told(x, r)
	byName := map[string]*metrics.Metric{}
	for _, m := range x.Metrics() {
		byName[m.Name] = m
	}
	for _, c := range []struct {
		name, unit string
		count      uint64
		sum        float64
		bounds     []float64
	}{
		{genaiconv.ClientOperationDuration{}.Name(), genaiconv.ClientOperationDuration{}.Unit(), 1, .198, durationBounds},
		{"gen_ai.client.operation.time_to_first_chunk", "s", 1, .047, durationBounds},
		{"gen_ai.client.operation.time_per_output_chunk", "s", 2, .135, durationBounds},
		{genaiconv.ClientTokenUsage{}.Name(), genaiconv.ClientTokenUsage{}.Unit(), 1, 40, tokenBounds},
		{genaiconv.ServerRequestDuration{}.Name(), genaiconv.ServerRequestDuration{}.Unit(), 1, .180, durationBounds},
		{genaiconv.ServerTimeToFirstToken{}.Name(), genaiconv.ServerTimeToFirstToken{}.Unit(), 1, .045, ttftBounds},
		{genaiconv.ServerTimePerOutputToken{}.Name(), genaiconv.ServerTimePerOutputToken{}.Unit(), 1, .0675, tpotBounds},
	} {
		m := byName[c.name]
		if m == nil {
			t.Errorf("no %s", c.name)
			continue
		}
		p := m.GetHistogram().GetDataPoints()[0]
		if m.Unit != c.unit || p.Count != c.count || p.GetSum() < c.sum-1e-9 || p.GetSum() > c.sum+1e-9 || !cmp.Equal(p.ExplicitBounds, c.bounds) || len(p.BucketCounts) != len(c.bounds)+1 {
			t.Errorf("%v", m)
		}
		total := uint64(0)
		for _, n := range p.BucketCounts {
			total += n
		}
		if total != c.count || p.TimeUnixNano <= p.StartTimeUnixNano {
			t.Errorf("%s: %d in buckets, from %d to %d", c.name, total, p.StartTimeUnixNano, p.TimeUnixNano)
		}
	}
	if len(byName) != 7 {
		t.Errorf("%d metrics", len(byName))
	}
}

// TestBucketsHoldTheirUpperBounds as OTLP has it: (lower, upper].
func TestBucketsHoldTheirUpperBounds(t *testing.T) {
	h := newHistogram("x", "s", []float64{1, 2})
	for _, v := range []float64{0, 1, 1.5, 2, 2.5} {
		h.add("", v, nil)
	}
	if d := cmp.Diff([]uint64{2, 2, 1}, h.points[0].BucketCounts); d != "" {
		t.Error(d)
	}
}

// TestNamesInDevelopment: tokens are counters, and the old names are gone.
func TestNamesInDevelopment(t *testing.T) {
	x := New(source(Development))
	told(x, answered())
	for _, m := range x.Metrics() {
		switch m.Name {
		case "gen_ai.client.inference.usage.input_tokens":
			if s := m.GetSum(); !s.GetIsMonotonic() || s.DataPoints[0].GetAsInt() != 40 || plain(s.DataPoints[0].Attributes)["gen_ai.token.modality"] != "text" {
				t.Errorf("%v", m)
			}
			return
		case "gen_ai.client.token.usage", "gen_ai.client.operation.duration":
			t.Errorf("%s is of the released set", m.Name)
		}
	}
	t.Error("no counter of input tokens")
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Conventions{"": Released, "1.41": Released, "genai-dev": Development} {
		if got, err := Parse(name); err != nil || got != want {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	if _, err := Parse("1.36"); err == nil {
		t.Error("1.36 was taken")
	}
	if Released.Schema != semconv.SchemaURL {
		t.Errorf("schema %s, the package has %s", Released.Schema, semconv.SchemaURL)
	}
}

// TestIdsAreOfWhatTheyName: equal parts have equal ids, others not, and none is zero.
func TestIdsAreOfWhatTheyName(t *testing.T) {
	a, b, c := name(nil, "ab", "c"), name(nil, "a", "bc"), name(nil, "ab", "c")
	if a == b || a != c || hex.EncodeToString(a[16:]) == "0000000000000000" {
		t.Errorf("%x %x %x", a, b, c)
	}
}
