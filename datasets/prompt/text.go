package prompt

import (
	"io"

	"goodput/datasets"
)

// tokenBytes is the length of a token: a space and four letters.
const tokenBytes = 5

// Text is the text of a prompt. It keeps the spans given to New, which must not
// change while the Text or one of its readers is in use. It is safe for
// concurrent use.
type Text struct {
	spans  []datasets.Span
	quotes []datasets.Quote
	size   int64
}

// New returns the text of the spans. It generates nothing yet. quotes are answers among
// the spans, in their order, that have been given: their text stands in place of the
// planned one, escaped as it was.
func New(spans []datasets.Span, quotes ...datasets.Quote) Text {
	t := Text{spans: spans, quotes: quotes}
	for _, s := range spans {
		if q := said(&quotes, s); q != nil {
			t.size += int64(len(q.Text))
			continue
		}
		t.size += int64(s.Tokens) * tokenBytes
	}
	return t
}

// said is the quote that the span is of, which is taken off with those before it; nil:
// there is none.
func said(quotes *[]datasets.Quote, s datasets.Span) *datasets.Quote {
	i := datasets.Quoted(*quotes, s)
	if i < 0 {
		return nil
	}
	q := &(*quotes)[i]
	*quotes = (*quotes)[i+1:]
	return q
}

// Len is the length of the text in bytes.
func (t Text) Len() int64 { return t.size }

// Reader returns a reader of the whole text. Every call starts anew. The text is
// generated into the caller's buffer, so a prompt of any length costs no memory.
func (t Text) Reader() io.Reader { return &reader{spans: t.spans, quotes: t.quotes} }

// reader is a position in a text. It belongs to one goroutine.
type reader struct {
	spans  []datasets.Span // what is left, from the one after the current piece on
	quotes []datasets.Quote
	at     piece
	off    int64 // bytes of the piece that were read
}

var _ io.Reader = (*reader)(nil)

// Read fills p as far as the text goes.
func (r *reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if r.off == r.at.size() {
			if len(r.spans) == 0 {
				break
			}
			r.at, r.off = plain(r.spans[0]), 0
			if q := said(&r.quotes, r.spans[0]); q != nil {
				r.at = piece{raw: q.Text}
			}
			r.spans = r.spans[1:]
			continue
		}
		k := r.at.read(p[n:], r.off)
		n += k
		r.off += int64(k)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
