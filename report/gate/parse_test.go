package gate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func ExampleParse() {
	r, err := Parse("{class=chat} ttft p(99) vs baseline <= +10%")
	fmt.Println(r.Metric.Name, r.Agg, r.Op, r.Value, r.Baseline, err)
	_, err = Parse("tftt p(95) <= 2s")
	fmt.Println(err)
	// Output:
	// ttft p(99) <= 0.1 true <nil>
	// unknown metric "tftt": did you mean ttft?
	//   tftt p(95) <= 2s
	//   ^
}

func metric(t testing.TB, name string) Metric {
	t.Helper()
	m, err := metricOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		src  string
		want Rule
	}{
		{"ttft p(95) <= 800ms", Rule{Metric: metric(t, "ttft"), Agg: Agg{"p", 0.95}, Op: LE, Value: 800e6}},
		{"  ttft.p99.9<2s", Rule{Metric: metric(t, "ttft"), Agg: Agg{"p", 0.999}, Op: LT, Value: 2e9}},
		{"tpot p50 <= 50000us", Rule{Metric: metric(t, "tpot"), Agg: Agg{"p", 0.5}, Op: LE, Value: 50e6}},
		{"e2e max < 1.5m", Rule{Metric: metric(t, "e2e"), Agg: Agg{Name: "max"}, Op: LT, Value: 90e9}},
		{`{class=chat,tenant="a b"} attainment >= 99%`, Rule{
			Scope: []Label{{"class", "chat"}, {"tenant", "a b"}}, Metric: metric(t, "attainment"), Op: GE, Value: 0.99,
		}},
		{"ttft count >= 100", Rule{Metric: Metric{Name: "ttft", Kind: Count, HigherIsBetter: true, About: metric(t, "ttft").About}, Agg: Agg{Name: "count"}, Op: GE, Value: 100}},
		{"truncated count == 0", Rule{Metric: metric(t, "truncated"), Op: EQ}},
		{"goodput >= 12.5/s", Rule{Metric: metric(t, "goodput"), Op: GE, Value: 12.5}},
		{"error_rate <= 0.1% for 30s", Rule{Metric: metric(t, "error_rate"), Op: LE, Value: 0.001, For: 30 * time.Second}},
		{"ttft p(99) vs baseline <= +10%", Rule{Metric: metric(t, "ttft"), Agg: Agg{"p", 0.99}, Op: LE, Value: 0.1, Baseline: true}},
		{"knee vs baseline >= -5% @ 99%", Rule{Metric: metric(t, "knee"), Op: GE, Value: -0.05, Baseline: true, Confidence: 0.99}},
		{"knee vs baseline >= -5%@99", Rule{Metric: metric(t, "knee"), Op: GE, Value: -0.05, Baseline: true, Confidence: 0.99}},
	} {
		t.Run(c.src, func(t *testing.T) {
			got, err := Parse(c.src)
			if err != nil {
				t.Fatal(err)
			}
			if c.want.Confidence == 0 {
				c.want.Confidence = DefaultConfidence
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(Rule{}), cmpopts.EquateApprox(1e-12, 0)); d != "" {
				t.Error(d)
			}
			if got.String() != strings.TrimSpace(c.src) {
				t.Errorf("printed as %q", got)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		src, want string
		at        int
	}{
		{"", "a metric is missing", 0},
		{"ttft", "needs an aggregate", 4},
		{"ttft <= 2s", "needs an aggregate", 5},
		{"ttft p(95) 2s", "a comparison is missing", 11},
		{"ttft p(95) <= 2", "give it a unit", 14},
		{"ttft p(95) <= fast", "is a time: give it a unit", 14},
		{"ttft p(95) <= xs", "no value of ttft", 14},
		{"ttft p(95) <= -2s", "can't be negative", 14},
		{"ttft p(100) <= 2s", "below 100", 7},
		{"ttft p(0) <= 2s", "above 0", 7},
		{"ttft p(x) <= 2s", "no percentile", 7},
		{"ttft p(95 <= 2s", ") is missing", 7},
		{"ttft p95x <= 2s", "no percentile", 6},
		{"ttft rate <= 2s", "ttft has no rate", 5},
		{"ttft median <= 2s", "unknown aggregate", 5},
		{"attainment p(95) >= 99%", "attainment has no p(95)", 11},
		{"attainment >= 99", "write 99% if that was meant", 14},
		{"error_rate <= 1% for ever", "no duration", 21},
		{"error_rate <= 1% for -3s", "no duration", 21},
		{"{class=a} knee >= 40", "of the whole load", 10},
		{"knee >= 40 for 3s", "of a whole run", 11},
		{"itl p(95) <= 40ms for 3s", "of a whole run", 18},
		{"ttft p(95) vs main <= +10%", "only vs baseline", 14},
		{"ttft p(95) vs baseline <= 10%", "a sign: +10% or -10%", 26},
		{"ttft p(95) vs baseline <= +10ms", "is a percentage", 26},
		{"ttft p(95) vs baseline <= -100%", "above -100", 26},
		{"ttft p(95) vs baseline == +1%", "allows no change", 26},
		{"ttft p(95) vs baseline <= +1% @ 20%", "from 50", 32},
		{"{color=red} ttft p(95) <= 2s", "unknown label", 1},
		{"{class} ttft p(95) <= 2s", "= is missing", 6},
		{"{class=} ttft p(95) <= 2s", "a value is missing", 7},
		{`{class="a} ttft p(95) <= 2s`, "closing quote", 7},
		{"{class=a,class=b} ttft p(95) <= 2s", "given twice", 9},
		{"{class=a ttft p(95) <= 2s", "} or , is missing", 9},
		{"ttft p(95) <= 2s please", "unexpected text", 17},
		{"ttft p(95) <=", "a value is missing", 13},
		{"goodput >= NaN", "no value", 11},
		{"latency p(95) <= 2s", "use one of ttft", 0},
		{"ttft\x00 p(95) <= 2s", "control characters", 0},
		{strings.Repeat("x", 2000), "the limit is 1000", 40},
	} {
		t.Run(c.src, func(t *testing.T) {
			_, err := Parse(c.src)
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a syntax error", err)
			}
			if !strings.Contains(e.Msg, c.want) || e.At != c.at {
				t.Errorf("got %q at %d, want %q at %d", e.Msg, e.At, c.want, c.at)
			}
		})
	}
}

// Any rule that parses has a canonical spelling, which means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"ttft p(95) <= 800ms", "{class=chat} attainment >= 99%", `{tenant="ä\n"} e2e max < 1m`, "truncated count == 0",
		"ttft p(99) vs baseline <= +10% @ 99%", "error_rate <= 0.1% for 30s", "knee vs baseline >= -5%", "d_ttft p(50) <= -1ms",
		"ttft p(99.99999999999999) < 1e300s", "goodput > 1e-300", "{", "p(", "ttft.p", "tpot p9 == 0ns",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		r, err := Parse(src)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.At < 0 || e.At > len(e.Src) || e.Error() == "" {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		again, err := Parse(r.Canonical())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", src, r.Canonical(), err)
		}
		if again.Canonical() != r.Canonical() || again.Op != r.Op || again.Baseline != r.Baseline || again.For != r.For {
			t.Fatalf("%q became %q, then %q", src, r.Canonical(), again.Canonical())
		}
	})
}

func TestEditDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-c]{0,6}`)
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab, ba, ac, cb := editDistance(a, b), editDistance(b, a), editDistance(a, c), editDistance(c, b)
		if ab != ba || (ab == 0) != (a == b) || ab > ac+cb {
			t.Fatalf("%q %q %q: %d %d %d %d", a, b, c, ab, ba, ac, cb)
		}
	})
}

// A rule may leave its bound to the margin, which bounds what is worse.
func TestParseWithMargin(t *testing.T) {
	for src, want := range map[string]string{
		"ttft p(95) vs baseline":       "ttft p(95) vs baseline <= +5%",
		"goodput vs baseline ":         "goodput vs baseline >= -5%",
		"e2e mean vs baseline <= +10%": "e2e mean vs baseline <= +10%",
	} {
		r, err := ParseWith(src, 0.05)
		if err != nil || r.Canonical() != want || r.String() != want {
			t.Errorf("%s: %s, %v", src, r.Canonical(), err)
		}
	}
	if _, err := Parse("ttft p(95) vs baseline"); err == nil {
		t.Error("without a margin there is no bound")
	}
}
