package datasets_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

func must(t interface{ Fatal(...any) }, s datasets.Set, err error) datasets.Set {
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// item returns item i in memory of its own.
func item(s datasets.Set, i int) datasets.Item {
	var it datasets.Item
	s.Item(i, &it)
	return it
}

func items(s datasets.Set) []datasets.Item {
	all := make([]datasets.Item, s.Len())
	for i := range all {
		s.Item(i, &all[i])
	}
	return all
}

func genPrefixRepetition(t *rapid.T) datasets.PrefixRepetition {
	p := datasets.PrefixRepetition{
		PrefixLen:   rapid.IntRange(0, 70).Draw(t, "prefix"),
		SuffixLen:   rapid.IntRange(0, 70).Draw(t, "suffix"),
		NumPrefixes: rapid.IntRange(1, 8).Draw(t, "prefixes"),
		OutputLen:   rapid.IntRange(1, 9).Draw(t, "output"),
		Seed:        rapid.Uint64().Draw(t, "seed"),
		Shuffle:     rapid.Bool().Draw(t, "shuffle"),
	}
	if p.PrefixLen+p.SuffixLen == 0 {
		p.SuffixLen = 1
	}
	p.NumPrompts = p.NumPrefixes + rapid.IntRange(0, 40).Draw(t, "more prompts")
	return p
}

func genRandom(t *rapid.T) datasets.Random {
	p := datasets.Random{
		InputLen:   rapid.IntRange(0, 70).Draw(t, "input"),
		OutputLen:  rapid.IntRange(1, 70).Draw(t, "output"),
		PrefixLen:  rapid.IntRange(0, 70).Draw(t, "prefix"),
		RangeRatio: rapid.Float64Range(0, 0.999).Draw(t, "ratio"),
		NumPrompts: rapid.IntRange(1, 50).Draw(t, "prompts"),
		Seed:       rapid.Uint64().Draw(t, "seed"),
	}
	if p.InputLen+p.PrefixLen == 0 {
		p.InputLen = 1
	}
	return p
}

func genSharedPrefix(t *rapid.T) datasets.SharedPrefix {
	p := datasets.SharedPrefix{
		Groups:    rapid.IntRange(1, 8).Draw(t, "groups"),
		GlobalLen: rapid.IntRange(0, 40).Draw(t, "global"), SystemLen: rapid.IntRange(0, 40).Draw(t, "system"),
		QuestionLen: rapid.IntRange(1, 40).Draw(t, "question"), OutputLen: rapid.IntRange(1, 40).Draw(t, "output"),
		RangeRatio: rapid.Float64Range(0, 0.999).Draw(t, "ratio"),
		Turns:      rapid.IntRange(1, 4).Draw(t, "turns"),
		Zipf:       rapid.SampledFrom([]float64{0, 0.5, 1, 2}).Draw(t, "zipf"),
		Seed:       rapid.Uint64().Draw(t, "seed"), Shuffle: rapid.Bool().Draw(t, "shuffle"),
	}
	if p.Tenants = rapid.IntRange(0, p.Groups).Draw(t, "tenants"); p.Tenants > 0 {
		p.TenantLen = rapid.IntRange(0, 40).Draw(t, "tenant")
	}
	p.NumPrompts = p.Groups*p.Turns + rapid.IntRange(0, 40).Draw(t, "more prompts")
	return p
}

func genRAG(t *rapid.T) datasets.RAG {
	p := datasets.RAG{
		Documents: rapid.IntRange(1, 50).Draw(t, "documents"), DocumentLen: rapid.IntRange(1, 40).Draw(t, "document"),
		SystemLen: rapid.IntRange(0, 40).Draw(t, "system"), QuestionLen: rapid.IntRange(1, 40).Draw(t, "question"),
		OutputLen: rapid.IntRange(1, 40).Draw(t, "output"), RangeRatio: rapid.Float64Range(0, 0.999).Draw(t, "ratio"),
		Zipf: rapid.SampledFrom([]float64{0, 0.5, 1, 10}).Draw(t, "zipf"), ByRank: rapid.Bool().Draw(t, "by rank"),
		NumPrompts: rapid.IntRange(1, 40).Draw(t, "prompts"), Seed: rapid.Uint64().Draw(t, "seed"),
	}
	p.K = rapid.IntRange(1, min(p.Documents, 8)).Draw(t, "k")
	return p
}

func genSet(t *rapid.T) datasets.Set {
	var s datasets.Set
	var err error
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		s, err = datasets.NewRandom(genRandom(t))
	case 1:
		s, err = datasets.NewPrefixRepetition(genPrefixRepetition(t))
	case 2:
		s, err = datasets.NewSharedPrefix(genSharedPrefix(t))
	default:
		s, err = datasets.NewRAG(genRAG(t))
	}
	return must(t, s, err)
}

