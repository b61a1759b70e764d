package stats

import "math/bits"

// buckets counts values of 0 and above in the buckets of an HdrHistogram: below
// 1<<bits each value has its own, then each doubling of the value has 1<<(bits-1)
// of equal width. A bucket is at most 1/(1<<(bits-1)) as wide as its values. The
// buckets of a doubling are made when its first value comes.
type buckets struct {
	bits    int
	octaves [65][]int64
}

// add counts v n times.
func (b *buckets) add(v, n int64) {
	octave, i := b.place(v)
	b.octave(octave)[i] += n
}

// addAll counts each of values, which lie between least and most.
func (b *buckets) addAll(values []int32, least, most int32) {
	first, _ := b.place(int64(least))
	last, _ := b.place(int64(most))
	if last > first+1 {
		for _, v := range values {
			b.add(int64(v), 1)
		}
		return
	}
	// The gaps of one request lie in one doubling, or on both sides of its end.
	low, high := b.octave(first), b.octave(last)
	end := uint64(1) << (b.bits + first)
	for _, v := range values {
		if u := uint64(v); u < end {
			low[u>>(first&63)]++
		} else {
			high[u>>(last&63)]++
		}
	}
}

// place is the doubling of v, 0 for the first ones, and the bucket within.
func (b *buckets) place(v int64) (octave, i int) {
	octave = max(0, bits.Len64(uint64(v))-b.bits)
	return octave, int(v >> octave)
}

func (b *buckets) octave(i int) []int64 {
	if b.octaves[i] == nil {
		b.octaves[i] = make([]int64, 1<<b.bits)
	}
	return b.octaves[i]
}

// at is the largest value of the bucket that the value of this rank, from 1, is
// in; ok is false if fewer were counted.
func (b *buckets) at(rank int64) (v int64, ok bool) {
	for octave, counts := range b.octaves {
		for i, n := range counts {
			if rank -= n; rank <= 0 {
				return (int64(i)+1)<<octave - 1, true
			}
		}
	}
	return 0, false
}

// atFromTop is the smallest value of the bucket that the value of this rank,
// counted from the largest, is in.
func (b *buckets) atFromTop(rank int64) (v int64, ok bool) {
	for octave := len(b.octaves) - 1; octave >= 0; octave-- {
		counts := b.octaves[octave]
		for i := len(counts) - 1; i >= 0; i-- {
			if rank -= counts[i]; rank <= 0 {
				return int64(i) << octave, true
			}
		}
	}
	return 0, false
}
