package datasets

import (
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// Warming is a set with the prompts of a warm-up behind its own.
type Warming struct {
	Set
	seed   uint64
	firsts []int // items that are the first of their prefix
	others int
}

var _ Set = (*Warming)(nil)

// WithWarmup puts behind the items of s those of a warm-up: with prefixes, one for each
// leading content that several prompts can share, which hold no more than that and ask
// for one token; then n like items of s drawn at random, with the same shared content,
// and private content that s does not have, so that no prompt of s is cached by them
// beyond what is shared.
func WithWarmup(s Set, prefixes bool, n int, seed uint64) (*Warming, error) {
	w := &Warming{Set: s, seed: seed, others: n}
	if prefixes {
		if !prefixesUnknown(s) {
			w.firsts = firstOfPrefixes(s)
		}
		if len(w.firsts) == 0 {
			return nil, fmt.Errorf("%v: no prompts share a prefix that could be sent before", s)
		}
	}
	if s.Len() > math.MaxInt32-n-len(w.firsts) {
		return nil, fmt.Errorf("%d requests after a warm-up of %d: use at most %d", s.Len(), n+len(w.firsts), math.MaxInt32)
	}
	return w, nil
}

// firstOfPrefixes are the items with a leading content that no item before has.
func firstOfPrefixes(s Set) []int {
	var out []int
	var it Item
	seen := map[uint64]struct{}{}
	for i := range s.Len() {
		s.Item(i, &it)
		lead := shareable(it.Prompt)
		if len(lead) == 0 {
			continue
		}
		chain, known := uint64(0), true
		for _, p := range lead {
			chain = rekey(chain^p.Key, uint64(p.Tokens))
			if _, ok := seen[chain]; !ok {
				known = false
				seen[chain] = struct{}{}
			}
		}
		if !known {
			out = append(out, i)
		}
	}
	return out
}

// Len is the number of all items.
func (w *Warming) Len() int { return w.Set.Len() + w.Warmups() }

// Warmups is the number of items behind those of the set.
func (w *Warming) Warmups() int { return len(w.firsts) + w.others }

// Prefixes is how many of them are leading content alone.
func (w *Warming) Prefixes() int { return len(w.firsts) }

// Reduced is w with so many of the warm-ups that are like items of the set.
func (w *Warming) Reduced(n int) *Warming {
	out := *w
	out.others = n
	return &out
}

// PrefixesUnknown reports whether the set does not say which prompts begin alike.
func (w *Warming) PrefixesUnknown() bool { return prefixesUnknown(w.Set) }

// Item fills dst with item i.
func (w *Warming) Item(i int, dst *Item) {
	k := i - w.Set.Len()
	switch {
	case k < 0:
		w.Set.Item(i, dst)
	case k < len(w.firsts):
		w.Set.Item(w.firsts[k], dst)
		w.unsession(dst)
		dst.Prompt = shareable(dst.Prompt)
		dst.In, dst.Out = 0, 1
		for _, p := range dst.Prompt {
			dst.In += p.Tokens
		}
	default:
		draw := rng.New(w.seed, "warmup", uint64(k-len(w.firsts)))
		w.Set.Item(draw.IntN(w.Set.Len()), dst)
		w.unsession(dst)
		own(dst, draw.Uint64())
	}
}

// unsession takes an item out of its conversation and its time.
func (w *Warming) unsession(it *Item) { it.At, it.Session, it.Turn = 0, 0, 0 }

// own gives an item other private content. One that has none loses the last of its
// shared spans, which may be what tells it from others.
func own(it *Item, salt uint64) {
	it.OutKey = rekey(it.OutKey, salt)
	private := len(shareable(it.Prompt))
	if private == len(it.Prompt) && private > 0 {
		private--
	}
	for k := private; k < len(it.Prompt); k++ {
		it.Prompt[k].Key, it.Prompt[k].Private = rekey(it.Prompt[k].Key, salt), true
	}
}
