package gate

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"goodput/loadgen/rng"
	"goodput/report/stats"
)

func rule(t testing.TB, src string) Rule {
	t.Helper()
	r, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// paired makes blocks of n requests from values of the baseline and the candidate.
func paired(n int64, values ...float64) []Block {
	var out []Block
	for i := 0; i < len(values); i += 2 {
		out = append(out, Block{uint64(i / 2), Statistic{values[i], n}, Statistic{values[i+1], n}})
	}
	return out
}

func TestJudge(t *testing.T) {
	const ms = 1e6
	for _, c := range []struct {
		name   string
		rule   string
		blocks []Block
		want   Verdict
		why    string
	}{
		{"worse in all pairs", "ttft p(95) vs baseline <= +10%", paired(1000, 100*ms, 121*ms, 90*ms, 110*ms, 110*ms, 133*ms), Fail, ""},
		{"better in all pairs", "ttft p(95) vs baseline <= +10%", paired(1000, 100*ms, 99*ms, 90*ms, 91*ms, 110*ms, 108*ms), Pass, ""},
		{"can't tell", "ttft p(95) vs baseline <= +10%", paired(1000, 100*ms, 140*ms, 90*ms, 80*ms, 110*ms, 100*ms), Inconclusive, "cannot exclude"},
		{"equal", "ttft p(95) vs baseline <= +0%", paired(1000, 100*ms, 100*ms, 90*ms, 90*ms), Pass, "exactly the same"},
		{"one pair, worse", "ttft p(95) vs baseline <= +10%", paired(1000, 100*ms, 121*ms), Fail, "one pair"},
		{"one pair, well", "ttft p(95) vs baseline <= +10%", paired(1000, 100*ms, 105*ms), Pass, "without an interval"},
		{"throughput fell", "throughput vs baseline >= -5%", paired(0, 100, 80, 101, 81, 99, 79), Fail, ""},
		{"throughput rose", "throughput vs baseline >= -5%", paired(0, 100, 110, 101, 111, 99, 109), Pass, ""},
		{"points of attainment", "attainment vs baseline >= -1%", paired(0, 0.99, 0.95, 0.98, 0.94, 0.99, 0.96), Fail, ""},
		{"points, not ratios", "error_rate vs baseline <= +1%", paired(0, 0.001, 0.003, 0.0, 0.002, 0.001, 0.003), Pass, ""},
		{"no ratio to zero", "truncated vs baseline <= +0%", paired(0, 0, 3, 0, 0), Invalid, "from 0 to 3 with seed 0, which is no ratio"},
		{"two zeros are equal", "truncated vs baseline <= +0%", paired(0, 0, 0, 0, 0), Pass, ""},
		{"absolute, met", "ttft p(95) <= 2s", paired(1000, 0, 1000*ms, 0, 1100*ms, 0, 1050*ms), Pass, ""},
		{"absolute, missed", "ttft p(95) <= 1s", paired(1000, 0, 1200*ms, 0, 1210*ms, 0, 1190*ms), Fail, ""},
		{"absolute, one run", "ttft p(95) <= 2s", paired(1000, 0, 1000*ms), Pass, "one run"},
		{"no runs", "ttft p(95) <= 2s", nil, Invalid, "no runs"},
		{"no data passes not", "queue p(95) <= 2s", []Block{{0, Statistic{}, Statistic{math.NaN(), 0}}}, Invalid, "without data"},
		{"percentile beyond the sample", "ttft p(99) <= 2s", paired(367, 0, 1000*ms), Invalid, "needs 368"},
		{"just enough", "ttft p(99) <= 2s", paired(368, 0, 1000*ms), Pass, ""},
		{"small percentile", "ttft p(1) <= 2s", paired(100, 0, 1000*ms), Invalid, "needs 368"},
		{"equality", "truncated == 0", paired(0, 0, 0, 0, 0), Pass, ""},
		{"equality fails by one run", "truncated == 0", paired(0, 0, 0, 0, 1, 0, 0), Fail, ""},
		{"exactly equal", "ttft p(95) vs baseline == 0%", paired(100, 5, 5, 6, 7), Fail, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge([]Rule{rule(t, c.rule)}, [][]Block{c.blocks}, Data{})[0]
			if got.Verdict != c.want || !strings.Contains(got.Why, c.why) {
				t.Errorf("%s, want %s (%s)", got.Line(), c.want, c.why)
			}
		})
	}
}

