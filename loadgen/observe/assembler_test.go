package observe_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

const ms = clock.Time(time.Millisecond)

// ask is the request of most tests: three tokens, intended at 10 ms.
var ask = target.Request{Seq: 7, Intended: 10 * ms, In: 100, Out: 3, Turn: 2, TraceID: [16]byte{1}, SpanID: [8]byte{2}}

// good is a complete answer to ask.
func good() []target.Event {
	return []target.Event{
		{At: 11 * ms, Kind: target.Dispatched},
		{At: 12 * ms, Kind: target.Conn, Reused: true},
		{At: 13 * ms, Kind: target.Writing},
		{At: 14 * ms, Kind: target.Wrote},
		{At: 20 * ms, Kind: target.Header, Status: 200},
		{At: 20 * ms, Kind: target.FirstByte},
		{At: 21 * ms, Kind: target.Token, Content: target.Role},
		{At: 30 * ms, Kind: target.Token, Content: target.Reasoning, N: 1},
		{At: 40 * ms, Kind: target.Token, Content: target.Text, N: 1},
		{At: 40 * ms, Kind: target.Token, Content: target.Text, N: 1, Coalesced: true},
		{At: 41 * ms, Kind: target.Finished, Reason: "length"},
		{At: 42 * ms, Kind: target.UsageSeen, Usage: &target.Usage{Prompt: 101, Completion: 3, Cached: 64, Reasoning: 1}},
		{At: 43 * ms, Kind: target.Done},
		{At: 44 * ms, Kind: target.End, Result: &target.Result{
			Status: 200, BytesIn: 900, BytesOut: 400, Replica: "r1", DecodeFallbacks: 2,
			Server: &target.Server{
				Source: target.SourceInProcess, Queue: int64(2 * ms), Prefill: int64(10 * ms), Decode: int64(11 * ms),
				TTFT: int64(12 * ms), E2E: int64(23 * ms), Preempted: 0, CachedTokens: 64, Preemptions: 1, RecomputedToks: 5,
				Spent:       target.Spent{Known: true, FrontEnd: 1, Queue: 2, Prefill: 3, Decode: 4, Interference: 0, Transfer: 5},
				Speculation: target.Speculation{Known: true, Drafts: 3, Tokens: 9, Accepted: 0},
			},
		}},
	}
}

func assemble(a *observe.Assembler, r *target.Request, cutoff clock.Time, events []target.Event) *record.Request {
	a.Begin(r, r.Intended)
	for _, e := range events {
		a.Event(e)
	}
	return a.Finish(cutoff)
}

func TestRowOfAGoodAnswer(t *testing.T) {
	var want record.Request
	want.Reset()
	want.Seq, want.Turn, want.TraceID, want.SpanID = 7, 2, [16]byte{1}, [8]byte{2}
	want.Intended, want.Dispatched, want.Conn, want.Writing, want.Wrote = 10*ms, 11*ms, 12*ms, 13*ms, 14*ms
	want.FirstByte, want.FirstEvent, want.FirstRole = 20*ms, 21*ms, 21*ms
	want.FirstReasoning, want.FirstContent = 30*ms, 40*ms
	want.FirstToken, want.LastToken, want.UsageAt, want.Done, want.Closed = 30*ms, 40*ms, 42*ms, 43*ms, 44*ms
	want.PlannedPromptTokens, want.PromptTokens, want.PlannedOutputTokens, want.OutputTokens = 100, 101, 3, 3
	want.ReasoningTokens, want.CachedTokens = 1, 64
	want.Chunks, want.CoalescedTokens = 3, 1
	want.TokenGapsUS, want.ChunkTokens = []int32{10_000, 0}, []int32{1, 1, 1}
	want.Outcome, want.HTTPStatus, want.FinishReason = record.OK, 200, "length"
	want.BytesIn, want.BytesOut, want.ConnReused, want.Replica = 900, 400, record.Yes, "r1"
	want.ServerSource, want.ServerQueue, want.ServerPrefill = "inprocess", int64(2*ms), int64(10*ms)
	want.ServerDecode, want.ServerTTFT, want.ServerE2E, want.ServerPreempted = int64(11*ms), int64(12*ms), int64(23*ms), 0
	want.ServerCachedTokens, want.ServerPreemptions, want.ServerRecomputed = 64, 1, 5
	want.ServerDrafts, want.ServerDraftTokens, want.ServerAcceptedTokens = 3, 9, 0
	want.ServerSpentFrontEnd, want.ServerSpentQueue, want.ServerSpentPrefill = 1, 2, 3
	want.ServerSpentDecode, want.ServerSpentInterference, want.ServerSpentTransfer = 4, 0, 5
	want.DTTFT, want.DE2E, want.DTail, want.DTPOT = int64(4*ms), int64(6*ms), int64(2*ms), int64(1*ms)

	var a observe.Assembler
	for range 2 { // the second time on slices that are kept
		got := assemble(&a, &ask, clock.Never, good())
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(&observe.Anomalies{observe.DecodeFallbacks: 2}, a.Anomalies()); diff != "" {
			t.Errorf("anomalies (-want +got):\n%s", diff)
		}
	}
}

