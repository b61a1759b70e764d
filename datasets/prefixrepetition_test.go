package datasets_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

func TestPrefixRepetitionDistributesTheRemainder(t *testing.T) {
	for _, c := range []struct {
		prompts, prefixes int
		want              []int
	}{
		{12, 4, []int{3, 3, 3, 3}},
		{10, 4, []int{3, 3, 2, 2}},
		{4, 4, []int{1, 1, 1, 1}},
		{5, 4, []int{2, 1, 1, 1}},
		{1000, 7, []int{143, 143, 143, 143, 143, 143, 142}},
		{3, 1, []int{3}},
	} {
		t.Run(fmt.Sprintf("%d by %d", c.prompts, c.prefixes), func(t *testing.T) {
			s, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
				PrefixLen: 8, SuffixLen: 8, NumPrefixes: c.prefixes, OutputLen: 1, NumPrompts: c.prompts,
			})
			must(t, s, err)
			got := make([]int, c.prefixes)
			last := uint64(1)
			for _, it := range items(s) {
				if it.Prefix < last {
					t.Fatalf("group %d comes after group %d", it.Prefix, last)
				}
				last = it.Prefix
				got[it.Prefix-1]++
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("group sizes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShuffleOnlyReorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPrefixRepetition(t)
		byAnswer := func(shuffle bool) []datasets.Item {
			p.Shuffle = shuffle
			s, err := datasets.NewPrefixRepetition(p)
			all := items(must(t, s, err))
			slices.SortFunc(all, func(a, b datasets.Item) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			return all
		}
		if diff := cmp.Diff(byAnswer(false), byAnswer(true)); diff != "" {
			t.Fatalf("(-grouped +shuffled):\n%s", diff)
		}
	})
}

func TestShuffleMixesGroups(t *testing.T) {
	s, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 8, SuffixLen: 8, NumPrefixes: 10, OutputLen: 1, NumPrompts: 1000, Shuffle: true,
	})
	same := 0
	all := items(must(t, s, err))
	for i := range all[1:] {
		if all[i].Prefix == all[i+1].Prefix {
			same++
		}
	}
	// About 999 * 99/999 = 99 neighbours share a group; the deviation is about 9.
	if same < 60 || same > 140 {
		t.Errorf("%d neighbours share a group", same)
	}
}

func TestSeedsChangeContent(t *testing.T) {
	keys := map[uint64]int{}
	for seed := range uint64(20) {
		s, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
			PrefixLen: 8, SuffixLen: 8, NumPrefixes: 2, OutputLen: 1, NumPrompts: 4, Seed: seed,
		})
		seen := map[uint64]bool{}
		for _, it := range items(must(t, s, err)) {
			for _, sp := range it.Prompt {
				seen[sp.Key] = true
			}
		}
		for key := range seen {
			keys[key]++
		}
	}
	if len(keys) != 20*(2+4) {
		t.Errorf("%d different keys in 20 sets of 6", len(keys))
	}
}

func TestPrefixRepetitionErrors(t *testing.T) {
	good := datasets.PrefixRepetition{PrefixLen: 8, SuffixLen: 8, NumPrefixes: 2, OutputLen: 1, NumPrompts: 4}
	if _, err := datasets.NewPrefixRepetition(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		change     func(p *datasets.PrefixRepetition)
	}{
		{"no prefixes", "0 prefixes: use at least 1", func(p *datasets.PrefixRepetition) { p.NumPrefixes = 0 }},
		{"too few prompts", "use at least 2 prompts or fewer prefixes", func(p *datasets.PrefixRepetition) { p.NumPrompts = 1 }},
		{"too many prompts", "use at most 2147483647", func(p *datasets.PrefixRepetition) { p.NumPrompts = 1 << 40 }},
		{"no content", "both empty", func(p *datasets.PrefixRepetition) { p.PrefixLen, p.SuffixLen = 0, 0 }},
		{"negative prefix", "the prefix is -1 tokens: use 0 to", func(p *datasets.PrefixRepetition) { p.PrefixLen = -1 }},
		{"negative suffix", "the suffix is -1 tokens: use 0 to", func(p *datasets.PrefixRepetition) { p.SuffixLen = -1 }},
		{"long suffix", "the suffix is 268435457 tokens", func(p *datasets.PrefixRepetition) { p.SuffixLen = datasets.MaxTokens + 1 }},
		{"no answer", "the answer is 0 tokens: use 1 to", func(p *datasets.PrefixRepetition) { p.OutputLen = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := good
			c.change(&p)
			s, err := datasets.NewPrefixRepetition(p)
			if err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
				t.Errorf("got %v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
}

func ExampleNewPrefixRepetition() {
	set, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 10, OutputLen: 128, NumPrompts: 1000, Shuffle: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate, _ := datasets.Ideal(set, set.Len(), 16, nil).Rate()
	fmt.Println(set)
	fmt.Printf("ideal hit rate %.1f%%\n", 100*rate)
	// Output:
	// prefix_repetition(prefix 256, suffix 256, prefixes 10, output 128, prompts 1000, seed 0, shuffled)
	// ideal hit rate 49.5%
}
