package datasets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"goodput/datasets"
)

func TestRandomRanges(t *testing.T) {
	for _, c := range []struct {
		mean, low, high int
		ratio           float64
	}{
		{1024, 1024, 1024, 0},
		{1024, 512, 1536, 0.5},
		{10, 9, 11, 0.1},
		{5, 4, 6, 0.1}, // 4.5 and 5.5 widen
		{100, 1, 199, 0.99},
		{1, 1, 2, 0.5}, // 0.5 would floor to 0
		{3, 1, 6, 0.9},
	} {
		t.Run(fmt.Sprintf("%d by %v", c.mean, c.ratio), func(t *testing.T) {
			s, err := datasets.NewRandom(datasets.Random{
				InputLen: c.mean, OutputLen: c.mean, RangeRatio: c.ratio, NumPrompts: 60 * (c.high - c.low + 1),
			})
			must(t, s, err)
			checkUniform(t, s, "input", c.low, c.high, func(it datasets.Item) int { return it.In })
			checkUniform(t, s, "output", c.low, c.high, func(it datasets.Item) int { return it.Out })
		})
	}
}

// checkUniform compares the counts of each length, 60 expected, with the
// chi-squared distribution at p = 1e-4.
func checkUniform(t *testing.T, s datasets.Set, what string, low, high int, length func(datasets.Item) int) {
	t.Helper()
	count := make([]float64, high-low+1)
	for _, it := range items(s) {
		n := length(it)
		if n < low || n > high {
			t.Fatalf("%s of %d tokens is outside %d..%d", what, n, low, high)
		}
		count[n-low]++
	}
	if len(count) == 1 {
		return
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += (c - 60) * (c - 60) / 60
	}
	if p := (distuv.ChiSquared{K: float64(len(count) - 1)}).Survival(chi2); p < 1e-4 {
		t.Errorf("%s lengths are not uniform: p = %g", what, p)
	}
}

func TestRandomLengthsAreIndependent(t *testing.T) {
	s, err := datasets.NewRandom(datasets.Random{InputLen: 1000, OutputLen: 500, RangeRatio: 0.9, NumPrompts: 20_000})
	var in, out []float64
	for _, it := range items(must(t, s, err)) {
		in, out = append(in, float64(it.In)), append(out, float64(it.Out))
	}
	limit := 4 / math.Sqrt(float64(len(in)))
	for name, r := range map[string]float64{
		"input and output":      stat.Correlation(in, out, nil),
		"input of neighbours":   stat.Correlation(in[1:], in[:len(in)-1], nil),
		"output of neighbours":  stat.Correlation(out[1:], out[:len(out)-1], nil),
		"output and next input": stat.Correlation(in[1:], out[:len(out)-1], nil),
	} {
		if math.Abs(r) > limit {
			t.Errorf("%s correlate: %.4f", name, r)
		}
	}
}

// TestRandomItemsDoNotDependOnTheirNumber: item i is a function of seed and i, so
// that a longer run begins like a shorter one.
func TestRandomItemsDoNotDependOnTheirNumber(t *testing.T) {
	p := datasets.Random{InputLen: 100, OutputLen: 100, RangeRatio: 0.5, NumPrompts: 10, Seed: 5}
	short, err1 := datasets.NewRandom(p)
	p.NumPrompts = 10_000
	long, err2 := datasets.NewRandom(p)
	must(t, short, err1)
	must(t, long, err2)
	for i := range short.Len() {
		if a, b := fmt.Sprint(item(short, i)), fmt.Sprint(item(long, i)); a != b {
			t.Errorf("item %d is %s in the short set, %s in the long one", i, a, b)
		}
	}
}

func TestRandomPrefix(t *testing.T) {
	for _, c := range []struct {
		name          string
		prefix, input int
		want          []bool // Private of each span
	}{
		{"none", 0, 10, []bool{true}},
		{"both", 7, 10, []bool{false, true}},
		{"only", 7, 0, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := datasets.NewRandom(datasets.Random{PrefixLen: c.prefix, InputLen: c.input, OutputLen: 1, NumPrompts: 3})
			for _, it := range items(must(t, s, err)) {
				var got []bool
				for _, sp := range it.Prompt {
					got = append(got, sp.Private)
				}
				if fmt.Sprint(got) != fmt.Sprint(c.want) || it.In != c.prefix+c.input {
					t.Errorf("private spans %v, %d tokens", got, it.In)
				}
			}
		})
	}
}

func TestRandomErrors(t *testing.T) {
	good := datasets.Random{InputLen: 8, OutputLen: 8, RangeRatio: 0.5, NumPrompts: 4}
	for _, c := range []struct {
		name, want string
		change     func(p *datasets.Random)
	}{
		{"no content", "both empty", func(p *datasets.Random) { p.InputLen = 0 }},
		{"negative input", "the input is -1 tokens: use 0 to", func(p *datasets.Random) { p.InputLen = -1 }},
		{"no answer", "the answer is 0 tokens: use 1 to", func(p *datasets.Random) { p.OutputLen = 0 }},
		{"long prefix", "the prefix is 268435457 tokens", func(p *datasets.Random) { p.PrefixLen = datasets.MaxTokens + 1 }},
		{"ratio of 1", "the range ratio is 1: use at least 0 and less than 1", func(p *datasets.Random) { p.RangeRatio = 1 }},
		{"negative ratio", "the range ratio is -0.1", func(p *datasets.Random) { p.RangeRatio = -0.1 }},
		{"no number", "the range ratio is NaN", func(p *datasets.Random) { p.RangeRatio = math.NaN() }},
		{"no prompts", "0 prompts: use at least 1", func(p *datasets.Random) { p.NumPrompts = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := good
			c.change(&p)
			s, err := datasets.NewRandom(p)
			if err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
				t.Errorf("got %v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
	t.Run("the longest lengths fit", func(t *testing.T) {
		s, err := datasets.NewRandom(datasets.Random{
			InputLen: datasets.MaxTokens, OutputLen: datasets.MaxTokens, PrefixLen: datasets.MaxTokens, RangeRatio: 0.999, NumPrompts: 1000,
		})
		for _, it := range items(must(t, s, err)) {
			if it.In > math.MaxInt32 || it.Out > math.MaxInt32 {
				t.Fatalf("%d in, %d out", it.In, it.Out)
			}
		}
	})
}