func TestNeededRuns(t *testing.T) {
	got := Judge([]Rule{rule(t, "ttft p(95) vs baseline <= +10%")}, [][]Block{paired(1000, 100, 107, 100, 112, 100, 99)}, Data{})[0]
	if got.Verdict != Inconclusive || got.Need < 4 || !strings.Contains(got.Why, "needs about R=") {
		t.Errorf("%s", got.Line())
	}
}

// Six gates of which one is broken by a hair fail alone, but not together.
func TestHolmAmongGates(t *testing.T) {
	broken := paired(1000, 100, 111.5, 100, 112, 100, 112.5)
	r := rule(t, "ttft p(95) vs baseline <= +10%")
	alone := Judge([]Rule{r}, [][]Block{broken}, Data{})[0]
	if alone.Verdict != Fail {
		t.Fatalf("%s (p %v)", alone.Line(), alone.P)
	}
	fine := paired(1000, 100, 100.1, 100, 99.9, 100, 100)
	rules, blocks := []Rule{r}, [][]Block{broken}
	for range 5 {
		rules, blocks = append(rules, r), append(blocks, fine)
	}
	together := Judge(rules, blocks, Data{})
	if together[0].Verdict != Inconclusive || !strings.Contains(together[0].Why, "Holm") || Worst(together) != Inconclusive {
		t.Errorf("%s", together[0].Line())
	}
}

func TestWorst(t *testing.T) {
	of := func(v ...Verdict) (out []Result) {
		for _, v := range v {
			out = append(out, Result{Verdict: v})
		}
		return out
	}
	for _, c := range []struct {
		of   []Result
		want Verdict
	}{{of(), Pass}, {of(Pass, Inconclusive), Inconclusive}, {of(Invalid, Inconclusive), Invalid}, {of(Invalid, Fail, Pass), Fail}} {
		if got := Worst(c.of); got != c.want {
			t.Errorf("%v: %s, want %s", c.of, got, c.want)
		}
	}
}

// A true null is rejected in 5 % of cases, both sides together, and hardly ever
// beyond a margin of two standard deviations of the mean.
func TestFalsePositives(t *testing.T) {
	s := rng.New(3, "gate", 0)
	count := func(src string, cases int) (fails int) {
		r := rule(t, src)
		for range cases {
			var blocks []Block
			for range 5 {
				base := math.Exp(s.Norm())
				blocks = append(blocks, Block{0, Statistic{base, 1000}, Statistic{base * math.Exp(0.05*s.Norm()), 1000}})
			}
			if Judge([]Rule{r}, [][]Block{blocks}, Data{})[0].Verdict == Fail {
				fails++
			}
		}
		return fails
	}
	const cases = 1500
	both := count("ttft p(95) vs baseline <= +0%", cases) + count("ttft p(95) vs baseline >= -0%", cases)
	if lo, hi, _ := stats.ClopperPearson(both, cases, 0.999); lo > 0.05 || hi < 0.05 {
		t.Errorf("%d of %d: the true rate is within [%v, %v], want 0.05", both, cases, lo, hi)
	}
	if beyond := count("ttft p(95) vs baseline <= +5%", cases); beyond > cases/200 {
		t.Errorf("%d of %d beyond the margin", beyond, cases)
	}
}

func outcome(t *testing.T) *Outcome {
	rules := []Rule{
		rule(t, "ttft p(95) vs baseline <= +10%"), rule(t, "ttft p(99) <= 2s"), rule(t, "queue p(50) <= 1s"),
		rule(t, `{class="a|b<c>"} truncated == 0`),
	}
	blocks := [][]Block{paired(1000, 100e6, 140e6, 100e6, 80e6, 100e6, 99e6), paired(1000, 0, 3e9), nil, paired(0, 0, 0)}
	r := Judge(rules, blocks, Data{})
	return &Outcome{
		Verdict: Worst(r), Results: r, Scenario: "round-robin vs p2c\x01", Command: "goodput gate `x`",
		Conditions: [][2]string{{"seeds", "0 1 2"}, {"requests", "1000"}},
	}
}

