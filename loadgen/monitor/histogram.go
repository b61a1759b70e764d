package monitor

import (
	"math/bits"
	"sync/atomic"

	"goodput/loadgen/record"
)

// histogram counts durations in buckets whose width is at most 1/32 of their
// value, so that the middle of a bucket is within 1.6 % of all that is in it. One
// goroutine adds and clears, others may read meanwhile. HdrHistogram has the same
// buckets, but needs a lock for that, on which the load would wait.
type histogram struct {
	counts [numBuckets]atomic.Uint32
	// Those that are not 0 are from from to below to. Only the goroutine that adds
	// and clears looks at them.
	from, to int
}

const (
	subBits    = 5 // 32 buckets for each power of two
	numBuckets = (63-subBits)<<subBits + 1<<subBits
)

// add counts a duration in nanoseconds; a negative one counts as 0.
func (h *histogram) add(v int64) {
	i := bucket(v)
	h.counts[i].Add(1)
	switch {
	case h.from == h.to:
		h.from, h.to = i, i+1
	case i < h.from:
		h.from = i
	case i >= h.to:
		h.to = i + 1
	}
}

func (h *histogram) clear() {
	for i := range h.counts[h.from:h.to] {
		h.counts[h.from+i].Store(0)
	}
	h.from, h.to = 0, 0
}

// bucket is v below 64, then exponent and the leading subBits+1 bits.
func bucket(v int64) int {
	u := uint64(max(v, 0))
	shift := max(0, bits.Len64(u)-subBits-1)
	return shift<<subBits + int(u>>shift)
}

// middle is the value that stands for all values of bucket i.
func middle(i int) int64 {
	shift := max(0, i>>subBits-1)
	low := int64(i-shift<<subBits) << shift
	return low + (int64(1)<<shift-1)/2
}

// sums is what a reader adds up histograms in.
type sums [numBuckets]uint64

func (s *sums) add(h *histogram) {
	for i := range h.counts {
		s[i] += uint64(h.counts[i].Load())
	}
}

// quantile returns the value at or below which perMille of 1000 parts of the
// counts lie (nearest rank), Null if there are none.
func (s *sums) quantile(perMille uint64) int64 {
	var n uint64
	for _, c := range s {
		n += c
	}
	if n == 0 {
		return record.Null
	}
	rank := max(1, (n*perMille+999)/1000)
	for i, c := range s {
		if rank <= c {
			return middle(i)
		}
		rank -= c
	}
	return middle(numBuckets - 1)
}
