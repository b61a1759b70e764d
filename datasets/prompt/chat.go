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
	spans []datasets.Span
	size  int64
}

// NewChat returns the messages of the spans. It generates no text yet.
func NewChat(spans []datasets.Span) Chat {
	c := Chat{spans: spans}
	s := script{spans: spans}
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
func (c Chat) Reader() io.Reader { return &chatReader{script: script{spans: c.spans}} }

// piece is a part of the JSON: a frame as it stands, or tokens from token from of a key's text.
type piece struct {
	frame        string
	key          uint64
	from, tokens int
}

func (p *piece) size() int64 { return int64(len(p.frame)) + int64(p.tokens)*tokenBytes }

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
		part := p[n:min(int64(len(p)), int64(n)+at.size()-r.off)]
		if at.tokens > 0 {
			fill(part, newContent(at.key), int64(at.from)*tokenBytes+r.off)
		} else {
			copy(part, at.frame[r.off:])
		}
		n += len(part)
		if r.off += int64(len(part)); r.off == at.size() {
			r.left, r.off = r.left[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}
