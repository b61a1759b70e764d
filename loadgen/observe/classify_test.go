package observe_test

import (
	"slices"
	"testing"

	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// complete is the evidence of a success.
func complete() observe.Evidence {
	return observe.Evidence{
		Cause: target.CauseEOF, Status: 200, Finished: true, Reason: "length", Done: true,
		Tokens: true, Usage: true, Exact: true, Want: 8, Output: 8,
	}
}

func TestClassify(t *testing.T) {
	type ev = observe.Evidence
	cases := []struct {
		name string
		edit func(e *ev)
		want record.Outcome
		text string
	}{
		{"complete", func(*ev) {}, record.OK, ""},
		{"complete, without usage", func(e *ev) { e.Usage = false }, record.OK, ""},
		{"complete, usage only", func(e *ev) { e.Tokens = false }, record.OK, ""},
		{"another length is fine without ignore_eos", func(e *ev) { e.Exact, e.Output, e.Reason = false, 3, "stop" }, record.OK, ""},
		{"unknown length, stopped by length", func(e *ev) { e.Output = record.Null32 }, record.OK, ""},
		{"unknown length, stopped otherwise", func(e *ev) { e.Output, e.Reason = record.Null32, "stop" }, record.WrongLength, `finished by "stop", and the server did not count its tokens`},
		{"too short", func(e *ev) { e.Output = 7 }, record.WrongLength, "7 tokens instead of 8"},
		{"too long", func(e *ev) { e.Output = 9 }, record.WrongLength, "9 tokens instead of 8"},
		{"right length, reason stop", func(e *ev) { e.Reason = "stop" }, record.OK, ""},
		{"201", func(e *ev) { e.Status = 201 }, record.OK, ""},
		{"no finish_reason", func(e *ev) { e.Finished, e.Reason = false, "" }, record.Truncated, "no finish_reason"},
		{"no terminal marker", func(e *ev) { e.Done = false }, record.Truncated, "no terminal marker"},
		{"no tokens and no usage", func(e *ev) { e.Tokens, e.Usage = false, false }, record.Truncated, "no tokens"},
		{"clean end of an empty body", func(e *ev) { *e = ev{Status: 200, Output: record.Null32} }, record.Truncated, "no finish_reason, no tokens, no terminal marker"},
		{"clean end without a header", func(e *ev) { e.Status = 0 }, record.Truncated, "no response header"},
		{"body cut short", func(e *ev) { e.Cause, e.Done, e.Err = target.CauseTruncated, false, "unexpected EOF" }, record.Truncated, "body cut short, no terminal marker: unexpected EOF"},
		{"body cut short after everything", func(e *ev) { e.Cause = target.CauseTruncated }, record.Truncated, "body cut short"},
		{"truncated before wrong length", func(e *ev) { e.Done, e.Output = false, 3 }, record.Truncated, "no terminal marker"},
		{"error object in the stream", func(e *ev) { e.Cause, e.Err = target.CauseStreamError, "engine died" }, record.StreamError, "engine died"},
		{"error object after a complete answer", func(e *ev) { e.Cause = target.CauseStreamError }, record.StreamError, "error in the stream"},
		{"429", func(e *ev) { *e = ev{Status: 429} }, record.HTTP429, "status 429"},
		{"400 with words", func(e *ev) { *e = ev{Status: 400, Err: "too long"} }, record.HTTP4xx, "too long"},
		{"499", func(e *ev) { *e = ev{Status: 499} }, record.HTTP4xx, "status 499"},
		{"redirect", func(e *ev) { *e = ev{Status: 307} }, record.HTTP4xx, "status 307"},
		{"101", func(e *ev) { *e = ev{Status: 101} }, record.HTTP4xx, "status 101"},
		{"500", func(e *ev) { *e = ev{Status: 500} }, record.HTTP5xx, "status 500"},
		{"503 whose body was cut", func(e *ev) { *e = ev{Status: 503, Cause: target.CauseTruncated} }, record.HTTP5xx, "status 503"},
		{"600", func(e *ev) { *e = ev{Status: 600} }, record.HTTP5xx, "status 600"},
		{"500 with a stream error", func(e *ev) { *e = ev{Status: 500, Cause: target.CauseStreamError} }, record.HTTP5xx, "status 500"},
		{"refused", func(e *ev) { *e = ev{Cause: target.CauseConnect} }, record.Connect, "no connection"},
		{"reset amid a good answer", func(e *ev) { e.Cause = target.CauseReset }, record.Reset, "connection reset"},
		{"reset while reading a 503", func(e *ev) { *e = ev{Status: 503, Cause: target.CauseReset} }, record.Reset, "connection reset"},
		{"first token late", func(e *ev) { *e = ev{Status: 200, Cause: target.CauseTTFTTimeout} }, record.TimeoutTTFT, "no first token in time"},
		{"not finished", func(e *ev) { *e = ev{Status: 200, Cause: target.CauseTotalTimeout} }, record.TimeoutTotal, "not finished in time"},
		{"given up", func(e *ev) { *e = ev{Cause: target.CauseCanceled} }, record.Canceled, "given up by the sender"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := complete()
			c.edit(&e)
			got, text := observe.Classify(e)
			if got != c.want || text != c.text {
				t.Errorf("Classify = %v %q, want %v %q", got, text, c.want, c.text)
			}
		})
	}
}

