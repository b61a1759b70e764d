package datasets

import "time"

// Span is a run of prompt content. Content is named, not held: equal keys mean
// equal text, token by token, on every machine and in every run.
type Span struct {
	// Key names the content. Two spans with the same Key agree on their common
	// leading tokens, whatever their lengths.
	Key uint64
	// Tokens is the length, at least 1.
	Tokens int
	// Private says that no other item of the set uses this Key, so that no cache
	// can help with it.
	Private bool
	// Role is who speaks.
	Role Role
	// Calls is the number of tools whose results begin with this span, of Role Tool: the
	// results from it to the next such span are divided among them. 0: it goes on with the
	// result before it.
	Calls uint8
}

// Item is the plan of one request.
type Item struct {
	// Prompt is the content in order. The slice is reused by the next call of
	// Set.Item on the same Item.
	Prompt []Span
	// In and Out are the tokens of the prompt and of the answer asked for.
	In, Out int
	// OutKey names the answer's content, so that a later turn can quote it.
	OutKey uint64
	// Quoted: later items begin with this prompt and the answer as the server made
	// it, so that a cache which keeps answers helps them.
	Quoted bool
	// Prefix names the group of items that share the leading span; 0 is none.
	Prefix uint64
	// At is the recorded arrival, counted from the first row. It means something
	// only for a Set that is Timed.
	At time.Duration
	// Session groups the items of one conversation; 0 is none. Turn counts from 0.
	Session uint64
	Turn    uint16
}

// Set is a finite sequence of planned requests. Implementations are immutable
// after construction and safe for concurrent use.
type Set interface {
	// Len is the number of items.
	Len() int
	// Item fills dst with item i, 0 <= i < Len, overwriting all of it. The
	// result depends on nothing but the set and i.
	Item(i int, dst *Item)
	// Timed reports whether the items carry recorded arrival times, which then
	// do not decrease with i.
	Timed() bool
	// String names the set and its parameters.
	String() string
}
