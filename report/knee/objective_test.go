package knee

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// answer is a request with a time to the first token, in ms, and ten tokens at a time
// each.
func answer(ttft, each int64) *record.Request {
	r := &record.Request{}
	r.Reset()
	r.Intended = 0
	r.FirstToken = clock.Time(ttft * 1e6)
	r.LastToken = r.FirstToken + clock.Time(9*each*1e6)
	r.OutputTokens = 10
	return r
}

func TestParseObjective(t *testing.T) {
	o, err := ParseObjective(`ttft p(95) <= 2s, {class="a,b"} tpot p99.5 < 50ms, error_rate <= 1%, e2e max <= 1m, attainment >= 90%`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.95, 0.995, 0.99, 1, 0.9} {
		if got := o.Clauses[i].Share; got < want-1e-12 || got > want+1e-12 {
			t.Errorf("%s: share %v, want %v", &o.Clauses[i], got, want)
		}
	}
	if d := o.FirstToken(3 * time.Second); d != 2*time.Second || !o.Promised() {
		t.Errorf("first token within %v", d)
	}
	for text, want := range map[string]string{
		"":                             "metric is missing",
		"ttft p(95) <= 2s,":            "metric is missing",
		"ttft p(95) >= 2s":             "bounded from above",
		"ttft mean <= 2s":              "no single request",
		"itl p(95) <= 20ms":            "no single request",
		"goodput >= 5":                 "no single request",
		"error_rate <= 100%":           "asks nothing",
		"ttft p(95) <= 2s for 30s":     "whole trial",
		"ttft p(95) vs baseline <= 5%": "",
		"{arm=a} ttft p(95) <= 2s":     "no label arm",
		strings.Repeat("ttft p(95) <= 2s,", 16) + "ttft p(95) <= 2s": "more than 16",
	} {
		if _, err := ParseObjective(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseObjective(f *testing.F) {
	f.Add("ttft p(95) <= 2s, tpot p(95) <= 50ms")
	f.Add(`{class="a,\"}b"} e2e max <= 1m,error_rate<=1%`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := ParseObjective(text)
		if err == nil && (len(o.Clauses) == 0 || o.String() != strings.TrimSpace(text)) {
			t.Errorf("%d clauses of %q", len(o.Clauses), text)
		}
		for i := range o.Clauses {
			if s := o.Clauses[i].Share; err == nil && !(s > 0 && s <= 1) {
				t.Errorf("share %v", s)
			}
		}
	})
}

// What a clause makes of requests: failures, those that did not end, and those that it
// is not about.
// A fault of one rule is shown in the whole text.
func TestObjectiveCaret(t *testing.T) {
	_, err := ParseObjective("ttft p(95) <= 2s, tpot p(95) <= 50mz, e2e max <= 1m")
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 3 || lines[1] != "  ttft p(95) <= 2s, tpot p(95) <= 50mz, e2e max <= 1m" || lines[2] != strings.Repeat(" ", 2+len("ttft p(95) <= 2s, tpot p(95) <= "))+"^" {
		t.Errorf("got\n%v", err)
	}
}

// Without an objective there are successes, and nothing that was met or missed.
func TestNoObjective(t *testing.T) {
	o := None()
	j, err := o.Judge(2)
	if err != nil || !o.Open() || o.String() != "" {
		t.Fatal(err, o.Open(), o.String())
	}
	lost := answer(1, 1)
	lost.Outcome = record.HTTP429
	if j.Add(answer(1e6, 1)); j.Add(lost) || j.Joint() != (Tally{Good: 1, Bad: 1}) {
		t.Errorf("joint %v", j.Joint())
	}
	trial := Trial{Rate: 10, N: 2, Good: 1, Bad: 1, Open: true}
	if lo, hi := trial.Attainment(); !math.IsNaN(lo) || !math.IsNaN(hi) || !math.IsNaN(trial.Goodput()) {
		t.Errorf("attainment %v to %v and goodput %v of no objective", lo, hi, trial.Goodput())
	}
}

func TestClauseJudges(t *testing.T) {
	failed, given, one := answer(1, 1), answer(1, 1), answer(1, 1)
	failed.Outcome, given.Outcome, one.OutputTokens = record.HTTP429, record.Canceled, 1
	other := answer(1, 1)
	other.Class = "batch"
	cut := answer(1, 1)
	cut.Outcome = record.Censored
	met := answer(5000, 5000)
	met.SLOMet = record.Yes
	for _, c := range []struct {
		text string
		r    *record.Request
		want verdict
	}{
		{"ttft p(95) <= 100ms", answer(100, 1), good},
		{"ttft p(95) <= 100ms", answer(101, 1), bad},
		{"ttft p(95) <= 100ms", failed, bad},
		{"ttft p(95) <= 100ms", cut, bad},
		{"ttft p(95) <= 100ms", given, beside},
		{"tpot p(95) <= 10ms", answer(1, 10), good},
		{"tpot p(95) <= 10ms", answer(1, 11), bad},
		{"tpot p(95) <= 10ms", one, beside},
		{"{class=batch} ttft p(95) <= 1s", other, good},
		{"{class=chat} ttft p(95) <= 1s", other, beside},
		{"error_rate <= 1%", failed, bad},
		{"error_rate <= 1%", answer(1e6, 1), good},
		{"attainment >= 95%", met, good},
		{"attainment >= 95%", answer(1, 1), bad},
	} {
		o, err := ParseObjective(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Clauses[0].judge(c.r); got != c.want {
			t.Errorf("%s: %d of %v, %v tokens, want %d", c.text, got, c.r.Outcome, c.r.OutputTokens, c.want)
		}
	}
}

// Whatever the order of ends, a verdict that is certain early is that of the whole
// cohort, with clauses that some requests are beside of.
func TestJudgeKeepsTheVerdict(t *testing.T) {
	o, err := ParseObjective("ttft p(90) <= 100ms, tpot p(50) <= 10ms, {class=a} e2e p(80) <= 120ms")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		j, err := o.Judge(n)
		if err != nil {
			t.Fatal(err)
		}
		var good, all [3]int
		first, early := false, false
		for range n {
			r := answer(rapid.SampledFrom([]int64{50, 50, 50, 150}).Draw(t, "ttft"), rapid.SampledFrom([]int64{5, 20}).Draw(t, "tpot"))
			r.Class = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "class")
			if rapid.Bool().Draw(t, "one token") {
				r.OutputTokens = 1
			}
			for i := range o.Clauses {
				switch o.Clauses[i].judge(r) {
				case verdict(1):
					good[i]++
					all[i]++
				case bad:
					all[i]++
				}
			}
			j.Add(r)
			if pass, decided := j.Decided(); decided && !early {
				first, early = pass, true
			}
		}
		want := true
		for i := range o.Clauses {
			want = want && good[i] >= Needed(all[i], o.Clauses[i].Share)
		}
		if pass, decided := j.Decided(); !decided || !early || pass != want || first != want || j.Known() != n {
			t.Fatalf("decided %v, first %v, at the end %v, want %v: %v of %v", early, first, pass, want, good, all)
		}
	})
}
