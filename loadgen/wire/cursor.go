package wire

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth bounds the recursion of skip; deeper values go to the full decode.
const maxDepth = 64

// cursor walks JSON text (RFC 8259) without building anything. The first
// mistake sets bad, after which every method reports failure. Accepted text is
// valid JSON: a value that is passed over is checked as well.
type cursor struct {
	b   []byte
	i   int
	bad bool
	// escaped: the string taken last holds an escape.
	escaped bool
	// texts of a chunk were not empty; the last of them is b[from:to].
	texts, from, to int
}

func (cur *cursor) fail() bool {
	cur.bad = true
	return false
}

// peek passes over white space and returns the next byte, 0 at the end.
func (cur *cursor) peek() byte {
	// Most servers send no white space, and so most calls go no further.
	if cur.i < len(cur.b) && cur.b[cur.i] > ' ' {
		return cur.b[cur.i]
	}
	return cur.space()
}

// space is peek where there may be white space.
func (cur *cursor) space() byte {
	for cur.i < len(cur.b) {
		switch ch := cur.b[cur.i]; ch {
		case ' ', '\n', '\t', '\r':
			cur.i++
		default:
			return ch
		}
	}
	return 0
}

// open takes the opening bracket ch.
func (cur *cursor) open(ch byte) bool {
	if cur.bad || cur.peek() != ch {
		return cur.fail()
	}
	cur.i++
	return true
}

// first reports whether the container just opened has an element; if not, its
// closing bracket shut is taken.
func (cur *cursor) first(shut byte) bool {
	if cur.peek() == shut {
		cur.i++
		return false
	}
	return true
}

// more takes what follows an element: a comma (true) or shut (false).
func (cur *cursor) more(shut byte) bool {
	switch ch := cur.peek(); {
	case cur.bad:
		return false
	case ch == ',':
		cur.i++
		return true
	case ch == shut:
		cur.i++
		return false
	}
	return cur.fail()
}

// end reports whether all went well and nothing but white space is left.
func (cur *cursor) end() bool {
	return !cur.bad && cur.peek() == 0 && cur.i == len(cur.b)
}

// key takes an object's key and its colon. A key with an escape could be one of
// those looked for in disguise, so it counts as a mistake here.
func (cur *cursor) key() []byte {
	s, ok := cur.str()
	if !ok || cur.escaped {
		cur.fail()
		return nil
	}
	if cur.peek() != ':' {
		cur.fail()
		return nil
	}
	cur.i++
	return s
}

// simple takes a string of plain ASCII without escapes.
func (cur *cursor) simple() ([]byte, bool) {
	s, ok := cur.str()
	if !ok {
		return nil, false
	}
	if cur.escaped || !ascii(s) {
		return nil, cur.fail()
	}
	return s, true
}

// ascii reports whether no byte has its highest bit set.
func ascii(s []byte) bool {
	for ; len(s) >= 8; s = s[8:] {
		if binary.LittleEndian.Uint64(s)&highs != 0 {
			return false
		}
	}
	for _, ch := range s {
		if ch >= 0x80 {
			return false
		}
	}
	return true
}

// str takes a string and returns what is between the quotes, escapes and all.
func (cur *cursor) str() ([]byte, bool) {
	if cur.bad || cur.peek() != '"' {
		return nil, cur.fail()
	}
	start := cur.i + 1
	i := plain(cur.b, start)
	if i >= len(cur.b) || cur.b[i] != '"' {
		return cur.unusual(start, i)
	}
	cur.escaped = false
	cur.i = i + 1
	return cur.b[start:i], true
}