// TestClassifyEverything walks all combinations of evidence, and holds each
// verdict against the order of precedence, written as a list of conditions.
func TestClassifyEverything(t *testing.T) {
	bools := []bool{false, true}
	seen := map[record.Outcome]int{}
	for cause := target.CauseEOF; cause <= target.CauseCanceled; cause++ {
		for _, status := range []int{0, 100, 200, 204, 302, 400, 404, 429, 500, 503} {
			for bits := range 32 {
				for _, output := range []int32{record.Null32, 0, 7, 8} {
					for _, reason := range []string{"", "stop", "length"} {
						on := func(i int) bool { return bools[bits>>i&1] }
						e := observe.Evidence{
							Cause: cause, Status: status, Finished: on(0), Done: on(1), Tokens: on(2), Usage: on(3), Exact: on(4),
							Want: 8, Output: output, Reason: reason,
						}
						got, text := observe.Classify(e)
						if want := verdict(e); got != want {
							t.Fatalf("%+v is %v, want %v", e, got, want)
						}
						if (text == "") != (got == record.OK) {
							t.Fatalf("%+v is %v for reason %q", e, got, text)
						}
						seen[got]++
					}
				}
			}
		}
	}
	for o := range record.NumOutcomes {
		o := record.Outcome(o)
		judged := !slices.Contains([]record.Outcome{record.DroppedCap, record.Censored}, o) // the dispatcher's
		if judged != (seen[o] > 0) {
			t.Errorf("outcome %v came up %d times", o, seen[o])
		}
	}
}

func verdict(e observe.Evidence) record.Outcome {
	order := []struct {
		holds bool
		o     record.Outcome
	}{
		{e.Cause == target.CauseConnect, record.Connect},
		{e.Cause == target.CauseReset, record.Reset},
		{e.Cause == target.CauseTTFTTimeout, record.TimeoutTTFT},
		{e.Cause == target.CauseTotalTimeout, record.TimeoutTotal},
		{e.Cause == target.CauseCanceled, record.Canceled},
		{e.Status == 429, record.HTTP429},
		{e.Status >= 500, record.HTTP5xx},
		{e.Status >= 300 || e.Status > 0 && e.Status < 200, record.HTTP4xx},
		{e.Cause == target.CauseStreamError, record.StreamError},
		{e.Cause == target.CauseTruncated, record.Truncated},
		{e.Status == 0 || !e.Finished || !e.Done || !e.Tokens && !e.Usage, record.Truncated},
		{e.Exact && e.Output == record.Null32 && e.Reason != "length", record.WrongLength},
		{e.Exact && e.Output != record.Null32 && e.Output != 8, record.WrongLength},
	}
	for _, c := range order {
		if c.holds {
			return c.o
		}
	}
	return record.OK
}
