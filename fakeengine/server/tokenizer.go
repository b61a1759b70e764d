package server

import (
	"encoding/binary"
	"math/bits"
)

// tokenBytes is the size of a token: a longer piece of text is several.
const tokenBytes = 8

// tokenizer stands in for a model's tokenizer. Text is cut at white space; a
// piece of up to tokenBytes bytes is one token, a longer one is cut into as many
// as it takes. White space itself is no token. So a text of n short words is n
// tokens, for every reader that knows this rule.
//
// A token's number is a hash of 31 bits, so a text and its numbers are the same
// prompt. Different tokens share a number with a chance of one in two billion.
//
// It keeps no tokens unless asked to, only their number and the names of full
// blocks: name i is a hash of all tokens up to the end of block i, so that equal
// names mean equal prefixes.
type tokenizer struct {
	names []uint64 // chained, one for each full block
	n     int      // tokens so far
	block int      // tokens of a block; 0: count only
	limit int      // tokens beyond it are counted but not named
	keep  bool     // fill in kept
	kept  []uint32 // the tokens' numbers

	chain  uint64 // hash of all tokens so far
	marker uint64 // goes into the hash of the next token
}

// reset starts a new prompt; the room for names is used again.
func (t *tokenizer) reset(block, limit int) {
	*t = tokenizer{names: t.names[:0], block: block, limit: limit}
}

// text adds s. A piece never goes on from one call to the next.
func (t *tokenizer) text(s string) {
	start := -1 // of the piece; -1: between pieces
	for i := range len(s) {
		switch s[i] {
		case ' ', '\n', '\t', '\r':
			if start >= 0 {
				t.piece(s[start:i])
				start = -1
			}
		default:
			if start < 0 {
				start = i
			}
		}
	}
	if start >= 0 {
		t.piece(s[start:])
	}
}

func (t *tokenizer) piece(s string) {
	if t.block == 0 && !t.keep {
		t.n += (len(s) + tokenBytes - 1) / tokenBytes
		return
	}
	for first := true; len(s) > 0; first = false {
		n := min(len(s), tokenBytes)
		var raw [tokenBytes]byte
		copy(raw[:], s[:n])
		t.add(tokenID(raw, n, first, t.marker))
		t.marker = 0
		s = s[n:]
	}
}

// tokenID is the number of a token of n bytes. The length tells "a" from "a\x00",
// first tells "long words" from one word.
func tokenID(raw [tokenBytes]byte, n int, first bool, marker uint64) uint32 {
	kind := uint64(n) << 1
	if first {
		kind |= 1
	}
	return uint32(((mix(binary.LittleEndian.Uint64(raw[:])) + kind) ^ marker) & (1<<31 - 1))
}

// ids adds tokens that came as numbers.
func (t *tokenizer) ids(ids []uint32) {
	for _, id := range ids {
		t.add(id)
	}
}

// role begins a message of a chat. It is no token, but makes the message's first
// one differ from the same text said by somebody else.
func (t *tokenizer) role(name string) {
	for i := range len(name) {
		t.marker = mix(t.marker + uint64(name[i]) + 1)
	}
}

func (t *tokenizer) add(id uint32) {
	t.n++
	if t.keep {
		t.kept = append(t.kept, id)
	}
	if t.block == 0 || t.n > t.limit {
		return
	}
	t.chain = mix(bits.RotateLeft64(t.chain, 23) ^ uint64(id))
	if t.n%t.block == 0 {
		t.names = append(t.names, t.chain)
	}
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wordLen is the length of an output token's text: a space and four letters.
// Read back by the tokenizer, an answer has as many tokens as were generated.
const wordLen = 5

// putWord writes the text of output token i of the answer named key.
func putWord(dst []byte, key uint64, i int) {
	_ = dst[wordLen-1]
	h := mix(key + uint64(i))
	dst[0] = ' '
	for j := 1; j < wordLen; j++ {
		dst[j] = 'a' + byte(h&15)
		h >>= 4
	}
}

// wordID is the number of an output token.
func wordID(word *[wordLen]byte) uint32 {
	var raw [tokenBytes]byte
	n := copy(raw[:], word[1:]) // white space is no part of a token
	return tokenID(raw, n, true, 0)
}
