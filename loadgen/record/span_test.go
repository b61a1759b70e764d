package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// engineSpan is a span of an engine of attempt 0 of trace 1, from..to in
// milliseconds.
func engineSpan(id byte, from, to int64, output int32, change ...func(*Span)) Span {
	s := UnknownSpan()
	s.TraceID, s.SpanID, s.Attempt, s.Role = [16]byte{1}, [8]byte{id}, 0, SpanEngine
	s.Name, s.Kind = "llm_request", "server"
	s.Start, s.Duration, s.E2E = from*1e6, (to-from)*1e6, (to-from)*1e6
	s.TTFT, s.Queue, s.Prefill, s.Decode = 30e6, 10e6, 15e6, s.E2E-30e6
	s.OutputTokens = output
	for _, f := range change {
		f(&s)
	}
	return s
}

// answered is a success of trace 1: 11 tokens, the first after 50 ms, all after 150.
func answered() Request {
	var r Request
	r.Reset()
	r.TraceID, r.Outcome, r.Final = [16]byte{1}, OK, true
	r.Intended, r.Dispatched, r.Conn, r.Writing, r.Wrote = 0, 1e6, 2e6, 2e6, 3e6
	r.FirstToken, r.LastToken, r.Done, r.Closed = 53e6, 153e6, 153e6, 154e6
	r.OutputTokens = 11
	return r
}

func joinAll(r Request, spans ...Span) Request {
	j := &joiner{engines: map[[16]byte][]Span{}, path: map[[16]byte][]Span{}, names: map[string]string{}}
	for i := range spans {
		j.keep(&spans[i])
	}
	j.join(&r)
	return r
}

// A client that left has no answer to compare with; what an engine did all the same counts.
func TestJoinOfTheAbandoned(t *testing.T) {
	failed := func(s *Span) { s.Failed = true }
	for _, c := range []struct {
		name    string
		outcome Outcome
		spans   []Span
		e2e     int64
	}{
		{"went on", TimeoutTotal, []Span{engineSpan(1, 0, 900, 90)}, 900e6},
		{"stopped", TimeoutTotal, nil, Null},
		{"left on purpose", Canceled, []Span{engineSpan(1, 0, 900, 90)}, 900e6},
		{"the last of several", TimeoutTTFT, []Span{engineSpan(1, 0, 400, 40), engineSpan(2, 10, 900, 90)}, 890e6},
		{"failed", TimeoutTotal, []Span{engineSpan(1, 0, 900, 90, failed)}, Null},
		{"failed at the server", HTTP5xx, []Span{engineSpan(1, 0, 900, 90)}, Null},
	} {
		r := answered()
		r.Outcome = c.outcome
		if got := joinAll(r, c.spans...); got.ServerE2E != c.e2e || got.DTTFT != Null || got.ServerAttempts != Null32 {
			t.Errorf("%s: e2e %d, want %d; d_ttft %d, attempts %d", c.name, got.ServerE2E, c.e2e, got.DTTFT, got.ServerAttempts)
		}
	}
}