// without drops the events of a kind.
func without(kind target.Kind) func([]target.Event) []target.Event {
	return func(in []target.Event) []target.Event {
		var out []target.Event
		for _, e := range in {
			if e.Kind != kind {
				out = append(out, e)
			}
		}
		return out
	}
}

// change edits the events of a kind.
func change(kind target.Kind, edit func(*target.Event)) func([]target.Event) []target.Event {
	return func(in []target.Event) []target.Event {
		for i := range in {
			if in[i].Kind == kind {
				edit(&in[i])
			}
		}
		return in
	}
}

// insert puts e after the first event of a kind.
func insert(kind target.Kind, e target.Event) func([]target.Event) []target.Event {
	return func(in []target.Event) []target.Event {
		for i := range in {
			if in[i].Kind == kind {
				return append(in[:i+1:i+1], append([]target.Event{e}, in[i+1:]...)...)
			}
		}
		return in
	}
}

func TestRowDetails(t *testing.T) {
	type row = record.Request
	cases := []struct {
		name  string
		edit  func([]target.Event) []target.Event
		check func(r *row) bool
		odd   observe.Anomalies
	}{
		{"no dispatched event: the hand-over stands", without(target.Dispatched), func(r *row) bool { return r.Dispatched == ask.Intended && r.Lag() == 0 }, observe.Anomalies{}},
		{"usage wins over the stream's count", change(target.UsageSeen, func(e *target.Event) { e.Usage.Completion = 9 }), func(r *row) bool { return r.OutputTokens == 9 && len(r.ChunkTokens) == 3 }, observe.Anomalies{observe.UsageDiffers: 1}},
		{"no usage: counted", without(target.UsageSeen), func(r *row) bool {
			return r.OutputTokens == 3 && r.PromptTokens == record.Null32 && !r.UsageAt.Known() && r.Outcome == record.OK
		}, observe.Anomalies{}},
		{"usage without a count: counted", change(target.UsageSeen, func(e *target.Event) {
			e.Usage = &target.Usage{Prompt: 5, Completion: target.Unknown, Cached: target.Unknown, Reasoning: target.Unknown}
		}), func(r *row) bool {
			return r.OutputTokens == 3 && r.PromptTokens == 5 && r.CachedTokens == record.Null32 && r.ReasoningTokens == record.Null32
		}, observe.Anomalies{}},
		{"one unknown chunk, no usage: unknown, never a part", func(in []target.Event) []target.Event {
			in = without(target.UsageSeen)(in)
			in[8].N = 0
			return in
		}, func(r *row) bool {
			return r.OutputTokens == record.Null32 && len(r.ChunkTokens) == 0 && r.Chunks == 3 && r.DTail != record.Null && r.DTPOT == record.Null
		}, observe.Anomalies{}},
		{"later usage overwrites what it knows", insert(target.UsageSeen, target.Event{
			At: 42500 * ms / 1000, Kind: target.UsageSeen,
			Usage: &target.Usage{Prompt: target.Unknown, Completion: 4, Cached: 0, Reasoning: target.Unknown},
		}), func(r *row) bool {
			return r.PromptTokens == 101 && r.OutputTokens == 4 && r.CachedTokens == 0 && r.UsageAt == 42500*ms/1000
		}, observe.Anomalies{observe.UsageDiffers: 1}},
		{"absurd usage is unknown", change(target.UsageSeen, func(e *target.Event) { e.Usage.Prompt, e.Usage.Cached = math.MaxInt, -7 }), func(r *row) bool { return r.PromptTokens == record.Null32 && r.CachedTokens == record.Null32 }, observe.Anomalies{}},
		{"tool call is a first token", change(target.Token, func(e *target.Event) {
			if e.Content != target.Role {
				e.Content = target.Tool
			}
		}), func(r *row) bool {
			return r.FirstTool == 30*ms && r.FirstToken == 30*ms && !r.FirstContent.Known() && r.TTFV() == record.Null
		}, observe.Anomalies{}},
		{"token after finish counts", insert(target.Finished, target.Event{At: 41 * ms, Kind: target.Token, Content: target.Text, N: 1}), func(r *row) bool { return r.Chunks == 4 && r.LastToken == 41*ms && r.Outcome == record.OK }, observe.Anomalies{observe.TokensAfterFinish: 1, observe.UsageDiffers: 1}},
		{"token after done does not count", insert(target.Done, target.Event{At: 43 * ms, Kind: target.Token, Content: target.Text, N: 1}), func(r *row) bool { return r.Chunks == 3 && r.LastToken == 40*ms && r.Outcome == record.OK }, observe.Anomalies{observe.TokensAfterDone: 1}},
		{"second done and finish", func(in []target.Event) []target.Event {
			in = insert(target.Done, target.Event{At: 43500 * ms / 1000, Kind: target.Done})(in)
			return insert(target.Finished, target.Event{At: 41 * ms, Kind: target.Finished, Reason: "stop"})(in)
		}, func(r *row) bool {
			return r.Done == 43*ms && r.FinishReason == "length" && r.Outcome == record.OK
		}, observe.Anomalies{observe.DuplicateDone: 1, observe.DuplicateFinish: 1}},
		{"event after end", insert(target.End, target.Event{At: 99 * ms, Kind: target.End, Result: &target.Result{Cause: target.CauseReset}}), func(r *row) bool { return r.Closed == 44*ms && r.Outcome == record.OK }, observe.Anomalies{observe.AfterEnd: 1}},
		{"token stamped before the last one", change(target.Token, func(e *target.Event) {
			if e.Coalesced {
				e.At, e.Coalesced = 35*ms, false
			}
		}), func(r *row) bool { return cmp.Equal(r.TokenGapsUS, []int32{10_000, 0}) && r.LastToken == 40*ms }, observe.Anomalies{observe.OutOfOrder: 1}},
		{"gap of an hour", change(target.Token, func(e *target.Event) {
			if e.Coalesced {
				e.At, e.Coalesced = 3_600_000*ms, false
			}
		}), func(r *row) bool { return r.TokenGapsUS[1] == math.MaxInt32 && r.LastToken == 3_600_000*ms }, observe.Anomalies{observe.GapsClamped: 1}},
		{"coalesced with a role delta is no coalesced token", change(target.Token, func(e *target.Event) { e.Coalesced = e.Content == target.Reasoning }), func(r *row) bool { return r.CoalescedTokens == 0 }, observe.Anomalies{}},
		{"second connection", insert(target.Conn, target.Event{At: 12500 * ms / 1000, Kind: target.Conn}), func(r *row) bool { return r.Conn == 12500*ms/1000 && r.ConnReused == record.No }, observe.Anomalies{}},
		{"no server account", change(target.End, func(e *target.Event) { e.Result.Server = nil }), func(r *row) bool {
			return r.ServerSource == "" && r.ServerTTFT == record.Null && r.DTTFT == record.Null && r.DE2E == record.Null && r.DTPOT == record.Null
		}, observe.Anomalies{}},
		{"server knows only some", change(target.End, func(e *target.Event) {
			e.Result.Server.Source, e.Result.Server.TTFT, e.Result.Server.CachedTokens = target.SourceHeader, -1, target.Unknown
		}), func(r *row) bool {
			return r.ServerSource == "header" && r.ServerTTFT == record.Null && r.ServerCachedTokens == record.Null32 &&
				r.DTTFT == record.Null && r.DE2E == int64(6*ms) && r.DTail == record.Null && r.DTPOT == record.Null
		}, observe.Anomalies{}},
		{"write not seen", without(target.Wrote), func(r *row) bool { return r.DTTFT == record.Null && r.DE2E == record.Null }, observe.Anomalies{}},
		{"one output token has no tpot", change(target.UsageSeen, func(e *target.Event) { e.Usage.Completion = 1 }), func(r *row) bool { return r.DTail == int64(2*ms) && r.DTPOT == record.Null }, observe.Anomalies{observe.UsageDiffers: 1}},
		{"retry after", change(target.End, func(e *target.Event) { e.Result.RetryAfter = 5 }), func(r *row) bool { return r.RetryAfter == 5 }, observe.Anomalies{}},
		{"bytes not counted", change(target.End, func(e *target.Event) { e.Result.BytesIn, e.Result.BytesOut = target.Unknown, 0 }), func(r *row) bool { return r.BytesIn == record.Null && r.BytesOut == 0 }, observe.Anomalies{}},
		{"end without a result", change(target.End, func(e *target.Event) { e.Result = nil }), func(r *row) bool { return r.Outcome == record.Truncated && r.BytesIn == record.Null }, observe.Anomalies{}},
		{"usage event without usage", change(target.UsageSeen, func(e *target.Event) { e.Usage = nil }), func(r *row) bool { return !r.UsageAt.Known() && r.OutputTokens == 3 }, observe.Anomalies{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var a observe.Assembler
			r := assemble(&a, &ask, clock.Never, c.edit(good()))
			if !c.check(r) {
				t.Errorf("row is wrong: %+v", r)
			}
			odd := *a.Anomalies()
			odd[observe.DecodeFallbacks] = 0
			if diff := cmp.Diff(c.odd, odd); diff != "" {
				t.Errorf("anomalies (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingObservedIsNull(t *testing.T) {
	var a observe.Assembler
	r := assemble(&a, &ask, clock.Never, []target.Event{{At: 12 * ms, Kind: target.End, Result: &target.Result{Cause: target.CauseConnect}}})
	var want record.Request
	want.Reset()
	want.Seq, want.Turn, want.TraceID, want.SpanID = 7, 2, [16]byte{1}, [8]byte{2}
	want.Intended, want.Dispatched, want.Closed = 10*ms, 10*ms, 12*ms
	want.PlannedPromptTokens, want.PlannedOutputTokens = 100, 3
	want.Chunks, want.CoalescedTokens = 0, 0 // none came: that was observed
	want.BytesIn, want.BytesOut = 0, 0
	want.Outcome, want.Error = record.Connect, "no connection"
	if diff := cmp.Diff(&want, r); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
}

func TestCensoring(t *testing.T) {
	canceled := change(target.End, func(e *target.Event) { e.Result.Cause = target.CauseCanceled })
	cases := []struct {
		name   string
		cutoff clock.Time
		edit   func([]target.Event) []target.Event
		want   record.Outcome
	}{
		{"ended before the cutoff", 50 * ms, nil, record.OK},
		{"ended exactly at the cutoff", 44 * ms, nil, record.OK},
		{"ended after the cutoff", 43 * ms, nil, record.Censored},
		{"cancelled for the cutoff", 44 * ms, canceled, record.Censored},
		{"cancelled without a cutoff", clock.Never, canceled, record.Canceled},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ev := good()
			if c.edit != nil {
				ev = c.edit(ev)
			}
			var a observe.Assembler
			r := assemble(&a, &ask, c.cutoff, ev)
			if r.Outcome != c.want {
				t.Errorf("outcome %v, want %v", r.Outcome, c.want)
			}
			if (r.Error == "") != (c.want == record.OK) {
				t.Errorf("error text is %q", r.Error)
			}
		})
	}
	t.Run("abandoned", func(t *testing.T) {
		var a observe.Assembler
		a.Begin(&ask, 10*ms)
		r := a.Abandon("no end")
		if r.Outcome != record.Censored || r.Error != "no end" || r.Closed.Known() || r.Chunks != record.Null32 {
			t.Errorf("row is %+v", r)
		}
	})
}

// TestGapsAddUp: the sum of the rounded gaps is the rounded span, whatever the
// stamps; invariant 2 (causality) holds for what the row says of tokens.
func TestGapsAddUp(t *testing.T) {
	var a observe.Assembler
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Int64Range(0, 5_000_000), 1, 200).Draw(t, "steps")
		a.Begin(&ask, ask.Intended)
		at := ask.Intended
		for _, d := range steps {
			at += clock.Time(d)
			a.Event(target.Event{At: at, Kind: target.Token, Content: target.Text, N: 1})
		}
		a.Event(target.Event{At: at, Kind: target.End, Result: &target.Result{Status: 200}})
		r := a.Finish(clock.Never)
		var sum int64
		for _, g := range r.TokenGapsUS {
			sum += int64(g)
		}
		if drift := sum*1000 - int64(r.LastToken-r.FirstToken); drift < -1000 || drift > 1000 {
			t.Fatalf("gaps add up to %d us, but tokens span %v", sum, r.LastToken.Sub(r.FirstToken))
		}
		if int(r.Chunks) != len(steps) || len(r.TokenGapsUS) != len(steps)-1 || int(r.OutputTokens) != len(steps) {
			t.Fatalf("%d steps gave %d chunks, %d gaps, %d tokens", len(steps), r.Chunks, len(r.TokenGapsUS), r.OutputTokens)
		}
		if !(r.Intended <= r.FirstToken && r.FirstToken <= r.LastToken && r.LastToken <= r.Closed) {
			t.Fatalf("instants out of order: %+v", r)
		}
	})
}

