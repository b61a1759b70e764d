package gate

import (
	"fmt"
	"math"
	"slices"

	"goodput/report/stats"
)

// Verdict is what a gate says.
type Verdict string

// The verdicts, from the best.
const (
	Pass         Verdict = "pass"
	Inconclusive Verdict = "inconclusive" // the data can't tell
	Fail         Verdict = "fail"
	Invalid      Verdict = "invalid" // there are no data that could
)

// Statistic is the value of a rule's metric and aggregate in one run. NaN: the run
// has none.
type Statistic struct {
	Value float64
	// N is the number of values it was taken over, such as requests; 0 for a metric
	// that has one value a run.
	N int64
}

// Block is what one pair of runs with the same seed says of a rule. Rules without
// a baseline look only at Candidate.
type Block struct {
	Seed                uint64
	Baseline, Candidate Statistic
}

// Result is a rule's verdict with what led to it. Estimate and its interval are in
// the metric's unit; of a rule against a baseline they are the change as a fraction
// of the baseline's value, or in percentage points for a share. NaN: there is none.
type Result struct {
	Rule             Rule
	Verdict          Verdict
	Estimate, Lo, Hi float64
	// Baseline and Candidate are means over the runs, in the metric's unit.
	Baseline, Candidate float64
	// N is the number of runs or pairs, Requests the smallest number of values in one
	// of them, 0 if it has but one value a run.
	N        int
	Requests int64
	// P is that of the one-sided test that the bound is broken, and Holm the same
	// adjusted for the number of gates; NaN without an interval.
	P, Holm float64
	// Need is about how many runs or pairs would decide; 0: unknown, or decided.
	Need int
	Why  string
	// Blocks are the data.
	Blocks []Block
}

// Data says how the blocks were made.
type Data struct {
	// Exact: runs repeat exactly (virtual time), so that two that are equal in
	// every block are the same, and no interval is needed to say so.
	Exact bool
	// Test decides rules against a baseline; the zero value is Student.
	Test Test
}

// Test is how paired differences become an interval.
type Test string

// The tests. Student's supposes that means of the differences are normal, which they need
// few of to be; SignFlip only that a difference is as likely on either side of its centre,
// and needs six pairs for 95 %.
const (
	Student  Test = "t"
	SignFlip Test = "signflip"
)

// ParseTest finds a test by its name.
func ParseTest(name string) (Test, error) {
	switch t := Test(name); t {
	case Student, SignFlip:
		return t, nil
	}
	return "", fmt.Errorf("%q is unknown: use %s or %s", name, Student, SignFlip)
}

// Pairs is the fewest pairs with which the test can tell anything at 95 %, and the most
// that it takes.
func (t Test) Pairs() (least, most int) {
	if t == SignFlip {
		return stats.MinFlips, stats.MaxFlips
	}
	return 2, math.MaxInt
}

// Judge decides rules, each from its own blocks. All rules count as declared
// together: with several of them a failure must hold after Holm's correction.
func Judge(rules []Rule, blocks [][]Block, data Data) []Result {
	out := make([]Result, len(rules))
	p := make([]float64, len(rules))
	for i, r := range rules {
		out[i] = r.judge(blocks[i], data)
		p[i] = out[i].P
	}
	for i, adjusted := range stats.Holm(p) {
		r := &out[i]
		r.Holm = adjusted
		if level := (1 - r.Rule.Confidence) / 2; r.Verdict == Fail && adjusted > level {
			r.Verdict = Inconclusive
			r.Why = fmt.Sprintf("broken taken alone (p %.2g), but not when %d gates are declared (Holm's p %.2g): run more seeds", r.P, len(rules), adjusted)
		}
	}
	return out
}

// Worst is the verdict of all: any gate that fails or is invalid decides, and a
// failure before an invalid one.
func Worst(results []Result) Verdict {
	rank := map[Verdict]int{Pass: 0, Inconclusive: 1, Invalid: 2, Fail: 3}
	worst := Pass
	for _, r := range results {
		if rank[r.Verdict] > rank[worst] {
			worst = r.Verdict
		}
	}
	return worst
}

func (r Rule) judge(blocks []Block, data Data) Result {
	nan := math.NaN()
	out := Result{
		Rule: r, Estimate: nan, Lo: nan, Hi: nan, Baseline: nan, Candidate: nan, P: nan, Holm: nan,
		N: len(blocks), Blocks: blocks,
	}
	if why := r.unusable(blocks, &out); why != "" {
		out.Verdict, out.Why = Invalid, why
		return out
	}
	values := make([]float64, len(blocks))
	for i, b := range blocks {
		values[i] = r.of(b)
	}
	in, err := stats.Mean(values, r.Confidence)
	if err != nil {
		out.Verdict, out.Why = Invalid, r.noChange(blocks)
		return out
	}
	limit := r.transform(r.Value)
	flip := data.Test == SignFlip && r.Baseline
	if flip {
		if in, err = stats.FlipInterval(values, r.Confidence); err != nil {
			out.Verdict, out.Why = Invalid, err.Error()
			return out
		}
	}
	out.Estimate, out.Lo, out.Hi = r.back(in.Value), r.back(in.Lo), r.back(in.Hi)
	if r.Op != EQ {
		out.P = r.broken(values, in, limit, flip)
	}
	r.decide(&out, in, limit, data)
	return out
}

// broken is the p-value of the one-sided test that the bound is broken.
func (r Rule) broken(values []float64, in stats.Interval, limit float64, flip bool) float64 {
	if !r.Op.upper() {
		in.Value, limit = -in.Value, -limit
		values = slices.Clone(values)
		for i := range values {
			values[i] = -values[i]
		}
	}
	if flip {
		return stats.FlipAbove(values, limit)
	}
	return in.Above(limit)
}

