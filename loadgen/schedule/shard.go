package schedule

import "fmt"

// Shard is the part of a schedule that one of several processes offers: the arrivals
// whose number leaves the remainder Index when divided by Of, as they are in the whole.
// The zero value is the whole schedule.
type Shard struct {
	// Index counts from 0; Of is the number of parts, 0 or 1 for the whole.
	Index, Of int
}

// Sharded reports whether there are other parts.
func (s Shard) Sharded() bool { return s.Of > 1 }

// Has reports whether the arrival of this number is in the part.
func (s Shard) Has(seq uint64) bool {
	return !s.Sharded() || seq%uint64(s.Of) == uint64(s.Index)
}

// Count is how many of the numbers below n are in the part.
func (s Shard) Count(n uint64) uint64 {
	if !s.Sharded() {
		return n
	}
	return (n + uint64(s.Of) - 1 - uint64(s.Index)) / uint64(s.Of)
}

// String is INDEX/OF, or "" for the whole.
func (s Shard) String() string {
	if !s.Sharded() {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Of)
}

// Source yields the part's arrivals of the whole schedule, with the numbers, instants
// and items that they have there. It fails for a part that there is not.
func (s Shard) Source(whole Source) (Source, error) {
	switch {
	case s.Of < 0 || s.Index < 0 || s.Index >= max(1, s.Of):
		return nil, fmt.Errorf("part %d of %d of a schedule: parts count from 0, below their number", s.Index, s.Of)
	case !s.Sharded():
		return whole, nil
	}
	return &sharded{whole, s}, nil
}

// sharded leaves out what is others'.
type sharded struct {
	whole Source
	shard Shard
}

var _ Source = (*sharded)(nil)

// String names the process.
func (s *sharded) String() string { return fmt.Sprint(s.whole) }

// Next returns the part's next arrival.
func (s *sharded) Next() (Arrival, bool) {
	for {
		a, ok := s.whole.Next()
		if !ok || s.shard.Has(a.Seq) {
			return a, ok
		}
	}
}
