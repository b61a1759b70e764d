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
	spans []datasets.Span
	size  int64
}

// New returns the text of the spans. It generates nothing yet.
func New(spans []datasets.Span) Text {
	t := Text{spans: spans}
	for _, s := range spans {
		t.size += int64(s.Tokens) * tokenBytes
	}
	return t
}

// Len is the length of the text in bytes.
func (t Text) Len() int64 { return t.size }

// Reader returns a reader of the whole text. Every call starts anew. The text is
// generated into the caller's buffer, so a prompt of any length costs no memory.
func (t Text) Reader() io.Reader { return &reader{spans: t.spans} }

// reader is a position in a text. It belongs to one goroutine.
type reader struct {
	spans []datasets.Span // what is left, from the current span on
	off   int64           // bytes of spans[0] that were read
}

var _ io.Reader = (*reader)(nil)

// Read fills p as far as the text goes.
func (r *reader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.spans) > 0 {
		s := r.spans[0]
		left := int64(s.Tokens)*tokenBytes - r.off
		part := p[n:min(int64(len(p)), int64(n)+left)]
		fill(part, newContent(s.Key), r.off)
		n += len(part)
		r.off += int64(len(part))
		if int64(len(part)) == left {
			r.spans, r.off = r.spans[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
