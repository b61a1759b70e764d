package trace

import (
	"time"

	"goodput/datasets"
)

// Shaping changes how a trace is replayed, in the order of the fields. Where the
// trace is replayed as Sessions, read session for row: the waits between the steps of
// a session stay as they are.
type Shaping struct {
	// Slice picks rows: "A:B" with two durations since the first row, or with two
	// row numbers from 0; A is included, B is not, and either may be left out. "":
	// all rows.
	Slice string
	// Jitter delays each row by a time drawn uniformly below it, to spread rows
	// whose times were rounded down; 0: none.
	Jitter time.Duration
	// Speed divides all times; 0 and 1 leave them.
	Speed float64
	// Len is the number of items, for which the rows are repeated as often as needed,
	// one mean gap after the last; 0: each row once. A repeated row has content of
	// its own, shared within its repetition as the rows share theirs.
	Len  int
	Seed uint64
}

// Shaped is a trace, shaped, whose rows are sent at their own times.
type Shaped struct {
	timeline
	base *Table
}

var _ datasets.Set = (*Shaped)(nil)

// Shape applies o to the rows of t. It fails for a slice without rows, and for what
// needs times where there are none.
func Shape(t *Table, o Shaping) (*Shaped, error) {
	s := &Shaped{newTimeline(t.String(), "rows", t.Len(), t.at), t}
	return s, s.shape(o)
}

// Trace is what is shaped.
func (s *Shaped) Trace() *Table { return s.base }

// PrefixesUnknown is that of the trace.
func (s *Shaped) PrefixesUnknown() bool { return s.base.PrefixesUnknown() }

// Item fills dst with item i.
func (s *Shaped) Item(i int, dst *datasets.Item) {
	loop, j := s.place(i)
	s.base.Item(j, dst)
	if s.timed {
		dst.At = s.At(i)
	}
	if loop == 0 {
		return
	}
	shift := shiftOf(loop)
	for k := range dst.Prompt {
		dst.Prompt[k].Key += shift
	}
	dst.OutKey += shift
	if dst.Prefix != 0 {
		dst.Prefix = (dst.Prefix + shift) | 1
	}
	if dst.Session != 0 {
		dst.Session += uint64(loop) * s.base.conversations()
	}
}