// TestItemsArePure is invariant 3 for the content of requests: an item depends on
// the set and i alone, not on what was asked before or what dst held.
func TestItemsArePure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		want := items(s)
		reused := datasets.Item{
			Prompt: []datasets.Span{{Key: 1, Tokens: 2}}, In: 3, Out: 4, OutKey: 5, Prefix: 6, At: 7, Session: 8, Turn: 9,
		}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, s.Len()-1), 1, 30).Draw(t, "order") {
			s.Item(i, &reused)
			if diff := cmp.Diff(want[i], reused); diff != "" {
				t.Fatalf("item %d (-first +again):\n%s", i, diff)
			}
		}
	})
}

func TestItemsFromManyGoroutines(t *testing.T) {
	for _, s := range goldenSets(t) {
		want := items(s)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				var it datasets.Item
				for j := range s.Len() {
					i := (j*7 + g) % s.Len()
					s.Item(i, &it)
					if diff := cmp.Diff(want[i], it); diff != "" {
						t.Errorf("item %d of %v:\n%s", i, s, diff)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestItemsAreWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		if s.Timed() {
			t.Fatal("a generated set has no recorded times")
		}
		owners := map[uint64]int{} // key -> items that use it
		private := map[uint64]bool{}
		outs := map[uint64]bool{}
		leads := map[uint64]uint64{} // group -> key of its leading span
		for i, it := range items(s) {
			sum := 0
			for _, sp := range it.Prompt {
				if sp.Tokens < 1 {
					t.Fatalf("item %d has a span of %d tokens", i, sp.Tokens)
				}
				sum += sp.Tokens
				owners[sp.Key]++
				private[sp.Key] = private[sp.Key] || sp.Private
			}
			if sum != it.In || it.In < 1 || it.Out < 1 {
				t.Fatalf("item %d has spans of %d tokens, In %d, Out %d", i, sum, it.In, it.Out)
			}
			if outs[it.OutKey] {
				t.Fatalf("item %d has another item's answer", i)
			}
			outs[it.OutKey] = true
			if it.Prefix == 0 {
				if !it.Prompt[0].Private {
					t.Fatalf("item %d is of no group, but its first span is shared", i)
				}
				continue
			}
			if key, ok := leads[it.Prefix]; ok && key != it.Prompt[0].Key {
				t.Fatalf("group %d begins with keys %#x and %#x", it.Prefix, key, it.Prompt[0].Key)
			}
			leads[it.Prefix] = it.Prompt[0].Key
		}
		for key, n := range owners {
			if private[key] && n != 1 {
				t.Fatalf("private key %#x is used by %d items", key, n)
			}
		}
	})
}

func goldenSets(t *testing.T) []datasets.Set {
	grouped, err1 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 3, OutputLen: 128, NumPrompts: 100, Seed: 1,
	})
	shuffled, err2 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 3, OutputLen: 128, NumPrompts: 100, Seed: 1, Shuffle: true,
	})
	random, err3 := datasets.NewRandom(datasets.Random{
		InputLen: 1024, OutputLen: 128, PrefixLen: 50, RangeRatio: 0.5, NumPrompts: 100, Seed: 1,
	})
	shared, err4 := datasets.NewSharedPrefix(datasets.SharedPrefix{
		Groups: 8, GlobalLen: 64, Tenants: 2, TenantLen: 128, SystemLen: 512, QuestionLen: 100, OutputLen: 50, RangeRatio: 0.5,
		Turns: 2, NumPrompts: 100, Zipf: 1, Seed: 1,
	})
	rag, err5 := datasets.NewRAG(datasets.RAG{
		Documents: 1000, K: 2, DocumentLen: 300, RangeRatio: 0.5, SystemLen: 100, QuestionLen: 30, OutputLen: 200, Zipf: 1, ByRank: true, NumPrompts: 100, Seed: 1,
	})
	drawn, err6 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 30, OutputLen: 128, NumPrompts: 100, Zipf: 1, Seed: 1, Shuffle: true,
	})
	return []datasets.Set{
		must(t, grouped, err1), must(t, shuffled, err2), must(t, random, err3),
		must(t, shared, err4), must(t, rag, err5), must(t, drawn, err6),
	}
}

