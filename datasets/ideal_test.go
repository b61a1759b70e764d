package datasets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

// list is a set written out.
type list []datasets.Item

var _ datasets.Set = list{}

func (l list) Len() int                     { return len(l) }
func (l list) Item(i int, d *datasets.Item) { *d = l[i] }
func (l list) Timed() bool                  { return true }
func (l list) String() string               { return fmt.Sprintf("list of %d", len(l)) }

// nameless is a list that does not say which prompts begin alike.
type nameless struct{ list }

func (nameless) PrefixesUnknown() bool { return true }

// prompt makes an item of spans "key*tokens"; a key below 0 is private.
func prompt(spans ...[2]int) datasets.Item {
	it := datasets.Item{Out: 1}
	for _, s := range spans {
		it.Prompt = append(it.Prompt, datasets.Span{Key: uint64(s[0]), Tokens: s[1], Private: s[0] < 0})
		it.In += s[1]
	}
	return it
}

func TestIdealByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   list
		block int
		want  int64
	}{
		{"nothing seen before", list{prompt([2]int{1, 64})}, 16, 0},
		{"one token is always computed", list{prompt([2]int{1, 64}), prompt([2]int{1, 64})}, 16, 48},
		{"a longer prompt gets all of it", list{prompt([2]int{1, 64}), prompt([2]int{1, 64}, [2]int{-1, 1})}, 16, 64},
		{"only full blocks", list{prompt([2]int{1, 20}, [2]int{-1, 9}), prompt([2]int{1, 20}, [2]int{-2, 9})}, 16, 16},
		{"a block of exactly the prefix", list{prompt([2]int{1, 20}, [2]int{-1, 9}), prompt([2]int{1, 20}, [2]int{-2, 9})}, 20, 20},
		{"block larger than the prompt", list{prompt([2]int{1, 20}), prompt([2]int{1, 20})}, 32, 0},
		{"the middle does not count", list{prompt([2]int{1, 16}, [2]int{2, 16}), prompt([2]int{3, 16}, [2]int{2, 16})}, 16, 0},
		{"nothing matches after private content", list{
			prompt([2]int{1, 16}, [2]int{-1, 16}, [2]int{2, 16}),
			prompt([2]int{1, 16}, [2]int{-2, 16}, [2]int{2, 16}),
		}, 16, 16},
		{"a shorter prefix of the same key", list{prompt([2]int{1, 100}), prompt([2]int{1, 40}, [2]int{-1, 40})}, 16, 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := datasets.Ideal(c.set, c.set.Len(), c.block, nil)
			if !h.Known || h.Hit != c.want || h.Tokens != datasets.Describe(c.set, c.set.Len()).In {
				t.Errorf("got %+v, want %d tokens hit", h, c.want)
			}
		})
	}
}

