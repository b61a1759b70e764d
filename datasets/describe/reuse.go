package describe

import (
	"math"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// maxBlocks bounds the distinct blocks and the sessions that are remembered.
const maxBlocks = 1 << 20

// reuse is an endless cache that remembers a sample of the prefixes. A prefix is in
// the sample if its hash is below a limit, which halves whenever the memory is full;
// what is found there counts for all that were left out. Prefixes that are found
// often until the memory is full for the first time are followed beside the sample,
// each for itself: one that all prompts begin with would make or break an estimate.
type reuse struct {
	seen      map[uint64]uint32   // how often a prefix was found
	hot       map[uint64]struct{} // nil before the memory was full
	limit     uint64
	hit       float64 // tokens
	full      float64 // tokens in full blocks
	blockHits float64
	blocks    int64
	kept      int64 // tokens that sessions keep
	chain     []uint64
	most      int
}

func newReuse(most int) *reuse {
	return &reuse{seen: map[uint64]uint32{}, limit: math.MaxUint64, most: most}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// add takes a row's prompt.
func (u *reuse) add(r *trace.Row, t *trace.Traits) {
	u.kept += int64(r.Keep)
	if r.Keep > 0 {
		return
	}
	u.chain = u.chain[:0]
	h := uint64(0)
	for _, s := range r.Append {
		if t.Chained {
			h = mix(s.Key)
		} else {
			h = mix(h ^ mix(s.Key) + uint64(s.Tokens))
		}
		u.chain = append(u.chain, h)
	}
	u.look(r.Append, t.Block)
	for _, h := range u.chain {
		if _, hot := u.hot[h]; !hot && h <= u.limit {
			u.seen[h]++
		}
	}
	for len(u.seen) > u.most {
		u.shrink()
	}
}

// shrink halves the limit.
func (u *reuse) shrink() {
	if u.hot == nil {
		u.hot = map[uint64]struct{}{}
		for often := uint32(64); ; often *= 2 {
			n := 0
			for _, found := range u.seen {
				if found >= often {
					n++
				}
			}
			if n > u.most/4 {
				continue
			}
			for h, found := range u.seen {
				if found >= often {
					u.hot[h] = struct{}{}
					delete(u.seen, h)
				}
			}
			break
		}
	}
	u.limit /= 2
	for h := range u.seen {
		if h > u.limit {
			delete(u.seen, h)
		}
	}
}

// look counts what is in the cache.
func (u *reuse) look(spans []datasets.Span, block int) {
	sample := float64(math.MaxUint64) / float64(u.limit)
	for i, h := range u.chain {
		u.blocks++
		weight := sample
		if _, hot := u.hot[h]; hot {
			weight = 1
		} else if _, ok := u.seen[h]; !ok || h > u.limit {
			continue
		}
		u.blockHits += weight
		u.hit += weight * float64(spans[i].Tokens)
		if spans[i].Tokens == block {
			u.full += weight * float64(spans[i].Tokens)
		}
	}
}

// distinct is the number of different blocks, and whether it is exact.
func (u *reuse) distinct() (n float64, exact bool) {
	return float64(len(u.seen))*(float64(math.MaxUint64)/float64(u.limit)) + float64(len(u.hot)), u.limit == math.MaxUint64
}
