package datasets

import "slices"

// IdealHit is the prefix reuse that a set offers to one cache.
type IdealHit struct {
	// Known is false for a set that does not say which prompts begin alike, and for
	// one with more spans than are remembered; the other fields are then 0 and mean
	// nothing.
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
// It remembers one number for each different span behind different content, whatever
// its length, and nothing of private content.
type IdealCache struct {
	block int
	held  map[uint64]int32 // by prefix and key of a span: the most tokens of it
	whole []Span           // a prompt and its answer
}

// maxHeld bounds the spans that an IdealCache remembers: a few hundred megabytes.
const maxHeld = 1 << 23

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
	return &IdealCache{block: block, held: map[uint64]int32{}}, true
}

// Take sends an item to the cache and returns how many of its prompt tokens need
// not be computed again. Items of different scopes (see Scope) find nothing of each
// other; 0 is the base model without a salt. ok is false from the item on that would
// make the cache remember more than 8 million spans: what it found would no longer be
// all that there is.
func (c *IdealCache) Take(it *Item, scope uint64) (tokens int, ok bool) {
	if len(c.held) > maxHeld {
		return 0, false
	}
	var spans []Span
	spans, c.whole = kept(it, c.whole)
	found, h := 0, prefixHash(scope)
	unbroken := true
	for _, s := range spans {
		id := spanHash(h, s.Key)
		had := int(c.held[id])
		if unbroken {
			found += min(had, s.Tokens)
			unbroken = had >= s.Tokens
		}
		if had < s.Tokens {
			c.held[id] = int32(s.Tokens)
		}
		h = behind(id, s.Tokens)
	}
	return credit(found, it.In, c.block), true
}

// credit is what a cache saves of a prompt of in tokens, of which it holds the first
// found.
func credit(found, in, block int) int { return max(0, min(found, in-1)) / block * block }

// prefixHash names the empty prefix of a scope, spanHash the content of a key behind
// the prefix named h, and behind the prefix that ends with that many tokens of it.
func prefixHash(scope uint64) uint64 { return mix(0x9e3779b97f4a7c15 ^ scope) }

func spanHash(h, key uint64) uint64 { return mix(h ^ mix(key)) }

func behind(span uint64, tokens int) uint64 { return mix(span + uint64(tokens)*0x9e3779b97f4a7c15) }

// Ideal sends the first n items (at most all) one after the other to an
// IdealCache with blocks of block tokens. scope tells the scope of item i; nil: all
// have the same.
func Ideal(set Set, n, block int, scope func(i int) uint64) IdealHit {
	cache, ok := NewIdealCache(set, block)
	if !ok {
		return IdealHit{}
	}
	return serve(set, n, cache, scope)
}

// PoolHit is Ideal for a PoolCache of capacity blocks.
func PoolHit(set Set, n, block, capacity int, scope func(i int) uint64) IdealHit {
	cache, ok := NewPoolCache(set, block, capacity)
	if !ok {
		return IdealHit{}
	}
	return serve(set, n, cache, scope)
}

// taker is a cache.
type taker interface {
	Take(it *Item, scope uint64) (tokens int, ok bool)
}

// serve sends the first n items to a cache.
func serve(set Set, n int, cache taker, scope func(i int) uint64) IdealHit {
	h := IdealHit{Known: true}
	var it Item
	for i := range min(n, set.Len()) {
		set.Item(i, &it)
		h.Tokens += int64(it.In)
		within := uint64(0)
		if scope != nil {
			within = scope(i)
		}
		tokens, ok := cache.Take(&it, within)
		if !ok {
			return IdealHit{}
		}
		h.Hit += int64(tokens)
	}
	return h
}

// kept is what can be found again of an item: its prompt up to the first private span,
// and the answer if it is quoted. whole is room to use again.
func kept(it *Item, whole []Span) (spans, room []Span) {
	spans = shareable(it.Prompt)
	if it.Quoted && len(spans) == len(it.Prompt) && it.Out > 1 {
		whole = append(append(whole[:0], spans...), Span{Key: it.OutKey, Tokens: it.Out - 1})
		spans = whole
	}
	return spans, whole
}

// shareable cuts a prompt before its first private span: no block that reaches
// into private content, or follows it, can be in a cache.
func shareable(prompt []Span) []Span {
	if i := slices.IndexFunc(prompt, func(s Span) bool { return s.Private }); i >= 0 {
		return prompt[:i]
	}
	return prompt
}
