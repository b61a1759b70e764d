package dispatch

import (
	"slices"
	"time"
)

const (
	quantileWindow = 512 // values that are looked back on
	quantileLeast  = 20  // below so many there is no quantile
	quantileEvery  = 16  // values between two evaluations
)

// quantile is that of the latest values of a series, by the nearest rank. It is looked
// up again only now and then: who asks does so for each request.
type quantile struct {
	q      float64
	values []time.Duration // a ring
	seen   int
	now    time.Duration
	sorted []time.Duration
}

func (s *quantile) add(v time.Duration) {
	if len(s.values) < quantileWindow {
		s.values = append(s.values, v)
	} else {
		s.values[s.seen%quantileWindow] = v
	}
	s.seen++
	if s.seen == quantileLeast || s.seen > quantileLeast && s.seen%quantileEvery == 0 {
		s.sorted = append(s.sorted[:0], s.values...)
		slices.Sort(s.sorted)
		s.now = s.sorted[min(int(s.q*float64(len(s.sorted))), len(s.sorted)-1)]
	}
}

// value is the quantile; ok is false while there are too few values.
func (s *quantile) value() (v time.Duration, ok bool) { return s.now, s.seen >= quantileLeast }
