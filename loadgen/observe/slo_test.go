package observe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
)

func TestParseSLO(t *testing.T) {
	cases := []struct {
		name  string
		items []string
		want  observe.SLO
		err   string // part of the error; empty: none
	}{
		{"nothing", nil, observe.SLO{}, ""},
		{"two items", []string{"ttft:2000", "tpot:50"}, observe.SLO{TTFT: 2 * time.Second, TPOT: 50 * time.Millisecond}, ""},
		{"all in one item", []string{" ttft:1 ttft_send:2  tpot:3 e2el:4 "}, observe.SLO{TTFT: 1e6, TTFTSend: 2e6, TPOT: 3e6, E2EL: 4e6}, ""},
		{"of sessions", []string{"sct:5000 turn:1000", "slowdown:2.5"}, observe.SLO{SCT: 5e9, Turn: 1e9, Slowdown: 2.5}, ""},
		{"slowdown twice", []string{"slowdown:2 slowdown:3"}, observe.SLO{}, "already given as 2"},
		{"no ratio", []string{"slowdown:fast"}, observe.SLO{}, "no bound of a ratio"},
		{"nothing is 0 times slower", []string{"slowdown:0"}, observe.SLO{}, "no bound of a ratio"},
		{"fraction", []string{"tpot:12.5"}, observe.SLO{TPOT: 12500 * time.Microsecond}, ""},
		{"no colon", []string{"ttft=2000"}, observe.SLO{}, "write METRIC:MILLISECONDS"},
		{"unknown metric", []string{"itl:50"}, observe.SLO{}, `metric "itl" is unknown: use one of ttft, ttft_send, tpot, e2el`},
		{"upper case", []string{"TTFT:50"}, observe.SLO{}, `metric "TTFT" is unknown`},
		{"twice", []string{"ttft:1.5", "ttft:2"}, observe.SLO{}, "ttft was already given as ttft:1.5"},
		{"unit", []string{"ttft:2s"}, observe.SLO{}, `"2s" is not a number of milliseconds`},
		{"empty value", []string{"ttft:"}, observe.SLO{}, "not a number"},
		{"zero", []string{"ttft:0"}, observe.SLO{}, "no bound"},
		{"negative", []string{"ttft:-5"}, observe.SLO{}, "no bound"},
		{"infinite", []string{"ttft:inf"}, observe.SLO{}, "no bound"},
		{"nan", []string{"ttft:nan"}, observe.SLO{}, "not a number"},
		{"huge", []string{"ttft:1e13"}, observe.SLO{}, "no bound"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := observe.ParseSLO(c.items)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want one with %q", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("SLO (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseSLO(f *testing.F) {
	for _, s := range []string{"", "ttft:2000 tpot:50", "e2el:60000", "ttft_send:0.001", "tpot:1e3", "ttft:0x10", "a:b:c", ":", "ttft:1_0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slo, err := observe.ParseSLO([]string{s})
		if err != nil {
			return
		}
		for _, d := range []time.Duration{slo.TTFT, slo.TTFTSend, slo.TPOT, slo.E2EL} {
			if d < 0 {
				t.Fatalf("%q gives a bound of %v", s, d)
			}
		}
		// Printing and reading back may lose the last nanoseconds of a bound of
		// years, which no float64 of milliseconds holds.
		again, err := observe.ParseSLO([]string{slo.String()})
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, slo, err)
		}
		if d := again.TTFT - slo.TTFT; d.Abs() > time.Microsecond {
			t.Fatalf("%q comes back as %v", slo, again)
		}
		if again.String() != slo.String() {
			t.Fatalf("%q and %q", slo, again)
		}
	})
}

func TestSLOMet(t *testing.T) {
	// 100 ms to the first token (90 after sending), then 4 tokens, 10 ms each.
	base := func() record.Request {
		var r record.Request
		r.Reset()
		r.Intended, r.Writing, r.FirstToken, r.LastToken = 0, 10*ms, 100*ms, 140*ms
		r.OutputTokens, r.Chunks = 5, 5
		return r
	}
	all := observe.SLO{TTFT: 100e6, TTFTSend: 90e6, TPOT: 10e6, E2EL: 140e6} // each exactly met
	cases := []struct {
		name string
		slo  observe.SLO
		edit func(r *record.Request)
		want record.Tri
	}{
		{"no promise", observe.SLO{}, nil, record.Unknown},
		{"no promise, failed", observe.SLO{}, func(r *record.Request) { r.Outcome = record.Reset }, record.Unknown},
		{"bounds are inclusive", all, nil, record.Yes},
		{"ttft missed", observe.SLO{TTFT: 100e6 - 1}, nil, record.No},
		{"ttft_send missed", observe.SLO{TTFTSend: 90e6 - 1}, nil, record.No},
		{"tpot missed", observe.SLO{TPOT: 10e6 - 1}, nil, record.No},
		{"e2el missed", observe.SLO{E2EL: 140e6 - 1}, nil, record.No},
		{"one of two missed", observe.SLO{TTFT: 1e9, TPOT: 1e6}, nil, record.No},
		{"late generator is not hidden", observe.SLO{TTFT: 100e6}, func(r *record.Request) { r.Intended = -1 }, record.No},
		{"censored", all, func(r *record.Request) { r.Outcome = record.Censored }, record.Unknown},
		{"one token: tpot is skipped", all, func(r *record.Request) { r.OutputTokens, r.LastToken = 1, 100*ms }, record.Yes},
		{"one token, late: ttft still holds", all, func(r *record.Request) { r.OutputTokens, r.FirstToken, r.LastToken = 1, 101*ms, 101*ms }, record.No},
		{"one token, tpot alone", observe.SLO{TPOT: 1}, func(r *record.Request) { r.OutputTokens = 1 }, record.Yes},
		{"came whole: tpot is skipped", observe.SLO{TPOT: 1}, func(r *record.Request) { r.LastToken = 100 * ms }, record.Yes},
		{"no token: nothing applies", all, func(r *record.Request) { r.OutputTokens, r.FirstToken, r.LastToken = 0, clock.Never, clock.Never }, record.Yes},
		{"unknown length: tpot unknown", observe.SLO{TPOT: 10e6}, func(r *record.Request) { r.OutputTokens = record.Null32 }, record.Unknown},
		{"unknown length, but ttft missed", observe.SLO{TTFT: 1, TPOT: 10e6}, func(r *record.Request) { r.OutputTokens = record.Null32 }, record.No},
		{"unknown ttft_send, but tpot missed", observe.SLO{TTFTSend: 1e9, TPOT: 1}, func(r *record.Request) { r.Writing = clock.Never }, record.No},
		{"write not seen", observe.SLO{TTFTSend: 1e9}, func(r *record.Request) { r.Writing = clock.Never }, record.Unknown},
		{"usage without a streamed token", observe.SLO{TTFT: 1e9}, func(r *record.Request) { r.FirstToken = clock.Never }, record.Unknown},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := base()
			if c.edit != nil {
				c.edit(&r)
			}
			if got := c.slo.Met(&r); got != c.want {
				t.Errorf("Met = %v, want %v", got, c.want)
			}
		})
	}
	t.Run("every failure is a miss", func(t *testing.T) {
		for o := range record.NumOutcomes {
			r := base()
			r.Outcome = record.Outcome(o)
			want := record.No
			switch r.Outcome {
			case record.OK:
				want = record.Yes
			case record.Censored, record.Canceled:
				want = record.Unknown
			}
			if got := all.Met(&r); got != want {
				t.Errorf("%v: Met = %v, want %v", r.Outcome, got, want)
			}
		}
	})
}