func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, outcome(t)); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || got.Skipped != 1 || len(got.Suite.Cases) != 4 {
		t.Errorf("%+v", got)
	}
	if c := got.Suite.Cases[3]; c.Name != `{class="a|b<c>"} truncated == 0` || c.Failure != nil || c.Skipped != nil || c.Error != nil {
		t.Errorf("%+v", c)
	}
}

func TestMarkdown(t *testing.T) {
	o := outcome(t)
	many := o.Results[1]
	for range 5000 {
		many.Blocks = append(many.Blocks, Block{1, Statistic{}, Statistic{1, 1}})
	}
	o.Results = append(o.Results, many)
	var b bytes.Buffer
	if err := Markdown(&b, o); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if lines[0] != Marker || !strings.Contains(lines[1], "**goodput gate: fail**") {
		t.Errorf("starts with %q, %q", lines[0], lines[1])
	}
	if b.Len() > maxComment || !strings.Contains(b.String(), "left out") {
		t.Errorf("%d bytes", b.Len())
	}
	for _, l := range lines {
		if strings.HasPrefix(l, "| `") && strings.Count(strings.ReplaceAll(l, `\|`, ""), "|") != 7 {
			t.Errorf("a row of other than six cells: %s", l)
		}
	}
}

func TestJSONAndAnnotations(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, outcome(t)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema  int
		Verdict string
		Gates   []struct {
			Expr, Verdict, Unit string
			Estimate, Lo        *float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != 1 || got.Verdict != "fail" || len(got.Gates) != 4 || got.Gates[2].Estimate != nil || got.Gates[0].Lo == nil || got.Gates[1].Unit != "ns" {
		t.Errorf("%+v", got)
	}
	b.Reset()
	if err := Annotations(&b, outcome(t)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSpace(b.String()), "\n"); len(got) != 3 || !strings.HasPrefix(got[0], "::warning title=goodput gate inconclusive%3A ttft p(95) vs baseline <= +10%25::") {
		t.Errorf("%q", got)
	}
}

// The exact test needs six pairs, and tells with them what all say, however far apart.
func TestSignFlip(t *testing.T) {
	r := rule(t, "ttft p(95) vs baseline <= +0%")
	worse := paired(1000, 100, 101, 100, 300, 100, 102, 100, 104, 100, 101.5, 100, 103)
	if got := Judge([]Rule{r}, [][]Block{worse}, Data{})[0]; got.Verdict != Inconclusive {
		t.Errorf("Student, of one value far off: %s", got.Line())
	}
	got := Judge([]Rule{r}, [][]Block{worse}, Data{Test: SignFlip})[0]
	if got.Verdict != Fail || got.P != 1.0/64 || math.Abs(got.Lo-0.01) > 1e-9 {
		t.Errorf("sign flips: %s, p %v", got.Line(), got.P)
	}
	if got := Judge([]Rule{rule(t, "goodput vs baseline >= -1%")}, [][]Block{worse}, Data{Test: SignFlip})[0]; got.Verdict != Pass {
		t.Errorf("a rate that rose: %s", got.Line())
	}
	if got := Judge([]Rule{r}, [][]Block{worse[:5]}, Data{Test: SignFlip})[0]; got.Verdict != Invalid || !strings.Contains(got.Why, "too few") {
		t.Errorf("five pairs: %s", got.Line())
	}
}

// A rule about stretches has to hold in each run.
func TestStretches(t *testing.T) {
	r := rule(t, "error_rate <= 1% for 30s")
	for want, worst := range map[Verdict][]float64{Pass: {0, 0.001, 0, 0.01}, Fail: {0, 0, 0, 0.02}} {
		got := Judge([]Rule{r}, [][]Block{paired(0, worst...)}, Data{})[0]
		if got.Verdict != want || !strings.Contains(got.Why, "worst 30s") {
			t.Errorf("%s, want %s", got.Line(), want)
		}
	}
	if !r.Worse(0.2, 0.1) || rule(t, "attainment >= 90%").Worse(0.2, 0.1) {
		t.Error("worse is above an upper bound, and below a lower one")
	}
}
