package datasets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

// TestTurnsQuoteTheTurnBefore: the prompt of a turn begins with the prompt and the
// planned answer of the one before, which comes earlier.
func TestTurnsQuoteTheTurnBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genSharedPrefix(t)
		if p.Turns == 1 {
			p.Turns, p.NumPrompts = 2, 2*p.NumPrompts
		}
		s, err := datasets.NewSharedPrefix(p)
		last := map[uint64]datasets.Item{}
		for i, it := range items(must(t, s, err)) {
			before, ok := last[it.Session]
			if ok != (it.Turn > 0) || ok && it.Turn != before.Turn+1 {
				t.Fatalf("item %d is turn %d of session %d after turn %d", i, it.Turn, it.Session, before.Turn)
			}
			if ok {
				want := append(append([]datasets.Span{}, before.Prompt...), datasets.Span{Key: before.OutKey, Tokens: before.Out, Role: datasets.Assistant})
				if diff := cmp.Diff(want, it.Prompt[:len(it.Prompt)-1]); diff != "" {
					t.Fatalf("item %d (-before +quoted):\n%s", i, diff)
				}
			}
			last[it.Session] = it
		}
	})
}

// TestLevelsAreSharedAsPlanned: all begin with the global prefix, those of a tenant go
// on alike, and those of a group after that.
func TestLevelsAreSharedAsPlanned(t *testing.T) {
	s, err := datasets.NewSharedPrefix(datasets.SharedPrefix{
		Groups: 6, GlobalLen: 10, Tenants: 3, TenantLen: 20, SystemLen: 30, QuestionLen: 5, OutputLen: 5, Turns: 1, NumPrompts: 600, Shuffle: true,
	})
	must(t, s, err)
	levels := [3]map[uint64]map[uint64]bool{{}, {}, {}} // key above -> keys below
	for _, it := range items(s) {
		above := uint64(0)
		for l := range levels {
			key := it.Prompt[l].Key
			if levels[l][above] == nil {
				levels[l][above] = map[uint64]bool{}
			}
			levels[l][above][key] = true
			above = key
		}
	}
	for l, want := range []int{1, 3, 2} {
		for above, below := range levels[l] {
			if len(below) != want {
				t.Errorf("level %d: %d contents below %#x, want %d", l, len(below), above, want)
			}
		}
	}
	// One endless cache misses the global prefix once, a tenant's 3 times and a
	// group's 6 times. Blocks of one token: but for the last, all of it counts.
	want := 1 - float64(10+3*20+6*30+600*5)/(600*65)
	if got, _ := datasets.Ideal(s, s.Len(), 1, nil).Rate(); math.Abs(got-want) > 1e-9 {
		t.Errorf("ideal hit rate %v, want %v", got, want)
	}
}

// TestZipfGroups compares the frequency of the most popular group with its chance.
func TestZipfGroups(t *testing.T) {
	const n, count = 50_000, 20
	sum := 0.0
	for k := 1; k <= count; k++ {
		sum += 1 / float64(k)
	}
	shared, err1 := datasets.NewSharedPrefix(datasets.SharedPrefix{
		Groups: count, SystemLen: 10, QuestionLen: 5, OutputLen: 5, Turns: 1, NumPrompts: n, Zipf: 1,
	})
	drawn, err2 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 10, SuffixLen: 5, NumPrefixes: count, OutputLen: 5, NumPrompts: n, Zipf: 1,
	})
	for _, s := range []datasets.Set{must(t, shared, err1), must(t, drawn, err2)} {
		var found [count]float64
		var it datasets.Item
		for i := range n {
			s.Item(i, &it)
			found[it.Prefix-1]++
		}
		for k, f := range found {
			p := 1 / float64(k+1) / sum
			if sd := math.Sqrt(n * p * (1 - p)); math.Abs(f-n*p) > 5*sd {
				t.Errorf("%v: group %d has %v of %d, want %.0f", s, k+1, f, n, n*p)
			}
		}
	}
}

