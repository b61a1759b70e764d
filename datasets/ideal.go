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

// Ideal sends the first n items (at most all) one after the other to one prefix
// cache that never evicts, and counts the prompt tokens that need not be computed
// again. It is an upper bound for any router and pool that serve them.
//
// Credit is what vLLM gives: only full blocks of block tokens count, and at least
// one token of each prompt is computed, so that a match of m tokens of a prompt of
// p saves min(m, p-1) rounded down to blocks. Answers are not cached.
//
// Memory grows with the number of distinct blocks in content that is not private.
// It panics unless block is positive.
func Ideal(set Set, n, block int) IdealHit {
	if block < 1 {
		panic("datasets: Ideal needs a positive block")
	}
	if a, ok := set.(anonymous); ok && a.PrefixesUnknown() {
		return IdealHit{}
	}
	h := IdealHit{Known: true}
	cache := map[uint64]struct{}{}
	var it Item
	var chain []uint64
	for i := range min(n, set.Len()) {
		set.Item(i, &it)
		chain = Chain(chain[:0], shareable(it.Prompt), block)
		// Whatever leads to a cached block is cached too, so the hits are a
		// leading run.
		hits := sort.Search(len(chain), func(j int) bool {
			_, ok := cache[chain[j]]
			return !ok
		})
		for _, c := range chain[hits:] {
			cache[c] = struct{}{}
		}
		h.Tokens += int64(it.In)
		h.Hit += int64(min(hits*block, it.In-1) / block * block)
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
