package prompt

import (
	"io"

	"goodput/datasets"
)

// The numbers of tokens go from firstID, one for each of idCount, so that all have
// idDigits digits. The vocabularies of the usual models have plain tokens there.
const (
	firstID  = 1000
	idCount  = 1 << 13
	idDigits = 4
	// idSize is a number and the comma or bracket before it.
	idSize = idDigits + 1
)

// IDs is a prompt as token numbers: a JSON array. A server that takes it has exactly the
// planned number of tokens, whatever its vocabulary. Equal keys give equal numbers; they
// are not those of the words that a Text has.
//
// It keeps the spans given to NewIDs, which must not change while the IDs or one of its
// readers is in use. It is safe for concurrent use.
type IDs struct {
	spans []datasets.Span
	size  int64
}

// NewIDs returns the numbers of the spans. It generates nothing yet.
func NewIDs(spans []datasets.Span) IDs {
	p := IDs{spans, int64(tokensOf(spans))*idSize + 1}
	if p.size == 1 {
		p.size = int64(len(noIDs))
	}
	return p
}

// noIDs is the JSON of an empty prompt.
const noIDs = "[]"

// Len is the length of the JSON in bytes.
func (p IDs) Len() int64 { return p.size }

// Reader returns a reader of the whole JSON. Every call starts anew. The numbers are
// made while they are read, so a prompt of any length costs no memory.
func (p IDs) Reader() io.Reader { return &idReader{spans: p.spans} }

// idReader is a position in the JSON. It belongs to one goroutine.
type idReader struct {
	spans []datasets.Span
	next  int // token of spans[0]
	begun bool
	ended bool
	room  [idSize]byte
	left  []byte // of room
}

var _ io.Reader = (*idReader)(nil)

// Read fills p as far as the numbers go.
func (r *idReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(r.left) == 0 && !r.more() {
			break
		}
		k := copy(p[n:], r.left)
		r.left = r.left[k:]
		n += k
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// more makes the next number, or the end; false: there is nothing left.
func (r *idReader) more() bool {
	for len(r.spans) > 0 && r.next == r.spans[0].Tokens {
		r.spans, r.next = r.spans[1:], 0
	}
	switch {
	case r.ended:
		return false
	case len(r.spans) == 0:
		r.ended = true
		if r.begun {
			r.left = append(r.room[:0], ']')
		} else {
			r.left = append(r.room[:0], noIDs...)
		}
		return true
	}
	r.room[0] = ','
	if !r.begun {
		r.room[0], r.begun = '[', true
	}
	i := int64(r.next)
	id := firstID + newContent(r.spans[0].Key).numbers(i/lanes)>>(16*(i%lanes))&(idCount-1)
	for d := idDigits; d > 0; d-- {
		r.room[d] = byte('0' + id%10)
		id /= 10
	}
	r.left = r.room[:]
	r.next++
	return true
}