func TestJoinPicksTheAnswer(t *testing.T) {
	of := func(attempt int32) func(*Span) { return func(s *Span) { s.Attempt = attempt } }
	failed := func(s *Span) { s.Failed = true }
	for _, c := range []struct {
		name     string
		spans    []Span
		match    SpanMatch
		e2e      int64 // Null: not joined
		attempts int32
	}{
		{"one", []Span{engineSpan(1, 0, 120, 11)}, SpanJoined, 120e6, 1},
		{"none", nil, SpanMissing, Null, Null32},
		{"untold tokens", []Span{engineSpan(1, 0, 120, Null32)}, SpanJoined, 120e6, 1},
		{"another answer", []Span{engineSpan(1, 0, 120, 7)}, SpanUnlike, Null, Null32},
		{"failed only", []Span{engineSpan(1, 0, 120, 11, failed)}, SpanMissing, Null, Null32},
		{"router tried again", []Span{engineSpan(1, 0, 40, 11, failed), engineSpan(2, 41, 121, 11)}, SpanJoined, 80e6, 2},
		{"tried again, sent in reverse", []Span{engineSpan(2, 41, 121, 11), engineSpan(1, 0, 40, 11)}, SpanJoined, 80e6, 2},
		{"at one time", []Span{engineSpan(1, 0, 120, 11), engineSpan(2, 5, 121, 11)}, SpanAmbiguous, Null, Null32},
		{"at one time, one of them longer than the client saw", []Span{engineSpan(1, 0, 120, 11), engineSpan(2, 5, 321, 11)}, SpanJoined, 120e6, 2},
		{"of another attempt", []Span{engineSpan(1, 0, 120, 11, of(1))}, SpanMissing, Null, Null32},
		{"of an unknown attempt", []Span{engineSpan(1, 0, 120, 11, of(Null32))}, SpanAmbiguous, Null, Null32},
		{"both attempts", []Span{engineSpan(1, 0, 90, 11, of(1)), engineSpan(2, 0, 120, 11)}, SpanJoined, 120e6, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := joinAll(answered(), c.spans...)
			if r.Spans != c.match || r.ServerE2E != c.e2e || r.ServerAttempts != c.attempts {
				t.Errorf("match %d e2e %d attempts %d; want %d %d %d", r.Spans, r.ServerE2E, r.ServerAttempts, c.match, c.e2e, c.attempts)
			}
			if joined := r.Spans == SpanJoined; joined != (r.ServerSource == sourceOTLP) || joined != (r.DE2E != Null) {
				t.Errorf("match %d, source %q, d_e2e %d", r.Spans, r.ServerSource, r.DE2E)
			}
		})
	}
}

// TestSpansWinOverHeaders: an account of the same process stays, one of a header gives way
// to a span, and stays where there is none.
func TestSpansWinOverHeaders(t *testing.T) {
	for _, c := range []struct {
		name, had, want string
		spans           []Span
		match           SpanMatch
	}{
		{"in process", "inprocess", "inprocess", []Span{engineSpan(1, 0, 120, 11)}, SpanUnasked},
		{"header and span", "header", "otlp", []Span{engineSpan(1, 0, 120, 11)}, SpanJoined},
		{"header and the span of another answer", "header", "header", []Span{engineSpan(1, 0, 120, 7)}, SpanUnasked},
		{"header alone", "header", "header", nil, SpanUnasked},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := answered()
			r.ServerSource, r.ServerTTFT = c.had, 1
			got := joinAll(r, c.spans...)
			if got.ServerSource != c.want || got.Spans != c.match || (got.ServerTTFT == 1) != (c.want == c.had) {
				t.Errorf("source %q, match %d, ttft %d", got.ServerSource, got.Spans, got.ServerTTFT)
			}
		})
	}
}

func TestJoinLeavesFailures(t *testing.T) {
	r := answered()
	r.Outcome = Truncated
	if got := joinAll(r, engineSpan(1, 0, 120, 11)); got.ServerSource != "" {
		t.Error("a failed request was joined")
	}
}

// TestJoinedPartsSumToTTFT: the identity of FORMAT.md holds for what spans say, to the
// nanosecond, also where a preemption makes queue and prefill longer than the TTFT.
func TestJoinedPartsSumToTTFT(t *testing.T) {
	for _, queue := range []int64{10e6, 0, 17e6, 123456789} {
		r := joinAll(answered(), engineSpan(1, 0, 120, 11, func(s *Span) { s.Queue, s.Decode = queue, Null }))
		sum := r.Lag() + r.Connect() + r.Upload() + r.DTTFT + r.ServerFrontEnd() + r.ServerQueue + r.ServerPrefill
		if r.Spans != SpanJoined || sum != r.TTFT() {
			t.Errorf("queue %d: the parts sum to %d, ttft is %d", queue, sum, r.TTFT())
		}
		if r.DTTFT != 20e6 || r.DE2E != 30e6 || r.DTail != 10e6 || r.DTPOT != 1e6 {
			t.Errorf("d_ttft %d d_e2e %d d_tail %d d_tpot %d", r.DTTFT, r.DE2E, r.DTail, r.DTPOT)
		}
	}
}

func TestJoinKnowsTheTwoClocks(t *testing.T) {
	// The wall clock was set back by 60 ms: e2e is less than its monotonic parts.
	r := joinAll(answered(), engineSpan(1, 0, 120, 11, func(s *Span) { s.E2E -= 60e6; s.TTFT -= 60e6 }))
	if r.ServerE2E != Null || r.ServerTTFT != Null || r.DTTFT != Null || r.DE2E != Null {
		t.Errorf("durations of a clock that was set back count: ttft %d e2e %d", r.ServerTTFT, r.ServerE2E)
	}
	if r.ServerQueue != 10e6 || r.ServerPrefill != 15e6 {
		t.Errorf("monotonic durations are lost: queue %d prefill %d", r.ServerQueue, r.ServerPrefill)
	}
}

