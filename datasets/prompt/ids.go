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
	spans  []datasets.Span
	quotes []datasets.Quote
	size   int64
}

// NewIDs returns the numbers of the spans. It generates nothing yet. quotes are answers
// among the spans, in their order, that have been given: their numbers stand in place of
// the planned ones.
func NewIDs(spans []datasets.Span, quotes ...datasets.Quote) IDs {
	p := IDs{spans, quotes, 1}
	for _, s := range spans {
		if q := said(&quotes, s); q != nil {
			if len(q.Text) > 0 {
				p.size += int64(len(q.Text)) + 1
			}
			continue
		}
		p.size += int64(s.Tokens) * idSize
	}
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
func (p IDs) Reader() io.Reader { return &idReader{spans: p.spans, quotes: p.quotes} }

// idReader is a position in the JSON. It belongs to one goroutine.
type idReader struct {
	spans  []datasets.Span
	quotes []datasets.Quote
	next   int // token of spans[0]
	begun  bool
	ended  bool
	room   [idSize]byte
	left   []byte // of room, or of a quote
	quote  []byte // what follows on left
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
	if len(r.quote) > 0 {
		r.left, r.quote = r.quote, nil
		return true
	}
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
	if r.next == 0 {
		if q := said(&r.quotes, r.spans[0]); q != nil {
			r.spans = r.spans[1:]
			if len(q.Text) == 0 {
				return r.more()
			}
			r.quote = q.Text
			r.left = append(r.room[:0], r.mark())
			return true
		}
	}
	r.room[0] = r.mark()
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

// mark is what comes before a number.
func (r *idReader) mark() byte {
	if !r.begun {
		r.begun = true
		return '['
	}
	return ','
}