func TestGapsAreDifferencesOfNearestMicroseconds(t *testing.T) {
	var a observe.Assembler
	a.Begin(&ask, 0)
	for _, at := range []clock.Time{600, 1_400, 1_500, 4_499} { // 1, 1, 2 and 4 us
		a.Event(target.Event{At: at, Kind: target.Token, Content: target.Text})
	}
	a.Event(target.Event{At: 5_000, Kind: target.End, Result: &result})
	if diff := cmp.Diff([]int32{0, 1, 2}, a.Finish(clock.Never).TokenGapsUS); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// TestRunIsItsTokensOneByOne mixes runs with other events, also where they do not
// belong.
func TestRunIsItsTokensOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var one, many observe.Assembler
		one.Begin(&ask, 0)
		many.Begin(&ask, 0)
		both := func(e target.Event) {
			one.Event(e)
			many.Event(e)
		}
		at := clock.Time(0)
		for range rapid.IntRange(0, 5).Draw(rt, "runs") {
			if k := rapid.SampledFrom([]target.Kind{target.FirstByte, target.FirstByte, target.FirstByte, target.Finished, target.Done, target.End}).Draw(rt, "kind"); k != target.FirstByte {
				both(target.Event{At: at, Kind: k, Reason: "length", Result: &result})
			}
			run := make([]clock.Time, rapid.IntRange(0, 6).Draw(rt, "length"))
			for i := range run {
				at += clock.Time(rapid.SampledFrom([]int64{0, 1, 499, 500, 7_650_321, -3000, 40 * 60 * 1e9}).Draw(rt, "gap"))
				run[i] = at
			}
			c := rapid.SampledFrom([]target.Content{target.Role, target.Text, target.Text, target.Reasoning, target.Tool}).Draw(rt, "content")
			n := rapid.IntRange(0, 3).Draw(rt, "tokens")
			for _, t := range run {
				one.Event(target.Event{At: t, Kind: target.Token, Content: c, N: n})
			}
			many.Run(run, c, n)
		}
		both(target.Event{At: at, Kind: target.End, Result: &result})
		if diff := cmp.Diff(one.Finish(clock.Never), many.Finish(clock.Never), cmpopts.EquateEmpty()); diff != "" {
			rt.Errorf("row (-one by one +run):\n%s", diff)
		}
		if *one.Anomalies() != *many.Anomalies() {
			rt.Errorf("anomalies: one by one %v, run %v", *one.Anomalies(), *many.Anomalies())
		}
	})
}

