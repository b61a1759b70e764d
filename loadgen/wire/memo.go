package wire

import "bytes"

// memo is the last payload that the probe has read. The chunks of a stream differ in little
// but their text: one that equals the last one before its text and behind it, and has a
// plain text between, says the same. What is compared and not read again is most of the
// bytes of a stream.
type memo struct {
	payload  []byte // a copy; empty: none
	from, to int    // its text is payload[from:to], and followed by a quote
	said     Chunk
	misses   int // in a row
}

// mostMisses is how many payloads in a row may equal nothing before no more are kept: those
// of some servers differ in a counter each.
const mostMisses = 8

// longestMemo bounds what a stream holds in memory for this.
const longestMemo = 4 << 10

// holds reports whether the payload says what the last one did.
func (m *memo) holds(payload []byte) bool {
	behind := len(payload) - (len(m.payload) - m.to) // where its text ends, if it is alike
	if len(m.payload) == 0 || behind <= m.from {
		return false
	}
	if !bytes.Equal(payload[:m.from], m.payload[:m.from]) || !bytes.Equal(payload[behind:], m.payload[m.to:]) {
		return false
	}
	if plain(payload, m.from) != behind {
		return false
	}
	m.misses = 0
	return true
}

// keep notes a payload that was read, if one text is all that the next one may differ in.
func (m *memo) keep(cur *cursor, c *Chunk) {
	if cur.texts != 1 || m.misses > mostMisses || len(cur.b) > longestMemo {
		return
	}
	if m.misses++; m.misses > mostMisses {
		m.payload = m.payload[:0]
		return
	}
	m.payload = append(m.payload[:0], cur.b...)
	m.from, m.to, m.said = cur.from, cur.to, *c
}
