package datasets_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

// A salt changes what prompts say and nothing else: they are as long, and share as much
// of each other.
func TestSalted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		a, b := datasets.Salted(s, rapid.Uint64Min(2).Draw(t, "a")), datasets.Salted(s, 1)
		if s.Len() != a.Len() || s.String() != a.String() || datasets.Salted(s, 0) != s {
			t.Fatalf("%v became %v", s, a)
		}
		block := rapid.IntRange(1, 20).Draw(t, "block")
		if diff := cmp.Diff(datasets.Ideal(s, s.Len(), block, nil), datasets.Ideal(a, a.Len(), block, nil)); diff != "" {
			t.Fatalf("ideal hits (-plain +salted):\n%s", diff)
		}
		keys := map[uint64]bool{}
		for _, it := range append(items(s), items(b)...) {
			for _, p := range it.Prompt {
				keys[p.Key] = true
			}
		}
		for i, it := range items(a) {
			was := item(s, i)
			if it.In != was.In || it.Out != was.Out || it.Prefix != was.Prefix || len(it.Prompt) != len(was.Prompt) {
				t.Fatalf("item %d: %+v became %+v", i, was, it)
			}
			for _, p := range it.Prompt {
				if keys[p.Key] {
					t.Fatalf("item %d has the content of another run", i)
				}
			}
		}
	})
}

// No prompt of the set finds more in a cache after the warm-up than what is shared.
func TestWarmupIsOfTheSamePopulation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		n := rapid.IntRange(1, 30).Draw(t, "warm-ups")
		w, err := datasets.WithWarmup(s, false, n, 7)
		if err != nil || w.Len() != s.Len()+n || w.Warmups() != n {
			t.Fatalf("%d items: %v", w.Len(), err)
		}
		if diff := cmp.Diff(items(s), items(w)[:s.Len()]); diff != "" {
			t.Fatalf("measured items changed:\n%s", diff)
		}
		private, shared := map[uint64]bool{}, map[uint64]bool{}
		for _, it := range items(s) {
			for _, p := range it.Prompt {
				if p.Private {
					private[p.Key] = true
				} else {
					shared[p.Key] = true
				}
			}
		}
		for i := s.Len(); i < w.Len(); i++ {
			it, sum := item(w, i), 0
			for _, p := range it.Prompt {
				sum += p.Tokens
				if private[p.Key] || !p.Private && !shared[p.Key] {
					t.Fatalf("warm-up %d has %+v", i, p)
				}
			}
			if sum != it.In || it.Out < 1 {
				t.Fatalf("warm-up %d is %+v", i, it)
			}
		}
	})
}

// With each prefix sent once, all that is shared is found.
func TestWarmupOfPrefixes(t *testing.T) {
	set, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 64, SuffixLen: 16, NumPrefixes: 5, OutputLen: 3, NumPrompts: 40, Shuffle: true,
	})
	w, err := datasets.WithWarmup(must(t, set, err), true, 2, 0)
	if err != nil || w.Warmups() != 7 {
		t.Fatalf("%d warm-ups: %v", w.Warmups(), err)
	}
	cache, _ := datasets.NewIdealCache(w, 16)
	for i := range 5 {
		it := item(w, 40+i)
		if hit, _ := cache.Take(&it, 0); hit != 0 || it.In != 64 || it.Out != 1 {
			t.Errorf("prefix %d: %d tokens were cached of %+v", i, hit, it)
		}
	}
	for i := range 40 {
		it := item(w, i)
		if hit, _ := cache.Take(&it, 0); hit != 64 {
			t.Errorf("item %d finds %d tokens", i, hit)
		}
	}
	alone, err := datasets.NewRandom(datasets.Random{InputLen: 8, OutputLen: 1, NumPrompts: 3})
	if _, err := datasets.WithWarmup(must(t, alone, err), true, 0, 0); err == nil {
		t.Error("prompts that share nothing have prefixes")
	}
	if _, err := datasets.WithWarmup(nameless{list{prompt([2]int{1, 9}), prompt([2]int{1, 9})}}, true, 0, 0); err == nil {
		t.Error("a set that does not say what it shares has prefixes")
	}
}

func ExampleWithWarmup() {
	set, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 64, SuffixLen: 16, NumPrefixes: 2, OutputLen: 3, NumPrompts: 10,
	})
	if err != nil {
		panic(err)
	}
	w, err := datasets.WithWarmup(set, true, 4, 0)
	fmt.Println(w.Len(), w.Warmups(), err)
	// Output: 16 6 <nil>
}
