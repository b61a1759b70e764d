package datasets_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"goodput/datasets"
)

// genPrompts draws items whose keys have one length each, so that no span is used in
// part; a key below 0 is private.
func genPrompts(t *rapid.T) list {
	private := 0
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) datasets.Item {
		var spans [][2]int
		for _, k := range rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "keys") {
			spans = append(spans, [2]int{k, 5*k + 1})
		}
		if n := rapid.IntRange(0, 30).Draw(t, "suffix"); n > 0 {
			private--
			spans = append(spans, [2]int{private, n})
		}
		it := prompt(spans...)
		it.Out = rapid.IntRange(1, 20).Draw(t, "out")
		return it
	}), 1, 30).Draw(t, "items")
}

// blockCache is the cache block by block: names, most recently used first.
type blockCache struct {
	names []string
	block int
}

func (c *blockCache) take(i int, it *datasets.Item, capacity int) int {
	var tokens []string
	for _, s := range it.Prompt {
		for off := range s.Tokens {
			tokens = append(tokens, fmt.Sprint(s.Key, ":", off))
		}
	}
	for off := range it.Out - 1 {
		tokens = append(tokens, fmt.Sprint("answer ", i, ":", off))
	}
	var names []string
	for end := c.block; end <= len(tokens); end += c.block {
		names = append(names, fmt.Sprint(tokens[:end]))
	}
	hits := 0
	for hits < len(names) && (hits+1)*c.block <= it.In && slices.Contains(c.names, names[hits]) {
		hits++
	}
	c.names = slices.DeleteFunc(c.names, func(n string) bool { return slices.Contains(names, n) })
	c.names = append(names, c.names...)
	c.names = c.names[:min(len(c.names), capacity)]
	return min(hits*c.block, it.In-1) / c.block * c.block
}

// TestPoolCacheAgainstBlocks compares with a list of blocks.
func TestPoolCacheAgainstBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := genPrompts(t)
		block, capacity := rapid.IntRange(1, 12).Draw(t, "block"), rapid.IntRange(1, 60).Draw(t, "capacity")
		got, _ := datasets.NewPoolCache(set, block, capacity)
		want := blockCache{block: block}
		for i := range set {
			n, ok := got.Take(&set[i], 0)
			if w := want.take(i, &set[i], capacity); n != w || !ok {
				t.Fatalf("item %d finds %d, %v, want %d", i, n, ok, w)
			}
		}
	})
}

// TestPoolCacheAgainstIdeal: with room for all it finds what an endless cache does,
// whatever the spans, and with less room never more.
func TestPoolCacheAgainstIdeal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genSet(t)
		block := rapid.IntRange(1, 20).Draw(t, "block")
		ideal, _ := datasets.NewIdealCache(s, block)
		whole, _ := datasets.NewPoolCache(s, block, math.MaxInt32)
		small, _ := datasets.NewPoolCache(s, block, rapid.IntRange(1, 100).Draw(t, "capacity"))
		for i, it := range items(s) {
			scope := uint64(i % 2)
			a, _ := ideal.Take(&it, scope)
			b, _ := whole.Take(&it, scope)
			c, _ := small.Take(&it, scope)
			if a != b || c > a {
				t.Fatalf("item %d: endless %d, with room for all %d, with less %d", i, a, b, c)
			}
		}
	})
}

func TestPoolCacheUnknown(t *testing.T) {
	if c, ok := datasets.NewPoolCache(nameless{list{prompt([2]int{1, 64})}}, 16, 10); ok {
		t.Errorf("got %v of a set that does not say which prompts begin alike", c)
	}
}

// TestCachesForget: what is followed does not grow with the number of requests that
// share nothing.
func TestCachesForget(t *testing.T) {
	s, err := datasets.NewRandom(datasets.Random{InputLen: 1000, OutputLen: 100, PrefixLen: 64, NumPrompts: 300_000})
	must(t, s, err)
	ideal, _ := datasets.NewIdealCache(s, 16)
	pool, _ := datasets.NewPoolCache(s, 16, 1<<20)
	var before, after runtime.MemStats
	var it datasets.Item
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range s.Len() {
		s.Item(i, &it)
		ideal.Take(&it, 0)
		pool.Take(&it, 0)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("%d bytes are kept after %d requests", grown, s.Len())
	}
	runtime.KeepAlive(ideal)
	runtime.KeepAlive(pool)
}

func BenchmarkPoolCache(b *testing.B) {
	s, err := datasets.NewPrefixRepetition(datasets.PrefixRepetition{
		PrefixLen: 2048, SuffixLen: 256, NumPrefixes: 1000, OutputLen: 128, NumPrompts: 1 << 20, Zipf: 1,
	})
	must(b, s, err)
	c, _ := datasets.NewPoolCache(s, 16, 50_000)
	var it datasets.Item
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		s.Item(i&(1<<20-1), &it)
		c.Take(&it, 0)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
}