func TestSuffixForTheTarget(t *testing.T) {
	for _, c := range []struct {
		prefix, prefixes, prompts, block int
		zipf, hit                        float64
	}{
		{256, 10, 1000, 16, 0, 0.3},
		{256, 10, 1000, 16, 0, 0.9},
		{1000, 50, 2000, 16, 0, 0.75},
		{2048, 1000, 3000, 16, 1, 0.5},
		{777, 3, 500, 32, 2, 0.05},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p := datasets.PrefixRepetition{PrefixLen: c.prefix, NumPrefixes: c.prefixes, OutputLen: 1, NumPrompts: c.prompts, Zipf: c.zipf, Shuffle: true}
			var err error
			if p.SuffixLen, err = p.SuffixFor(c.hit, c.block); err != nil {
				t.Fatal(err)
			}
			s, err := datasets.NewPrefixRepetition(p)
			got, _ := datasets.Ideal(must(t, s, err), c.prompts, c.block, nil).Rate()
			// A suffix of one token more or less changes the rate by its share.
			if math.Abs(got-c.hit) > c.hit/float64(p.PrefixLen+p.SuffixLen) {
				t.Errorf("suffix %d: hit rate %v", p.SuffixLen, got)
			}
		})
	}
	for _, c := range []struct {
		name, want string
		hit        float64
		prefix     int
	}{
		{"too high", "hit 0.9819 at most", 0.99, 256},
		{"no full block", "hit 0 at most", 0.5, 10},
		{"all", "less than 1", 1, 256},
		{"too low", "ask for more", 1e-9, 256},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := datasets.PrefixRepetition{PrefixLen: c.prefix, NumPrefixes: 10, OutputLen: 1, NumPrompts: 700}
			if n, err := p.SuffixFor(c.hit, 16); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %d, %v, want an error with %q", n, err, c.want)
			}
		})
	}
}

// TestSharedPrefixErrors breaks one parameter after the other.
func TestSharedPrefixErrors(t *testing.T) {
	good := datasets.SharedPrefix{Groups: 2, Tenants: 1, TenantLen: 5, SystemLen: 8, QuestionLen: 8, OutputLen: 1, Turns: 2, NumPrompts: 4}
	if _, err := datasets.NewSharedPrefix(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(p *datasets.SharedPrefix)
	}{
		{"0 groups", func(p *datasets.SharedPrefix) { p.Groups = 0 }},
		{"0 turns", func(p *datasets.SharedPrefix) { p.Turns = 0 }},
		{"0 prompts", func(p *datasets.SharedPrefix) { p.NumPrompts = 0 }},
		{"1 conversations leave some of the 2 groups", func(p *datasets.SharedPrefix) { p.NumPrompts = 2 }},
		{"3 tenants for 2 groups", func(p *datasets.SharedPrefix) { p.Tenants = 3 }},
		{"there are no tenants", func(p *datasets.SharedPrefix) { p.Tenants = 0 }},
		{"the range ratio is 1", func(p *datasets.SharedPrefix) { p.RangeRatio = 1 }},
		{"exponent is 11", func(p *datasets.SharedPrefix) { p.Zipf = 11 }},
		{"the question is 0 tokens", func(p *datasets.SharedPrefix) { p.QuestionLen = 0 }},
		{"the longest prompt is", func(p *datasets.SharedPrefix) { p.Turns, p.NumPrompts, p.QuestionLen = 1000, 2000, 1<<20 }},
	} {
		t.Run(c.want, func(t *testing.T) {
			p := good
			c.change(&p)
			if s, err := datasets.NewSharedPrefix(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
}

func ExampleNewSharedPrefix() {
	set, err := datasets.NewSharedPrefix(datasets.SharedPrefix{
		Groups: 64, SystemLen: 2048, QuestionLen: 128, OutputLen: 256, Turns: 1, NumPrompts: 1024, Shuffle: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate, _ := datasets.Ideal(set, set.Len(), 16, nil).Rate()
	fmt.Printf("%v\nideal hit rate %.3f\n", set, rate)
	// Output:
	// shared_prefix(groups 64, system 2048, question 128, output 256, range ratio 0, turns 1, prompts 1024, seed 0, shuffled)
	// ideal hit rate 0.882
}
