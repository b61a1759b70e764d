package datasets

import (
	"math"
	"time"
)

// Stats sums up the items of a set.
type Stats struct {
	// Items is their number.
	Items int
	// In and Out are the sums of prompt and answer tokens.
	In, Out int64
	// Timed says that the items have recorded arrival times, and Span is the time
	// from the first to the last. Span is 0 for a set that is not timed.
	Timed bool
	Span  time.Duration
}

// Describe sums up the first n items of the set, or all if it has fewer.
func Describe(set Set, n int) Stats {
	s := Stats{Items: max(0, min(n, set.Len())), Timed: set.Timed()}
	var it Item
	var first time.Duration
	for i := range s.Items {
		set.Item(i, &it)
		s.In += int64(it.In)
		s.Out += int64(it.Out)
		if !s.Timed {
			continue
		}
		if i == 0 {
			first = it.At
		}
		s.Span = it.At - first
	}
	return s
}

// MeanIn is the mean tokens of a prompt; NaN without items.
func (s Stats) MeanIn() float64 { return mean(s.In, s.Items) }

// MeanOut is the mean tokens of an answer; NaN without items.
func (s Stats) MeanOut() float64 { return mean(s.Out, s.Items) }

func mean(sum int64, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(sum) / float64(n)
}

// Rate is the recorded arrivals per second: the gaps between items divided by
// their sum. ok is false for items without times or all at one instant.
func (s Stats) Rate() (perSecond float64, ok bool) {
	if s.Span <= 0 {
		return 0, false
	}
	return float64(s.Items-1) / s.Span.Seconds(), true
}
