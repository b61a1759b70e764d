package prompt

import "goodput/datasets"

// piece is a part of a prompt: a frame as it stands, bytes that a server sent, or tokens
// from token from of a key's text.
type piece struct {
	frame        string
	raw          []byte
	key          uint64
	from, tokens int
}

// plain is the planned text of a span.
func plain(s datasets.Span) piece { return piece{key: s.Key, tokens: s.Tokens} }

func (p *piece) size() int64 {
	return int64(len(p.frame)+len(p.raw)) + int64(p.tokens)*tokenBytes
}

// read fills dst with the piece's bytes from off on, and reports how many it has.
func (p *piece) read(dst []byte, off int64) int {
	if p.tokens > 0 {
		dst = dst[:min(int64(len(dst)), p.size()-off)]
		fill(dst, newContent(p.key), int64(p.from)*tokenBytes+off)
		return len(dst)
	}
	if len(p.raw) > 0 {
		return copy(dst, p.raw[off:])
	}
	return copy(dst, p.frame[off:])
}
