package datasets

// Chain appends to dst the chained hash of every full block of the prompt, of
// block tokens each: hash i names everything up to and including block i, so
// equal hashes mean equal prefixes, as in a paged prefix cache. A block may
// straddle spans; a trailing partial block has no hash.
//
// Block content is hashed as pieces (key, offset, length) of spans. Two prompts
// that cut the same content into spans differently get different hashes.
func Chain(dst []uint64, prompt []Span, block int) []uint64 {
	h := uint64(0x9e3779b97f4a7c15)
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

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a
// bijection of uint64 in which every input bit moves every output bit.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