// unusable says why blocks can't be judged, and fills in the means.
func (r Rule) unusable(blocks []Block, out *Result) string {
	if len(blocks) == 0 {
		return "there are no runs to judge"
	}
	out.Baseline, out.Candidate = 0, 0
	least := int64(math.MaxInt64)
	for _, b := range blocks {
		out.Candidate += b.Candidate.Value / float64(len(blocks))
		out.Baseline += b.Baseline.Value / float64(len(blocks))
		least = min(least, b.Candidate.N)
		if r.Baseline {
			least = min(least, b.Baseline.N)
		}
	}
	out.Requests = least
	if !r.Baseline {
		out.Baseline = math.NaN()
	}
	if math.IsNaN(out.Candidate) || r.Baseline && math.IsNaN(out.Baseline) {
		return fmt.Sprintf("%s has no value in at least one run: a gate without data does not pass", r.Metric.Name)
	}
	if r.Metric.Kind != Latency {
		return ""
	}
	if least == 0 {
		return fmt.Sprintf("no request has a %s: a gate without data does not pass", r.Metric.Name)
	}
	if need := minN(r.Agg); least < need {
		return fmt.Sprintf("%s of %d requests: needs %d at least; send more requests or gate on a lower percentile", r.Agg, least, need)
	}
	return ""
}

// MinRequests is the number of requests below which the rule is invalid.
func (r Rule) MinRequests() int64 { return minN(r.Agg) }

// minN is the number of values below which an aggregate says nothing.
func minN(a Agg) int64 {
	if a.Name != "p" {
		return 1
	}
	return stats.MinN(max(a.Q, 1-a.Q))
}

// of is the number of a block that is averaged: the value, or, against a baseline,
// the logarithm of the ratio, or the difference of shares.
func (r Rule) of(b Block) float64 {
	switch {
	case !r.Baseline:
		return b.Candidate.Value
	case r.Metric.Kind == Share:
		return b.Candidate.Value - b.Baseline.Value
	case b.Candidate.Value == b.Baseline.Value:
		return 0 // also of two zeros
	}
	return math.Log(b.Candidate.Value / b.Baseline.Value)
}

func (r Rule) transform(v float64) float64 {
	if r.Baseline && r.Metric.Kind != Share {
		return math.Log1p(v)
	}
	return v
}

func (r Rule) back(v float64) float64 {
	if r.Baseline && r.Metric.Kind != Share {
		return math.Expm1(v)
	}
	return v
}

// Spread is how the blocks vary: of their values, or, against a baseline, of the
// logarithms of their ratios, or of the differences of shares. It returns an error if
// one does not exist.
func (r Rule) Spread(blocks []Block) (stats.Interval, error) {
	values := make([]float64, len(blocks))
	for i, b := range blocks {
		values[i] = r.of(b)
	}
	in, err := stats.Mean(values, r.Confidence)
	if err != nil {
		return in, fmt.Errorf("%s: %s", r, r.noChange(blocks))
	}
	return in, nil
}

// noChange names the block whose ratio does not exist.
func (r Rule) noChange(blocks []Block) string {
	for _, b := range blocks {
		if v := r.of(b); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Sprintf("%s changed from %s to %s with seed %d, which is no ratio: gate on its absolute value",
				r.Metric.Name, r.Metric.Format(b.Baseline.Value), r.Metric.Format(b.Candidate.Value), b.Seed)
		}
	}
	return "a value is not a number"
}

// decide sets the verdict: by the interval, or, without one, by the point.
func (r Rule) decide(out *Result, in stats.Interval, limit float64, data Data) {
	what := "run"
	if r.Baseline {
		what = "pair"
	}
	point := Fail
	if r.Op.holds(in.Value, limit) {
		point = Pass
	}
	switch {
	case r.Op == EQ || r.For > 0: // each run by itself
		out.Verdict = Pass
		for _, b := range out.Blocks {
			if !r.Op.holds(r.of(b), limit) {
				out.Verdict = Fail
			}
		}
		if r.For > 0 {
			out.Lo, out.Hi, out.P = math.NaN(), math.NaN(), math.NaN()
			out.Why = fmt.Sprintf("the worst %v of each run, which has to hold in all", r.For)
		}
		return
	case in.N == 1:
		out.Verdict = point
		out.Why = "one " + what + ": the values themselves are compared, without an interval"
		if data.Exact && r.Baseline {
			out.Why += "; run more seeds to know whether other arrivals say the same"
		}
		return
	case in.SD == 0:
		out.Verdict = point
		out.Why = fmt.Sprintf("all %d %ss say exactly the same", in.N, what)
		return
	case r.Op.holds(in.Lo, limit) && r.Op.holds(in.Hi, limit):
		out.Verdict = Pass
		return
	case !r.Op.holds(in.Lo, limit) && !r.Op.holds(in.Hi, limit):
		out.Verdict = Fail
		return
	}
	out.Verdict = Inconclusive
	out.Need = stats.Replications(in.SD, math.Abs(limit-in.Value), r.Confidence)
	worst := out.Hi
	if !r.Op.upper() {
		worst = out.Lo
	}
	out.Why = fmt.Sprintf("cannot exclude %s", r.Format(worst))
	if out.Need > in.N {
		out.Why += fmt.Sprintf("; needs about R=%d", out.Need)
	}
}

// Format prints an estimate of the rule.
func (r Rule) Format(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case r.Baseline && r.Metric.Kind == Share:
		return fmt.Sprintf("%+.2f points", 100*v)
	case r.Baseline:
		return fmt.Sprintf("%+.1f %%", 100*v)
	}
	return r.Metric.Format(v)
}