// unusual is the rest of str where something else than a quote follows the plain part,
// which is that from start to i.
func (cur *cursor) unusual(start, i int) ([]byte, bool) {
	cur.escaped = true
	for cur.i = i; ; cur.i = plain(cur.b, cur.i) {
		if cur.i >= len(cur.b) || cur.b[cur.i] < 0x20 {
			return nil, cur.fail()
		}
		if cur.b[cur.i] == '"' {
			cur.i++
			return cur.b[start : cur.i-1], true
		}
		if !cur.escape() {
			return nil, false
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// plain finds the next quote, backslash or control character from i on, or the end,
// eight bytes at a time. In (v - ones) &^ v & highs the lowest set bit marks the
// first zero byte of v; bits above it may be wrong, so only the lowest is used.
func plain(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q := w ^ ('"' * ones)
		e := w ^ ('\\' * ones)
		hit := ((w-0x20*ones)&^w | (q-ones)&^q | (e-ones)&^e) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] >= 0x20 && b[i] != '"' && b[i] != '\\' {
		i++
	}
	return i
}

// escape takes a backslash and what it escapes.
func (cur *cursor) escape() bool {
	rest := cur.b[cur.i:]
	if len(rest) < 2 {
		return cur.fail()
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		cur.i += 2
		return true
	case 'u':
		if len(rest) < 6 {
			return cur.fail()
		}
		for _, ch := range rest[2:6] {
			if !isHex(ch) {
				return cur.fail()
			}
		}
		cur.i += 6
		return true
	}
	return cur.fail()
}

func isHex(ch byte) bool {
	return ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'f' || ch >= 'A' && ch <= 'F'
}

func isDigit(ch byte) bool { return ch >= '0' && ch <= '9' }

// null takes a null if one is next.
func (cur *cursor) null() bool {
	return cur.peek() == 'n' && cur.literal("null")
}

func (cur *cursor) literal(s string) bool {
	if cur.bad || len(cur.b)-cur.i < len(s) || string(cur.b[cur.i:cur.i+len(s)]) != s {
		return cur.fail()
	}
	cur.i += len(s)
	return true
}

// count takes null or a number that is plainly a count, of at most 15 digits.
func (cur *cursor) count(dst *int) bool {
	if cur.null() {
		return true
	}
	start, n := cur.i, 0
	for cur.i < len(cur.b) && isDigit(cur.b[cur.i]) && cur.i-start < 16 {
		n = n*10 + int(cur.b[cur.i]-'0')
		cur.i++
	}
	digits := cur.i - start
	if digits == 0 || digits > 15 || digits > 1 && cur.b[start] == '0' {
		return cur.fail()
	}
	// A fraction or an exponent is refused by whoever expects a comma next.
	*dst = n
	return true
}

// skip passes over any value.
func (cur *cursor) skip(depth int) bool {
	if cur.bad || depth > maxDepth {
		return cur.fail()
	}
	switch ch := cur.peek(); ch {
	case '"':
		_, ok := cur.str()
		return ok
	case '{':
		cur.i++
		for more := cur.first('}'); more; more = cur.more('}') {
			if _, ok := cur.str(); !ok || cur.peek() != ':' {
				return cur.fail()
			}
			cur.i++
			if !cur.skip(depth + 1) {
				return false
			}
		}
		return !cur.bad
	case '[':
		cur.i++
		for more := cur.first(']'); more; more = cur.more(']') {
			if !cur.skip(depth + 1) {
				return false
			}
		}
		return !cur.bad
	case 't':
		return cur.literal("true")
	case 'f':
		return cur.literal("false")
	case 'n':
		return cur.literal("null")
	}
	return cur.number()
}

// number passes over -?int frac? exp?.
func (cur *cursor) number() bool {
	if cur.i < len(cur.b) && cur.b[cur.i] == '-' {
		cur.i++
	}
	if cur.i < len(cur.b) && cur.b[cur.i] == '0' {
		cur.i++
	} else if !cur.digits() {
		return false
	}
	if cur.i < len(cur.b) && cur.b[cur.i] == '.' {
		cur.i++
		if !cur.digits() {
			return false
		}
	}
	if cur.i < len(cur.b) && (cur.b[cur.i] == 'e' || cur.b[cur.i] == 'E') {
		cur.i++
		if cur.i < len(cur.b) && (cur.b[cur.i] == '+' || cur.b[cur.i] == '-') {
			cur.i++
		}
		return cur.digits()
	}
	return true
}

// digits takes at least one digit.
func (cur *cursor) digits() bool {
	start := cur.i
	for cur.i < len(cur.b) && isDigit(cur.b[cur.i]) {
		cur.i++
	}
	if cur.i == start {
		return cur.fail()
	}
	return true
}