// An engine that scheduled a request again counts queue and prefill from then on, so that
// they may be more than its time to the first token: the front end is then below 0, for
// all to see, and what is between client and server stays as it is.
func TestJoinOfAPreempted(t *testing.T) {
	r := joinAll(answered(), engineSpan(1, 0, 120, 11, func(s *Span) { s.Queue, s.Decode = 40e6, Null }))
	if r.Spans != SpanJoined || r.DTTFT != 20e6 || r.ServerFrontEnd() != -25e6 {
		t.Errorf("match %d d_ttft %d front end %d", r.Spans, r.DTTFT, r.ServerFrontEnd())
	}
	if sum := r.Lag() + r.Connect() + r.Upload() + r.DTTFT + r.ServerFrontEnd() + r.ServerQueue + r.ServerPrefill; sum != r.TTFT() {
		t.Errorf("the parts sum to %d, ttft is %d", sum, r.TTFT())
	}
}

func TestJoinOfSeparatePrefill(t *testing.T) {
	r := joinAll(answered(), engineSpan(1, 0, 30, 1), engineSpan(2, 31, 111, 11))
	if r.Spans != SpanJoined || r.ServerE2E != 110e6 || r.ServerTTFT != Null || r.DTTFT != Null || r.DE2E != 40e6 {
		t.Errorf("match %d e2e %d ttft %d d_ttft %d d_e2e %d", r.Spans, r.ServerE2E, r.ServerTTFT, r.DTTFT, r.DE2E)
	}
}

// TestSpansAreReadBackAndJoined goes the whole way over the files.
func TestSpansAreReadBackAndJoined(t *testing.T) {
	dir := t.TempDir() + "/run"
	w, err := Create(dir, Meta{RunID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	first, second := answered(), answered()
	first.RunID, second.RunID = "run", "run"
	second.TraceID = [16]byte{2}
	w.Write(&first)
	w.Write(&second)
	full := engineSpan(1, 0, 120, 11)
	full.ParentID, full.Service, full.RequestID, full.Attributes = [8]byte{9}, "vllm", "cmpl-1", `{"a":1}`
	full.PromptTokens, full.CachedToken = 5, 4
	bare := UnknownSpan()
	bare.TraceID, bare.SpanID, bare.Name, bare.Kind = [16]byte{1}, [8]byte{2}, "pick", "internal"
	want := []Span{full, bare}
	if err := WriteSpans(dir, want); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []Span
	if found, err := run.Spans(func(s *Span) error { got = append(got, *s); return nil }); !found || err != nil {
		t.Fatal(found, err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-written +read):\n%s", d)
	}
	matches := map[SpanMatch]int{}
	if err := run.Requests(func(r *Request) error {
		matches[r.Spans]++
		if r.Spans == SpanJoined && r.DTTFT != 20e6 {
			t.Errorf("d_ttft %d", r.DTTFT)
		}
		return nil
	}, Columns("d_ttft")); err != nil {
		t.Fatal(err)
	}
	if matches[SpanJoined] != 1 || matches[SpanMissing] != 1 {
		t.Errorf("matches %v", matches)
	}
}

// TestFormatListsEveryColumnOfSpans holds FORMAT.md and the rows together.
func TestFormatListsEveryColumnOfSpans(t *testing.T) {
	var stored [][3]string
	for _, f := range parquet.SchemaOf(spanRow{}).Fields() {
		null := "never"
		if f.Optional() {
			null = "null"
		}
		kind := map[parquet.Kind]string{parquet.ByteArray: "string", parquet.Int32: "int32", parquet.Int64: "int64", parquet.Boolean: "bool"}[f.Type().Kind()]
		stored = append(stored, [3]string{f.Name(), kind, null})
	}
	if d := cmp.Diff(stored, documented(t, "spans-NNNNN.parquet")); d != "" {
		t.Errorf("columns of the code and of FORMAT.md (-code +document):\n%s", d)
	}
}
