package stats

import (
	"math/big"
	"math/bits"
	"slices"
)

// Kept is how many values a Sample keeps.
const Kept = 1 << 16

// Sample collects values. Quantiles are exact up to Kept values; of more, which
// take no more memory, they are at most 0.013 % off. N, the mean and the largest
// value are always exact. The zero value is empty.
type Sample struct {
	values []int64 // nil once there are too many
	n      int64
	most   int64
	hi, lo uint64 // their sum, in 128 bits
	room   int    // values to make room for at the first one

	// What does not fit: the values of 0 and above, and the complements of those
	// below, of which there are belows.
	above, below *buckets
	belows       int64
}

// sampleBits makes buckets of a width of at most 1/8192 of their values.
const sampleBits = 14

// Expect tells about how many values will come, so that memory is taken once.
func (s *Sample) Expect(n int64) { s.room = int(min(n, Kept)) }

// Add takes one value.
func (s *Sample) Add(v int64) {
	if s.n == 0 || v > s.most {
		s.most = v
	}
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, uint64(v), 0)
	s.hi += uint64(v>>63) + carry
	s.n++
	switch {
	case s.n <= Kept:
		if len(s.values) == cap(s.values) {
			s.values = slices.Grow(s.values, max(512, s.room, len(s.values)))
		}
		s.values = append(s.values, v)
	case s.values != nil:
		s.above, s.below = &buckets{bits: sampleBits}, &buckets{bits: sampleBits}
		for _, kept := range s.values {
			s.count(kept)
		}
		s.values = nil
		s.count(v)
	default:
		s.count(v)
	}
}

func (s *Sample) count(v int64) {
	if v < 0 {
		s.belows++
		s.below.add(^v, 1)
	} else {
		s.above.add(v, 1)
	}
}

// N is the number of values.
func (s *Sample) N() int64 { return s.n }

// Quantile returns the nearest-rank quantile: the smallest value such that at
// least the fraction q of all values is not above it. ok is false without
// values.
func (s *Sample) Quantile(q float64) (v int64, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	r := rank(q, s.n)
	if s.values != nil {
		arrange(s.values, []int{int(r) - 1})
		return s.values[r-1], true
	}
	if r <= s.belows {
		v, _ = s.below.atFromTop(r)
		v = ^v
	} else {
		v, _ = s.above.at(r - s.belows)
	}
	return min(v, s.most), true
}

// Summary computes all figures.
func (s *Sample) Summary() Summary {
	out := Summary{N: s.n}
	if out.N == 0 {
		return out
	}
	if s.values != nil {
		var ranks [len(quantiles)]int
		for i, q := range quantiles {
			ranks[i] = int(rank(q, s.n)) - 1
		}
		arrange(s.values, ranks[:])
	}
	out.setQuantiles(func(q float64) int64 {
		if s.values != nil {
			return s.values[rank(q, s.n)-1]
		}
		v, _ := s.Quantile(q)
		return v
	})
	out.Mean, out.Max = s.mean(), float64(s.most)
	return out
}

// mean is exact up to the rounding of the quotient.
func (s *Sample) mean() float64 {
	sum := new(big.Int).Lsh(big.NewInt(int64(s.hi)), 64)
	sum.Add(sum, new(big.Int).SetUint64(s.lo))
	f, _ := new(big.Rat).SetFrac(sum, big.NewInt(s.n)).Float64()
	return f
}

// arrange moves values so that those at the indexes at, which ascend, are where
// sorting would put them. It costs a few passes instead of a sort. It changes at.
func arrange(values []int64, at []int) {
	for tries := 2 * bits.Len(uint(len(values))); len(at) > 0; tries-- {
		if len(values) <= 32 || tries == 0 {
			slices.Sort(values)
			return
		}
		less, more := split(values)
		low, _ := slices.BinarySearch(at, less)
		high, _ := slices.BinarySearch(at, more)
		arrange(values[:less], at[:low])
		values, at = values[more:], at[high:]
		for i := range at {
			at[i] -= more
		}
	}
}

// split moves the values below a pivot to the front and those above it to the
// end: values[less:more] equal it.
func split(values []int64) (less, more int) {
	n := len(values)
	a, b, c := values[0], values[n/2], values[n-1]
	pivot := max(min(a, b), min(max(a, b), c))
	more = n
	for i := 0; i < more; {
		switch v := values[i]; {
		case v < pivot:
			values[i], values[less] = values[less], v
			less++
			i++
		case v > pivot:
			more--
			values[i], values[more] = values[more], v
		default:
			i++
		}
	}
	return less, more
}