// answer plays n tokens.
func answer(a *observe.Assembler, n int) *record.Request {
	a.Begin(&ask, ask.Intended)
	at := ask.Intended
	for range n {
		at += 10 * ms
		a.Event(target.Event{At: at, Kind: target.Token, Content: target.Text, N: 1})
	}
	a.Event(target.Event{At: at, Kind: target.Finished, Reason: "length"})
	a.Event(target.Event{At: at, Kind: target.Done})
	a.Event(target.Event{At: at, Kind: target.End, Result: &result})
	return a.Finish(clock.Never)
}

var result = target.Result{Status: 200}

func TestAssemblerAllocatesNothing(t *testing.T) {
	var a observe.Assembler
	answer(&a, 500)
	if n := testing.AllocsPerRun(100, func() { answer(&a, 500) }); n != 0 {
		t.Errorf("%v allocations for 500 tokens", n)
	}
	run := make([]clock.Time, 500)
	if n := testing.AllocsPerRun(100, func() {
		a.Begin(&ask, ask.Intended)
		a.Run(run, target.Text, 1)
	}); n != 0 {
		t.Errorf("%v allocations for a run of 500 tokens", n)
	}
}

func BenchmarkAssemblerPerToken(b *testing.B) {
	b.ReportAllocs()
	var a observe.Assembler
	a.Begin(&ask, ask.Intended)
	at, n := ask.Intended, 0
	for b.Loop() {
		if n++; n == 1000 {
			a.Begin(&ask, ask.Intended)
			at, n = ask.Intended, 0
		}
		at += 10 * ms
		a.Event(target.Event{At: at, Kind: target.Token, Content: target.Text, N: 1})
	}
}

