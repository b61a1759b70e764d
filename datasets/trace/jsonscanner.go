package trace

import (
	"bytes"
	"encoding/json"
	"math"
)

// jsonScanner reads the pieces of JSON of which trace rows are made (objects,
// arrays, plain keys, whole numbers) from one line, without allocation. A piece
// that is not there is left unread. What it accepts is JSON; it does not accept
// all of JSON.
type jsonScanner struct {
	rest []byte // what is left to read
}

// skip drops white space.
func (s *jsonScanner) skip() {
	for len(s.rest) > 0 && isSpace(s.rest[0]) {
		s.rest = s.rest[1:]
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// end reports whether nothing but white space is left.
func (s *jsonScanner) end() bool {
	s.skip()
	return len(s.rest) == 0
}

// accept reads the delimiter c, if it comes next.
func (s *jsonScanner) accept(c byte) bool {
	s.skip()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// key reads a key of an object, of printable ASCII without escapes, and the colon
// after it.
func (s *jsonScanner) key() (key []byte, ok bool) {
	s.skip()
	if len(s.rest) == 0 || s.rest[0] != '"' {
		return nil, false
	}
	for i, c := range s.rest[1:] {
		if c == '"' {
			after := jsonScanner{rest: s.rest[i+2:]}
			if !after.accept(':') {
				return nil, false
			}
			key = s.rest[1 : i+1]
			*s = after
			return key, true
		}
		if c < ' ' || c > '~' || c == '\\' {
			return nil, false
		}
	}
	return nil, false
}

// int reads a number without fraction and exponent that fits 64 bits.
func (s *jsonScanner) int() (v int64, ok bool) {
	s.skip()
	b := s.rest
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n := 0
	for n < len(b) && isDigit(b[n]) {
		d := int64(b[n] - '0')
		if v > (math.MaxInt64-d)/10 {
			return 0, false
		}
		v = 10*v + d
		n++
	}
	if n == 0 || (n > 1 && b[0] == '0') {
		return 0, false
	}
	if n < len(b) && !isSpace(b[n]) && b[n] != ',' && b[n] != ']' && b[n] != '}' {
		return 0, false // a fraction, an exponent or no number
	}
	s.rest = b[n:]
	if negative {
		v = -v
	}
	return v, true
}

// number reads a JSON number and returns its text.
func (s *jsonScanner) number() (raw []byte, ok bool) {
	s.skip()
	n := 0
	for n < len(s.rest) && (isDigit(s.rest[n]) || bytes.IndexByte([]byte("+-.eE"), s.rest[n]) >= 0) {
		n++
	}
	raw = s.rest[:n]
	if n == 0 || !json.Valid(raw) {
		return nil, false
	}
	s.rest = s.rest[n:]
	return raw, true
}

// found shows what comes next, for a message.
func (s *jsonScanner) found() string {
	s.skip()
	if len(s.rest) == 0 {
		return "the end of the line"
	}
	n := bytes.IndexAny(s.rest[1:], " \t\r\n,:[]{}")
	if n < 0 {
		n = len(s.rest) - 1
	}
	return quote(s.rest[:n+1])
}
