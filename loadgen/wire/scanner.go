package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultLimit is the longest line, and the longest payload, that a Scanner
// takes unless told otherwise.
const DefaultLimit = 1 << 20

// ErrTooLong is the error of a line or payload beyond the Scanner's limit.
var ErrTooLong = errors.New("event stream line or payload is too long")

var bom = []byte("\xef\xbb\xbf")

// initialBuffer holds several usual chunks; longer lines make the buffer grow.
const initialBuffer = 4 << 10

// Scanner cuts a server-sent event stream (WHATWG HTML, section 9.2) into the
// payloads of its data fields. Reading and cutting are separate calls, so that
// the caller can stamp each read before anything is looked at:
//
//	n, err := s.Fill()   // one Read
//	at := now()
//	for s.Next() {       // the events which that read completed
//		use(s.Data(), s.Coalesced())
//	}
//
// An event is complete at its blank line; a carriage return ends a line at once,
// without waiting to see whether a line feed follows. The fields event, id and
// retry, unknown fields and comments are skipped. A Scanner is for one goroutine.
type Scanner struct {
	r     io.Reader
	limit int

	buf  []byte // buf[pos:end] is not yet consumed
	pos  int    // start of the current line
	seen int    // pos <= seen <= end: no line end in buf[pos:seen]
	end  int

	data    []byte // payload so far, in buf or in joined
	joined  []byte
	pending bool // a data field was seen since the last blank line
	copied  bool // data is in joined

	begun  bool // the place of a byte order mark is behind
	skipLF bool // the line before ended in CR
	events int  // completed since the last Fill
	err    error
}

// NewScanner returns a Scanner with the given limit in bytes; 0 is DefaultLimit.
// Reset must be called before use.
func NewScanner(limit int) *Scanner {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Scanner{limit: limit, buf: make([]byte, min(initialBuffer, limit+1))}
}

// Reset starts a new stream and keeps the buffers, unless they grew a lot.
func (s *Scanner) Reset(r io.Reader) {
	buf, joined := s.buf, s.joined[:0]
	if len(buf) > 16*initialBuffer {
		buf = make([]byte, min(initialBuffer, s.limit+1))
	}
	if cap(joined) > 16*initialBuffer {
		joined = nil
	}
	*s = Scanner{r: r, limit: s.limit, buf: buf, joined: joined}
}

// Fill reads once and returns what Read returned. It must be called only after
// Next has returned false. A line beyond the limit gives ErrTooLong for good.
func (s *Scanner) Fill() (int, error) {
	s.events = 0
	if s.err != nil {
		return 0, s.err
	}
	if s.pending && !s.copied {
		// The buffer is about to move under the payload.
		s.joined = append(s.joined[:0], s.data...)
		s.data, s.copied = s.joined, true
	}
	if s.pos > 0 {
		copy(s.buf, s.buf[s.pos:s.end])
		s.seen -= s.pos
		s.end -= s.pos
		s.pos = 0
	}
	if s.end == len(s.buf) {
		// One byte more than the limit, to hold a longest line and its end.
		grown := make([]byte, min(2*len(s.buf), s.limit+1))
		copy(grown, s.buf[:s.end])
		s.buf = grown
	}
	n, err := s.r.Read(s.buf[s.end:])
	s.end += n
	return n, err
}

// Next moves to the next event that is complete in what was read so far, and
// reports whether there is one. After false, Err says whether that is final.
func (s *Scanner) Next() bool {
	if s.usual() {
		return true
	}
	for s.err == nil {
		line, ok := s.line()
		if !ok {
			return false
		}
		if len(line) > 0 {
			s.field(line)
			continue
		}
		if s.pending {
			s.pending, s.copied = false, false
			s.events++
			return true
		}
	}
	return false
}

// usual takes an event as nearly all servers write it, wholly in the buffer: a data line
// and a blank one, ended by line feeds. false: nothing was taken, and nothing changed.
func (s *Scanner) usual() bool {
	if !s.begun || s.pending || s.skipLF || s.seen > s.pos || s.err != nil {
		return false
	}
	rest := s.buf[s.pos:s.end]
	if len(rest) < len("data:\n\n") || string(rest[:5]) != "data:" {
		return false
	}
	n := bytes.IndexByte(rest, '\n')
	if n < 0 || n+1 == len(rest) || rest[n+1] != '\n' {
		return false
	}
	value := rest[5:n]
	if bytes.IndexByte(value, '\r') >= 0 {
		return false
	}
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	s.data, s.copied = value, false
	s.pos += n + 2
	s.seen = s.pos
	s.events++
	return true
}

// Data is the payload of the current event: its data fields joined by line
// feeds. It is valid until the next call of Next or Fill.
func (s *Scanner) Data() []byte { return s.data }

// Coalesced reports whether the read that completed the current event had
// completed another one before.
func (s *Scanner) Coalesced() bool { return s.events > 1 }

// Err is ErrTooLong (wrapped) after an oversized line or payload, else nil.
func (s *Scanner) Err() error { return s.err }

// Rest is the payload of an event that has begun but not ended, with the text
// of an unfinished data line; ok is false if there is none. By the standard it
// is no event; at the end of a stream it tells that the stream was cut.
func (s *Scanner) Rest() (data []byte, ok bool) {
	if s.pending {
		data, ok = append(data, s.data...), true
	}
	name, value := cutField(s.buf[s.pos:s.end])
	if string(name) == "data" {
		if ok {
			data = append(data, '\n')
		}
		data, ok = append(data, value...), true
	}
	return data, ok
}

// line takes the next whole line, without its end.
func (s *Scanner) line() ([]byte, bool) {
	if !s.begin() {
		return nil, false
	}
	if s.skipLF && s.pos < s.end {
		s.skipLF = false
		if s.buf[s.pos] == '\n' {
			s.pos++
		}
	}
	s.seen = max(s.seen, s.pos)
	rest := s.buf[s.seen:s.end]
	at := bytes.IndexByte(rest, '\n')
	if at >= 0 {
		rest = rest[:at]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		at = cr
		s.skipLF = true
	}
	if at < 0 {
		s.seen = s.end
		if s.end-s.pos > s.limit {
			s.tooLong("line")
		}
		return nil, false
	}
	line := s.buf[s.pos : s.seen+at]
	s.pos = s.seen + at + 1
	s.seen = s.pos
	return line, true
}

// begin passes over a byte order mark; false: too few bytes to tell.
func (s *Scanner) begin() bool {
	if s.begun {
		return true
	}
	got := s.buf[:min(s.end, len(bom))]
	if len(got) < len(bom) && bytes.HasPrefix(bom, got) {
		return false
	}
	s.begun = true
	if bytes.Equal(got, bom) {
		s.pos = len(bom)
	}
	return true
}

func (s *Scanner) field(line []byte) {
	name, value := cutField(line)
	if string(name) != "data" {
		return
	}
	if !s.pending {
		s.pending, s.copied = true, false
		s.data = value
		return
	}
	if len(s.data)+1+len(value) > s.limit {
		s.tooLong("payload")
		return
	}
	if !s.copied {
		s.joined = append(s.joined[:0], s.data...)
		s.copied = true
	}
	s.joined = append(append(s.joined, '\n'), value...)
	s.data = s.joined
}

// cutField splits a line at its first colon and drops one space after it.
func cutField(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

func (s *Scanner) tooLong(what string) {
	s.err = fmt.Errorf("%w: a %s of more than %d bytes; is the answer really an event stream?", ErrTooLong, what, s.limit)
}