// BenchmarkAssemblerRun is the cost of an answer of 256 tokens in one call.
func BenchmarkAssemblerRun(b *testing.B) {
	b.ReportAllocs()
	var a observe.Assembler
	run := make([]clock.Time, 256)
	for i := range run {
		run[i] = clock.Time(i) * 7_650_123
	}
	for b.Loop() {
		a.Begin(&ask, 0)
		a.Run(run, target.Text, 1)
	}
}

func BenchmarkAssemblerRequest(b *testing.B) {
	b.ReportAllocs()
	var a observe.Assembler
	for b.Loop() {
		answer(&a, 1)
	}
}

func ExampleAssembler() {
	req := target.Request{Intended: 0, Out: 2, IgnoreEOS: true}
	var a observe.Assembler
	a.Begin(&req, 0)
	for _, e := range []target.Event{
		{At: 1 * ms, Kind: target.Wrote},
		{At: 80 * ms, Kind: target.Token, Content: target.Text, N: 1},
		{At: 95 * ms, Kind: target.Token, Content: target.Text, N: 1},
		{At: 95 * ms, Kind: target.Finished, Reason: "length"},
		{At: 95 * ms, Kind: target.Done},
		{At: 96 * ms, Kind: target.End, Result: &target.Result{Status: 200}},
	} {
		a.Event(e)
	}
	row := a.Finish(clock.Never)
	slo, _ := observe.ParseSLO([]string{"ttft:100", "tpot:20"})
	fmt.Println(row.Outcome, time.Duration(row.TTFT()), row.TokenGapsUS, slo.Met(row) == record.Yes)
	// Output: ok 80ms [15000] true
}
