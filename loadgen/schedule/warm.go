package schedule

import "fmt"

// FirstWarm is the number of the first arrival of a warm-up. Its arrivals have numbers
// of their own, far above those that are measured, so that these have the same ones
// with and without a warm-up.
const FirstWarm = 1 << 40

// Warm yields the arrivals of warmup, marked as such and asking for the items from
// first on, and then those of measured as they are: their instants count from the start
// of the window, which Warm does not know.
func Warm(warmup Source, first uint64, measured Source) Source {
	return &warmed{warmup: warmup, first: first, measured: measured}
}

type warmed struct {
	warmup, measured Source
	first            uint64
	over             bool // warmup has ended
}

var _ Source = (*warmed)(nil)

// String names the process that is measured.
func (s *warmed) String() string { return fmt.Sprint(s.measured) }

// Next returns the next arrival.
func (s *warmed) Next() (Arrival, bool) {
	if !s.over {
		if a, ok := s.warmup.Next(); ok {
			a.Seq += FirstWarm
			a.Item += s.first
			a.Warm = true
			return a, true
		}
		s.over = true
	}
	return s.measured.Next()
}
