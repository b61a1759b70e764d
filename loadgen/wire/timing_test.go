package wire

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTiming(t *testing.T) {
	const no = UnknownTiming
	for _, c := range []struct {
		name   string
		values []string
		want   Timing
		ok     bool
	}{
		{"all", []string{"llm-queue;dur=1, llm-prefill;dur=2.5, llm-decode;dur=3, llm-ttft;dur=4, llm-e2e;dur=7"}, Timing{1e6, 2500000, 3e6, 4e6, 7e6}, true},
		{"over two headers, in any case", []string{"LLM-TTFT; desc=x; DUR=4", "cache;desc=hit"}, Timing{no, no, no, 4e6, no}, true},
		{"in quotes", []string{`llm-e2e;dur="7"`}, Timing{no, no, no, no, 7e6}, true},
		{"of others only", []string{"total;dur=12, cdn-cache;desc=MISS"}, Timing{no, no, no, no, no}, false},
		{"told twice", []string{"llm-e2e;dur=1, llm-e2e;dur=2, llm-ttft;dur=1"}, Timing{no, no, no, 1e6, no}, true},
		{"nonsense", []string{"llm-e2e;dur=-1, llm-ttft;dur=NaN, llm-queue;dur=1e300, llm-decode;dur, llm-prefill"}, Timing{no, no, no, no, no}, false},
		{"none", nil, Timing{no, no, no, no, no}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := ParseTiming(c.values); got != c.want || ok != c.ok {
				t.Errorf("%+v %v, want %+v", got, ok, c.want)
			}
		})
	}
}

// TestTimingIsReadAsWritten to the nanosecond.
func TestTimingIsReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64Range(-1, 1e15)
		want := Timing{d.Draw(t, "queue"), d.Draw(t, "prefill"), d.Draw(t, "decode"), d.Draw(t, "ttft"), d.Draw(t, "e2e")}
		got, _ := ParseTiming([]string{string(want.Append(nil))})
		if got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func FuzzTiming(f *testing.F) {
	f.Add("llm-queue;dur=1, llm-prefill;dur=2.5")
	f.Add("llm-e2e;dur=\"7\";desc=\"a,b\"")
	f.Fuzz(func(t *testing.T, v string) {
		got, ok := ParseTiming([]string{v})
		if again, fine := ParseTiming([]string{string(got.Append(nil))}); again != got || fine != ok {
			t.Errorf("%q: %+v %v, then %+v %v", v, got, ok, again, fine)
		}
	})
}
