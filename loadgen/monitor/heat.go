package monitor

import (
	"math"
	"time"
)

// The rows of a heat map: ten for each power of ten from 1 ms to 100 s, one for what
// is longer.
const (
	heatRows   = 5*heatPerTen + 2
	heatPerTen = 10
	heatLowest = time.Millisecond
)

// heatBounds are the upper ends of all rows but the last.
func heatBounds() []Nanos {
	out := make([]Nanos, heatRows-1)
	for i := range out {
		out[i] = Nanos(math.Round(float64(heatLowest) * math.Pow(10, float64(i)/heatPerTen)))
	}
	return out
}

// heatRow is the row of a duration.
func heatRow(v int64) int {
	if v <= int64(heatLowest) {
		return 0
	}
	row := int(math.Ceil(heatPerTen*math.Log10(float64(v)/float64(heatLowest)) - 1e-9))
	return min(max(row, 0), heatRows-1)
}

// heat are the columns of one second; nil: nothing happened in it.
func (s *slot) heat() (ttft, e2e []uint32) {
	if s == nil {
		return nil, nil
	}
	return s.ttft.heat(), s.e2e.heat()
}

func (c *counts) heat() []uint32 {
	if c.from == c.to {
		return nil
	}
	out := make([]uint32, heatRows)
	for i := c.from; i < c.to; i++ {
		if c.n[i] > 0 {
			out[heatRow(middle(i))] += c.n[i]
		}
	}
	return out
}
