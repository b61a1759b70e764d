package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"goodput/datasets"
)

// Sessions is a trace, shaped, as sessions whose steps wait for each other: those that
// the trace names, and each row outside of them as one of a single step. They are in
// order of arrival. What a session asks for, and the waits between its steps, are as
// recorded; only its arrival is shaped.
type Sessions struct {
	timeline
	base *Table
	// entries are indices of sessions, and for single rows the complements of theirs.
	entries []int32
	waits   bool // the trace holds no waits, and the gaps between steps stand for them
}

var _ datasets.SessionSet = (*Sessions)(nil)

// ShapeSessions applies o to the sessions of t. It fails if t has none, for a slice
// that holds none, and for what needs times of arrival where there are none.
func ShapeSessions(t *Table, o Shaping) (*Sessions, error) {
	if t.Sessions() == 0 {
		return nil, errors.New("the trace holds no sessions")
	}
	s := &Sessions{base: t, waits: !t.traits.Waits && t.traits.Timed && t.traits.Recorded}
	var at []time.Duration
	for i := range t.threads.sessions {
		s.entries = append(s.entries, int32(i))
	}
	for i, of := range t.threads.session {
		if of == 0 {
			s.entries = append(s.entries, ^int32(i))
		}
	}
	if t.traits.Timed {
		slices.SortStableFunc(s.entries, func(a, b int32) int { return cmp.Compare(s.arrival(a), s.arrival(b)) })
		first, last := s.arrival(s.entries[0]), s.arrival(s.entries[len(s.entries)-1])
		// Where all begin at once, the trace does not say when they arrived.
		if first < last || len(s.entries) == 1 {
			for _, e := range s.entries {
				at = append(at, s.arrival(e)-first)
			}
		}
	}
	s.timeline = newTimeline(fmt.Sprintf("%v as %d sessions", t, len(s.entries)), "sessions", len(s.entries), at)
	return s, s.shape(o)
}

// arrival is the time of an entry.
func (s *Sessions) arrival(e int32) time.Duration {
	if e < 0 {
		return s.base.at[^e]
	}
	return s.base.arrival(int(e))
}

// Sessions is the number of sessions.
func (s *Sessions) Sessions() int { return s.n }

// Trace is what is shaped.
func (s *Sessions) Trace() *Table { return s.base }

// PrefixesUnknown is that of the trace.
func (s *Sessions) PrefixesUnknown() bool { return s.base.PrefixesUnknown() }

// GapsAsWaits reports that the trace holds no waits between steps, and that the
// recorded time from the start of a step to the start of the next one, which includes
// its answer, stands for them.
func (s *Sessions) GapsAsWaits() bool { return s.waits }

// Session fills dst with session i. A repeated session is another one, with content
// that is shared only within its repetition.
func (s *Sessions) Session(i int, dst *datasets.Session) {
	loop, j := s.place(i)
	if e := s.entries[j]; e >= 0 {
		s.base.Session(int(e), dst)
	} else {
		s.base.single(int(^e), dst)
	}
	dst.ID, dst.At = uint64(i)+1, 0
	if s.timed {
		dst.At = s.At(i)
	}
	if s.waits {
		gapsAsWaits(dst)
	}
	if loop == 0 {
		return
	}
	shift := shiftOf(loop)
	for k := range dst.Threads {
		for n := range dst.Threads[k].Steps {
			st := &dst.Threads[k].Steps[n]
			st.OutKey += shift
			for a := range st.Append {
				st.Append[a].Key += shift
			}
		}
	}
}

// gapsAsWaits makes each step wait for as long as it started after the one before.
func gapsAsWaits(s *datasets.Session) {
	for k := range s.Threads {
		t := &s.Threads[k]
		var last time.Duration
		if t.Parent >= 0 && t.Spawn >= 0 {
			last = s.Threads[t.Parent].Steps[t.Spawn].At
		}
		for n := range t.Steps {
			t.Steps[n].Wait = max(0, t.Steps[n].At-last)
			last = t.Steps[n].At
		}
	}
}

// single fills dst with row i as a session of one step.
func (t *Table) single(i int, dst *datasets.Session) {
	st := datasets.Step{Append: t.prompt(nil, i, int(t.in[i])), In: int(t.in[i]), Out: int(t.out[i]), OutKey: t.outKey(i)}
	if t.planned != nil {
		st.Reasoning = int(t.planned.reasoning[i])
	}
	*dst = datasets.Session{Threads: []datasets.Thread{{Parent: -1, Spawn: -1, Join: -1, Steps: []datasets.Step{st}}}}
}