// TestIdealAgainstTokens compares with a cache that holds the full blocks of each
// prompt as strings of token names.
func TestIdealAgainstTokens(t *testing.T) {
	genItem := rapid.Custom(func(t *rapid.T) datasets.Item {
		var spans [][2]int
		// One cut of the content, as the hashes need: key k is 3k+1 tokens.
		for _, k := range rapid.SliceOfN(rapid.IntRange(1, 3), 1, 8).Draw(t, "keys") {
			spans = append(spans, [2]int{k, 3*k + 1})
		}
		return prompt(spans...)
	})
	rapid.Check(t, func(t *rapid.T) {
		set := list(rapid.SliceOfN(genItem, 1, 12).Draw(t, "items"))
		block := rapid.IntRange(1, 20).Draw(t, "block")
		n := rapid.IntRange(0, len(set)).Draw(t, "n")
		want := datasets.IdealHit{Known: true}
		cache := map[string]bool{}
		for _, it := range set[:n] {
			var names []string
			for _, s := range it.Prompt {
				for off := range s.Tokens {
					names = append(names, fmt.Sprint(s.Key, ":", off))
				}
			}
			match := 0
			for end := block; end <= len(names); end += block {
				prefix := strings.Join(names[:end], " ")
				if cache[prefix] && match == end-block {
					match = end
				}
				cache[prefix] = true
			}
			want.Tokens += int64(it.In)
			want.Hit += int64(min(match, it.In-1) / block * block)
		}
		if diff := cmp.Diff(want, datasets.Ideal(set, n, block, nil)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// TestIdealOfPrefixRepetition compares with the closed form: each prompt but the
// first of its group saves the full blocks of the prefix.
func TestIdealOfPrefixRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genPrefixRepetition(t)
		block := rapid.IntRange(1, 40).Draw(t, "block")
		s, err := datasets.NewPrefixRepetition(p)
		got := datasets.Ideal(must(t, s, err), p.NumPrompts, block, nil)
		saved := 0
		if p.PrefixLen > 0 {
			saved = (p.NumPrompts - p.NumPrefixes) * (min(p.PrefixLen, p.PrefixLen+p.SuffixLen-1) / block * block)
		}
		want := datasets.IdealHit{Known: true, Tokens: int64(p.NumPrompts * (p.PrefixLen + p.SuffixLen)), Hit: int64(saved)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestIdealUnknown(t *testing.T) {
	set := nameless{list{prompt([2]int{1, 64}), prompt([2]int{1, 64})}}
	h := datasets.Ideal(set, 2, 16, nil)
	if diff := cmp.Diff(datasets.IdealHit{}, h); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rate, ok := h.Rate(); ok {
		t.Errorf("a rate of %v", rate)
	}
	if rate, ok := datasets.Ideal(list{}, 5, 16, nil).Rate(); ok {
		t.Errorf("a rate of %v without items", rate)
	}
	if rate, ok := datasets.Ideal(set.list, 5, 16, nil).Rate(); !ok || rate != 48./128 {
		t.Errorf("more items asked for than there are: %v, %v", rate, ok)
	}
}

// TestChainNamesPrefixes: hash i of two prompts is equal if and only if their
// first i+1 blocks are.
func TestChainNamesPrefixes(t *testing.T) {
	genPrompt := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) datasets.Span {
		k := rapid.Uint64Range(0, 2).Draw(t, "key")
		return datasets.Span{Key: k, Tokens: int(3*k + 2)}
	}), 0, 12)
	tokens := func(p []datasets.Span) (all [][2]uint64) {
		for _, s := range p {
			for off := range s.Tokens {
				all = append(all, [2]uint64{s.Key, uint64(off)})
			}
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPrompt.Draw(t, "a"), genPrompt.Draw(t, "b")
		if rapid.Bool().Draw(t, "common start") {
			b = append(a[:len(a)/2:len(a)/2], b...)
		}
		block := rapid.IntRange(1, 16).Draw(t, "block")
		x, y := datasets.Chain(nil, a, block), datasets.Chain(nil, b, block)
		ta, tb := tokens(a), tokens(b)
		if len(x) != len(ta)/block || len(y) != len(tb)/block {
			t.Fatalf("%d and %d hashes of %d and %d tokens", len(x), len(y), len(ta), len(tb))
		}
		for i := range min(len(x), len(y)) {
			same := cmp.Equal(ta[:(i+1)*block], tb[:(i+1)*block])
			if same != (x[i] == y[i]) {
				t.Fatalf("block %d: equal content %v, hashes %x and %x", i, same, x[i], y[i])
			}
		}
		if diff := cmp.Diff(append([]uint64{7}, x...), datasets.Chain([]uint64{7}, a, block)); diff != "" {
			t.Fatalf("appending (-want +got):\n%s", diff)
		}
	})
}

func TestDescribe(t *testing.T) {
	set := list{prompt([2]int{1, 10}), prompt([2]int{1, 20}), prompt([2]int{1, 60}), prompt([2]int{1, 1000})}
	for i, at := range []time.Duration{0, 0, 4 * time.Second, 9 * time.Second} {
		set[i].At = at
	}
	set[1].Out = 5
	s := datasets.Describe(set, 3)
	want := datasets.Stats{Items: 3, In: 90, Out: 7, Timed: true, Span: 4 * time.Second}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rate, ok := s.Rate(); !ok || rate != 0.5 {
		t.Errorf("rate %v, %v: want 0.5", rate, ok)
	}
	if s.MeanIn() != 30 || s.MeanOut() != 7./3 {
		t.Errorf("means %v and %v", s.MeanIn(), s.MeanOut())
	}
	if all := datasets.Describe(set, 100); all.Items != 4 || all.Span != 9*time.Second {
		t.Errorf("all of it: %+v", all)
	}
	for _, n := range []int{0, 1, 2} {
		if rate, ok := datasets.Describe(set, n).Rate(); ok {
			t.Errorf("%d items at one instant have a rate of %v", n, rate)
		}
	}
	if none := datasets.Describe(set, 0); !math.IsNaN(none.MeanIn()) || !math.IsNaN(none.MeanOut()) {
		t.Errorf("no items have means: %+v", none)
	}
	untimed := goldenSets(t)[0]
	if s := datasets.Describe(untimed, 10); s.Timed || s.Span != 0 || s.In != 5120 || s.Out != 1280 {
		t.Errorf("untimed: %+v", s)
	}
}

func BenchmarkIdeal(b *testing.B) {
	s, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 2048, SuffixLen: 256, NumPrefixes: 100, OutputLen: 128, NumPrompts: 100_000, Shuffle: true,
	})
	must(b, s, err)
	b.ReportAllocs()
	for b.Loop() {
		datasets.Ideal(s, s.Len(), 16, nil)
	}
	b.ReportMetric(float64(b.N)*float64(s.Len())/b.Elapsed().Seconds(), "items/s")
}