// TestGolden holds what a seed stands for: a change makes runs of two releases
// incomparable.
func TestGolden(t *testing.T) {
	var got []string
	for _, s := range goldenSets(t) {
		got = append(got, s.String(), text(item(s, 0)), text(item(s, 99)))
	}
	want := []string{
		"prefix_repetition(prefix 256, suffix 256, prefixes 3, output 128, prompts 100, seed 1, group by group)",
		"{Prompt:[{Key:4449839260813697063 Tokens:256 Private:false} {Key:18363035044428189070 Tokens:256 Private:true}] In:512 Out:128 OutKey:2436175868234231951 Prefix:1 At:0s Session:0 Turn:0}",
		"{Prompt:[{Key:16998583614612908773 Tokens:256 Private:false} {Key:17661086722297842117 Tokens:256 Private:true}] In:512 Out:128 OutKey:420170307677621444 Prefix:3 At:0s Session:0 Turn:0}",
		"prefix_repetition(prefix 256, suffix 256, prefixes 3, output 128, prompts 100, seed 1, shuffled)",
		"{Prompt:[{Key:16998583614612908773 Tokens:256 Private:false} {Key:3735661923049049555 Tokens:256 Private:true}] In:512 Out:128 OutKey:14353196675353401942 Prefix:3 At:0s Session:0 Turn:0}",
		"{Prompt:[{Key:4449839260813697063 Tokens:256 Private:false} {Key:17194945570523110664 Tokens:256 Private:true}] In:512 Out:128 OutKey:962739267882899680 Prefix:1 At:0s Session:0 Turn:0}",
		"random(input 1024, output 128, prefix 50, range ratio 0.5, prompts 100, seed 1)",
		"{Prompt:[{Key:10982783258609695796 Tokens:50 Private:false} {Key:3496424894185081776 Tokens:997 Private:true}] In:1047 Out:139 OutKey:9810710564981178931 Prefix:1 At:0s Session:0 Turn:0}",
		"{Prompt:[{Key:10982783258609695796 Tokens:50 Private:false} {Key:16087774959532271993 Tokens:747 Private:true}] In:797 Out:68 OutKey:3882043483561052030 Prefix:1 At:0s Session:0 Turn:0}",
		"shared_prefix(global 64, tenants 2 of 128, groups 8, system 512, question 100, output 50, range ratio 0.5, turns 2, prompts 100, seed 1, zipf 1)",
		"{Prompt:[{Key:17476805400873800547 Tokens:64 Private:false} {Key:16344036795420844944 Tokens:128 Private:false} {Key:2336875634188665733 Tokens:512 Private:false} {Key:12139934444060291523 Tokens:126 Private:false}] In:830 Out:35 OutKey:6069816264076824674 Prefix:1 At:0s Session:1 Turn:0}",
		"{Prompt:[{Key:17476805400873800547 Tokens:64 Private:false} {Key:16344036795420844944 Tokens:128 Private:false} {Key:681799276639963120 Tokens:512 Private:false} {Key:10625291798161955280 Tokens:61 Private:false} {Key:3458181322932775900 Tokens:38 Private:false} {Key:17958683815459786659 Tokens:76 Private:true}] In:879 Out:31 OutKey:17810172091781376868 Prefix:7 At:0s Session:50 Turn:1}",
		"rag(system 100, 2 of 1000 documents of 300, zipf 1, by rank, question 30, output 200, range ratio 0.5, prompts 100, seed 1)",
		"{Prompt:[{Key:10312110740643721700 Tokens:100 Private:false} {Key:7258011517223701139 Tokens:241 Private:false} {Key:13018957280491898594 Tokens:343 Private:false} {Key:2044351630292689770 Tokens:36 Private:true}] In:720 Out:101 OutKey:4865954171914314378 Prefix:1 At:0s Session:0 Turn:0}",
		"{Prompt:[{Key:10312110740643721700 Tokens:100 Private:false} {Key:9017174043831354103 Tokens:206 Private:false} {Key:14864877212930113607 Tokens:374 Private:false} {Key:15922484608454456313 Tokens:40 Private:true}] In:720 Out:247 OutKey:11724968432017686653 Prefix:1 At:0s Session:0 Turn:0}",
		"prefix_repetition(prefix 256, suffix 256, prefixes 30, output 128, prompts 100, seed 1, zipf 1)",
		"{Prompt:[{Key:11589690627546312465 Tokens:256 Private:false} {Key:18363035044428189070 Tokens:256 Private:true}] In:512 Out:128 OutKey:2436175868234231951 Prefix:6 At:0s Session:0 Turn:0}",
		"{Prompt:[{Key:3758671130079109472 Tokens:256 Private:false} {Key:17661086722297842117 Tokens:256 Private:true}] In:512 Out:128 OutKey:420170307677621444 Prefix:2 At:0s Session:0 Turn:0}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestItemAllocatesNothing(t *testing.T) {
	for _, s := range goldenSets(t) {
		var it datasets.Item
		s.Item(0, &it)
		i := 0
		if n := testing.AllocsPerRun(50, func() { i++; s.Item(i, &it) }); n != 0 {
			t.Errorf("%v: %v allocations per item", s, n)
		}
	}
}

func BenchmarkItem(b *testing.B) {
	prefix, err1 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 10, OutputLen: 128, NumPrompts: 1 << 20, Shuffle: true,
	})
	random, err2 := datasets.NewRandom(datasets.Random{
		InputLen: 1024, OutputLen: 128, RangeRatio: 0.5, NumPrompts: 1 << 20,
	})
	drawn, err3 := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 256, SuffixLen: 256, NumPrefixes: 1000, OutputLen: 128, NumPrompts: 1 << 20, Zipf: 1,
	})
	shared, err4 := datasets.NewSharedPrefix(datasets.SharedPrefix{
		Groups: 64, SystemLen: 2048, QuestionLen: 128, OutputLen: 256, Turns: 4, NumPrompts: 1 << 20, Shuffle: true,
	})
	rag, err5 := datasets.NewRAG(datasets.RAG{
		Documents: 1000, K: 5, DocumentLen: 512, SystemLen: 256, QuestionLen: 64, OutputLen: 128, RangeRatio: 0.5, Zipf: 1, NumPrompts: 1 << 20,
	})
	for _, s := range []datasets.Set{
		must(b, prefix, err1), must(b, random, err2), must(b, drawn, err3), must(b, shared, err4), must(b, rag, err5),
	} {
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			var it datasets.Item
			i := 0
			for b.Loop() {
				s.Item(i&(1<<20-1), &it)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

// text shows what a generator decides of an item.
func text(it datasets.Item) string {
	spans := make([]string, len(it.Prompt))
	for i, s := range it.Prompt {
		spans[i] = fmt.Sprintf("{Key:%d Tokens:%d Private:%v}", s.Key, s.Tokens, s.Private)
	}
	return fmt.Sprintf("{Prompt:%v In:%d Out:%d OutKey:%d Prefix:%d At:%v Session:%d Turn:%d}",
		spans, it.In, it.Out, it.OutKey, it.Prefix, it.At, it.Session, it.Turn)
}
