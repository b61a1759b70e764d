package datasets

import "github.com/cespare/xxhash/v2"

// Chain appends to dst the chained hash of every full block of the prompt, of
// block tokens each: hash i names everything up to and including block i, so
// equal hashes mean equal prefixes, as in a paged prefix cache. A block may
// straddle spans; a trailing partial block has no hash.
//
// Block content is hashed as pieces (key, offset, length) of spans. Two prompts
// that cut the same content into spans differently get different hashes.
func Chain(dst []uint64, prompt []Span, block int) []uint64 {
	return ChainWithin(dst, 0, prompt, block)
}

// ChainWithin is Chain within a scope: hashes are equal only if the scopes are
// too. Scope 0 is that of Chain.
func ChainWithin(dst []uint64, scope uint64, prompt []Span, block int) []uint64 {
	h := 0x9e3779b97f4a7c15 ^ scope
	room := block
	for _, s := range prompt {
		for off := 0; off < s.Tokens; {
			n := min(room, s.Tokens-off)
			h = mix(h ^ mix(s.Key+uint64(off)*0x9e3779b97f4a7c15) ^ uint64(n))
			off += n
			if room -= n; room == 0 {
				dst = append(dst, h)
				room = block
			}
		}
	}
	return dst
}

// Scope names the prefixes that prompts of one adapter and one cache salt have in
// common: what is computed with another adapter is different, and what has another
// salt must not be found (vLLM v1, extra keys of the block hash). It is 0 only for
// the base model without a salt, but for a chance of one in 2^64.
func Scope(adapter, salt string) uint64 {
	if adapter == "" && salt == "" {
		return 0
	}
	// The adapter's hash is mixed before the salt's comes in, so that the two can't
	// be exchanged or cancel each other.
	return mix(mix(xxhash.Sum64String(adapter)+1) ^ xxhash.Sum64String(salt))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a
// bijection of uint64 in which every input bit moves every output bit.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