// Prefixes are shared exactly within one adapter and one salt; names that could be
// taken for each other, or cancel out, are told apart.
func TestScopes(t *testing.T) {
	names := []string{"", "a", "b", "ab", "tenant-1"}
	seen := map[uint64]string{}
	for _, adapter := range names {
		for _, salt := range names {
			s := datasets.Scope(adapter, salt)
			what := adapter + "|" + salt
			if other, twice := seen[s]; twice {
				t.Errorf("%s and %s have the same scope", what, other)
			}
			seen[s] = what
			if (s == 0) != (what == "|") {
				t.Errorf("scope of %s is %d", what, s)
			}
		}
	}
	prompt := []datasets.Span{{Key: 1, Tokens: 100}}
	plain, other := datasets.Chain(nil, prompt, 16), datasets.ChainWithin(nil, 7, prompt, 16)
	if diff := cmp.Diff(plain, datasets.ChainWithin(nil, 0, prompt, 16)); diff != "" {
		t.Errorf("scope 0 (-want +got):\n%s", diff)
	}
	for i := range plain {
		if plain[i] == other[i] {
			t.Errorf("hash %d is the same in two scopes", i)
		}
	}
}

func TestIdealWithinScopes(t *testing.T) {
	set := list{{Prompt: []datasets.Span{{Key: 1, Tokens: 64}}, In: 64}, {Prompt: []datasets.Span{{Key: 1, Tokens: 64}}, In: 64}, {Prompt: []datasets.Span{{Key: 1, Tokens: 64}}, In: 64}}
	for _, c := range []struct {
		scope func(int) uint64
		want  int64
	}{
		{nil, 2 * 48},
		{func(i int) uint64 { return uint64(i % 2) }, 48},
		{func(i int) uint64 { return uint64(i) }, 0},
	} {
		if h := datasets.Ideal(set, 3, 16, c.scope); h.Hit != c.want {
			t.Errorf("hit %d tokens, want %d", h.Hit, c.want)
		}
	}
}
