package prompt

import (
	"io"

	"goodput/datasets"
)

// Chat is a prompt as the messages of a chat: a JSON array with a message for each run
// of spans of one role, in order.
//
// An answer that tools follow on calls them: of its n tokens and m calls each call has n/m,
// of which the first is the name of the function and the others are its one argument,
// and what is left over comes before as content. The results after it are divided among
// as many messages. Results that follow on no answer, as after an edit of the history,
// are said by the user.
//
// It keeps the spans given to NewChat, which must not change while the Chat or one of
// its readers is in use. It is safe for concurrent use.
type Chat struct {
	spans  []datasets.Span
	quotes []datasets.Quote
	size   int64
}

// NewChat returns the messages of the spans. It generates no text yet. quotes are
// answers among the spans, in their order, that have been given: each is a message of
// its own, with the text and the calls that it had.
func NewChat(spans []datasets.Span, quotes ...datasets.Quote) Chat {
	c := Chat{spans: spans, quotes: quotes}
	s := script{spans: spans, quotes: quotes}
	for s.more() {
		for _, p := range s.pieces {
			c.size += p.size()
		}
	}
	return c
}

// Len is the length of the JSON in bytes.
func (c Chat) Len() int64 { return c.size }

// Reader returns a reader of the whole JSON. Every call starts anew. The text is
// generated into the caller's buffer, so a prompt of any length costs no memory.
func (c Chat) Reader() io.Reader {
	return &chatReader{script: script{spans: c.spans, quotes: c.quotes}}
}

// chatReader is a position in the JSON. It belongs to one goroutine.
type chatReader struct {
	script script
	left   []piece // of the script's pieces
	off    int64   // bytes of left[0] that were read
}

var _ io.Reader = (*chatReader)(nil)

// Read fills p as far as the messages go.
func (r *chatReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(r.left) == 0 {
			if !r.script.more() {
				break
			}
			r.left = r.script.pieces
			continue
		}
		at := &r.left[0]
		k := at.read(p[n:], r.off)
		n += k
		if r.off += int64(k); r.off == at.size() {
			r.left, r.off = r.left[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
