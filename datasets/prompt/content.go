package prompt

import "encoding/binary"

// lanes is the number of tokens drawn from one 64-bit number: token i uses the
// low 9 bits of lane i%lanes, 16 bits wide, of number i/lanes.
const lanes = 4

// content is the endless text of one key. Any token of it is found without the
// others, so that spans of one key agree whatever their lengths.
type content uint64

// golden is 2^64 divided by the golden ratio, the step of SplitMix64.
const golden = 0x9e3779b97f4a7c15

func newContent(key uint64) content { return content(mix(key + golden)) }

// numbers returns the random number from which the tokens of the group are drawn.
func (c content) numbers(group int64) uint64 {
	return mix(uint64(c) + uint64(group)*golden)
}

// token returns token i: a space and a word.
func (c content) token(i int64) string {
	w := c.numbers(i/lanes) >> (16 * (i % lanes)) & (vocabularySize - 1)
	return vocabulary[w*tokenBytes : w*tokenBytes+tokenBytes]
}

// fill writes the bytes from off on of c's text into p.
func fill(p []byte, c content, off int64) {
	i := off / tokenBytes
	if cut := off % tokenBytes; cut > 0 {
		n := copy(p, c.token(i)[cut:])
		p = p[n:]
		i++
	}
	for ; len(p) > 0 && i%lanes != 0; i++ {
		p = p[copy(p, c.token(i)):]
	}
	// Whole groups. A token is stored as eight bytes, of which the next token, or
	// what follows the group, overwrites three: hence the slack.
	const group, slack = lanes * tokenBytes, 8 - tokenBytes
	for ; len(p) >= group+slack; i += lanes {
		x := c.numbers(i / lanes)
		binary.LittleEndian.PutUint64(p, word(x))
		binary.LittleEndian.PutUint64(p[tokenBytes:], word(x>>16))
		binary.LittleEndian.PutUint64(p[2*tokenBytes:], word(x>>32))
		binary.LittleEndian.PutUint64(p[3*tokenBytes:], word(x>>48))
		p = p[group:]
	}
	for ; len(p) > 0; i++ {
		p = p[copy(p, c.token(i)):]
	}
}

// word returns the token named by the low 9 bits of x, first byte lowest. The
// upper three bytes belong to another word.
func word(x uint64) uint64 {
	s := vocabulary[x&(vocabularySize-1)*tokenBytes:]
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
