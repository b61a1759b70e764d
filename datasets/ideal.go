package datasets

import (
	"slices"
	"sort"
)

// IdealHit is the prefix reuse that a set offers to one endless cache.
type IdealHit struct {
	// Known is false for a set that does not say which prompts begin alike; the
	// other fields are then 0 and mean nothing.
	Known bool
	// Tokens is the sum of prompt tokens, and Hit those of them found in the cache.
	Tokens, Hit int64
}

// Rate is Hit as a share of Tokens; ok is false where there is none to tell.
func (h IdealHit) Rate() (rate float64, ok bool) {
	if !h.Known || h.Tokens == 0 {
		return 0, false
	}
	return float64(h.Hit) / float64(h.Tokens), true
}

// anonymous is the optional ability of a Set whose source does not say which
// prompts begin alike. Its prompts share nothing, but that is no finding.
type anonymous interface{ PrefixesUnknown() bool }

func prefixesUnknown(set Set) bool {
	a, is := set.(anonymous)
	return is && a.PrefixesUnknown()
}

// IdealCache is one prefix cache that never evicts: an upper bound for any router
// and pool that serve the items given to it, in their order.
//
// Credit is what vLLM gives: only full blocks count, and at least one token of
// each prompt is computed, so that a match of m tokens of a prompt of p saves
// min(m, p-1) rounded down to blocks. Of an answer that is quoted it keeps what
// vLLM does: the full blocks of all tokens but the last, which is never computed.
//
// Memory grows with the number of distinct blocks in content that is not private.
type IdealCache struct {
	block int
	held  map[uint64]struct{}
	chain []uint64
	whole []Span // a prompt and its answer
}

// NewIdealCache returns an empty cache with blocks of block tokens for items of
// the set; ok is false if the set does not say which prompts begin alike. It
// panics unless block is positive.
func NewIdealCache(set Set, block int) (c *IdealCache, ok bool) {
	if block < 1 {
		panic("datasets: an ideal cache needs a positive block")
	}
	if prefixesUnknown(set) {
		return nil, false
	}
	return &IdealCache{block: block, held: map[uint64]struct{}{}}, true
}

// Take sends an item to the cache and returns how many of its prompt tokens need
// not be computed again. Items of different scopes (see Scope) find nothing of each
// other; 0 is the base model without a salt.
func (c *IdealCache) Take(it *Item, scope uint64) int {
	spans := shareable(it.Prompt)
	if it.Quoted && len(spans) == len(it.Prompt) && it.Out > 1 {
		c.whole = append(append(c.whole[:0], spans...), Span{Key: it.OutKey, Tokens: it.Out - 1})
		spans = c.whole
	}
	c.chain = ChainWithin(c.chain[:0], scope, spans, c.block)
	// Whatever leads to a cached block is cached too, so the hits are a leading
	// run.
	hits := sort.Search(len(c.chain), func(j int) bool {
		_, ok := c.held[c.chain[j]]
		return !ok
	})
	for _, h := range c.chain[hits:] {
		c.held[h] = struct{}{}
	}
	return min(hits*c.block, it.In-1) / c.block * c.block
}

// Ideal sends the first n items (at most all) one after the other to an
// IdealCache with blocks of block tokens. scope tells the scope of item i; nil: all
// have the same.
func Ideal(set Set, n, block int, scope func(i int) uint64) IdealHit {
	cache, ok := NewIdealCache(set, block)
	if !ok {
		return IdealHit{}
	}
	h := IdealHit{Known: true}
	var it Item
	for i := range min(n, set.Len()) {
		set.Item(i, &it)
		h.Tokens += int64(it.In)
		within := uint64(0)
		if scope != nil {
			within = scope(i)
		}
		h.Hit += int64(cache.Take(&it, within))
	}
	return h
}

// shareable cuts a prompt before its first private span: no block that reaches
// into private content, or follows it, can be in a cache.
func shareable(prompt []Span) []Span {
	if i := slices.IndexFunc(prompt, func(s Span) bool { return s.Private }); i >= 0 {
		return prompt[:i]
	}
	return prompt
}
