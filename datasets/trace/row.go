package trace

import (
	"time"

	"goodput/datasets"
)

// Row is one recorded request.
type Row struct {
	// Line is where the row begins in its file, from 1.
	Line int
	// At is ns on the file's own scale: when the request was sent; in a file whose
	// step times are not Recorded, when its session arrived.
	At int64
	// In and Out are the tokens of the whole prompt and of the answer.
	In, Out int
	// Keep is how many leading prompt tokens the row keeps of the thread's previous
	// prompt and answer (datasets.Step). In a session's first row they are from
	// before the trace.
	Keep int
	// Append is the prompt's content after Keep. nil: the file does not identify it.
	Append []datasets.Span

	// Session names the session within the file; "" is none, and then the fields
	// below mean nothing.
	Session string
	// Thread, Parent, Spawn and Join place the row in its session
	// (datasets.Thread). Parent, Spawn and Join are -1 for the main thread, 0. All
	// rows of a thread agree.
	Thread, Parent, Spawn, Join int
	// Before and After are the planned waits around the row: from the end of what
	// it waits for, and from its own end to its successor.
	Before, After time.Duration
	Trigger       datasets.Trigger
	Tenant        uint32

	// The fields below, and all of a Span in Append but its key and length, mean
	// something only in a file whose rows are Planned.

	// OutKey names the answer's content. Reasoning are its first tokens that are a
	// model's reasoning.
	OutKey    uint64
	Reasoning int
	// Name is what the source of the plan calls the session, which may be empty.
	Name string
	// Prefix, Conversation and Turn are the Prefix, Session and Turn of an item
	// (datasets.Item) that waits for no other: they are 0 in a row with a Session.
	Prefix, Conversation uint64
	Turn                 uint16
}

// alone makes the row one without a session.
func (r *Row) alone() {
	*r = Row{Append: r.Append[:0], Parent: -1, Spawn: -1, Join: -1}
}

// Traits are what holds for all rows of a file.
type Traits struct {
	// Timed: rows have times. Recorded: in sessions, those of each step, not only
	// the session's arrival.
	Timed, Recorded bool
	// Waits: in sessions, the planned waits between steps are known.
	Waits bool
	// Ordered: a time before the previous row's is an error. Otherwise rows are
	// sorted when a set is made of them.
	Ordered bool
	// Identified: equal prompt content can be recognised across rows.
	Identified bool
	// Chained: a span's key stands for all content up to its end, so that a key seen
	// before means that everything before it was seen too.
	Chained bool
	// Estimated: lengths were computed from text, at 4 bytes a token.
	Estimated bool
	// Planned: rows are requests as a set plans them. They name their answers, and
	// nothing of them is derived from the other rows.
	Planned bool
	// Block is the tokens that one id of the file stands for; 0: it has none.
	Block int
}

// source reads the rows of one format.
type source interface {
	// next fills r with the next row, or returns io.EOF. A *rowError leaves the
	// source fit for the next call; any other error ends it.
	next(r *Row) error
	// traits are known after the first row was read.
	traits() Traits
}

// rowError is about one row: the rows after it can still be read.
type rowError struct{ text string }

func (e *rowError) Error() string { return e.text }

// dropper is the optional ability of a source whose format has rows that are no
// requests, such as failures. They are left out, and counted here.
type dropper interface {
	dropped() (n int, why string)
}
