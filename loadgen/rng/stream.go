package rng

import (
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/cespare/xxhash/v2"
)

// Stream is one sequence of random numbers. It is a value of 16 bytes: copying it
// forks the sequence, so pass a pointer to go on with it. Get one from New; the
// zero value works, but every zero value gives the same numbers.
type Stream struct {
	pcg rand.PCG // PCG-DXSM with 128 bits of state
}

var _ rand.Source = (*Stream)(nil)

// New returns the stream of (seed, name, id). Streams that differ in any of the
// three are independent for all practical purposes. Seed 0 and id 0 are numbers
// like any other: neither means "unset" or "random".
func New(seed uint64, name string, id uint64) Stream { return Of(seed, name).Stream(id) }

// Family is the streams of one seed and name, for those that need many.
type Family struct{ b uint64 }

// Of returns the streams of a seed and a name.
func Of(seed uint64, name string) Family {
	// For a given name, each step maps its 64-bit input one to one, so that two
	// seeds never share b, and two ids never share a stream.
	return Family{mix(mix(seed) ^ xxhash.Sum64String(name))}
}

// Stream returns the stream of id, as New does.
func (f Family) Stream(id uint64) Stream {
	c := mix(f.b ^ mix(id))
	return Stream{pcg: *rand.NewPCG(c, mix(f.b+c))}
}

// mix is one step of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom
// number generators, 2014): a bijection in which each input bit moves about half of
// the output bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns 64 random bits. It makes *Stream a source for math/rand/v2.
func (s *Stream) Uint64() uint64 { return s.pcg.Uint64() }

// Float64 returns a multiple of 2^-53, uniform in [0, 1).
func (s *Stream) Float64() float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// IntN returns a whole number, uniform in [0, n). It panics if n is not positive.
func (s *Stream) IntN(n int) int {
	if n <= 0 {
		panic("rng: IntN needs a positive n")
	}
	// The upper half of x*n is the answer. It is exact once those products are
	// rejected whose lower half falls into the 2^64 mod n surplus values (Lemire:
	// Fast random integer generation in an interval, 2019).
	u := uint64(n)
	hi, lo := bits.Mul64(s.Uint64(), u)
	if lo < u {
		for surplus := -u % u; lo < surplus; {
			hi, lo = bits.Mul64(s.Uint64(), u)
		}
	}
	return int(hi)
}

// Shuffle puts n items into random order by calling swap (Fisher and Yates).
func (s *Stream) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, s.IntN(i+1))
	}
}

// Exp returns an exponentially distributed number with mean 1, by inversion: one
// draw, always finite (at most 36.8).
func (s *Stream) Exp() float64 { return -math.Log1p(-s.Float64()) }

// Norm returns a normally distributed number with mean 0 and variance 1, by
// Marsaglia's polar method. The second number that the method yields is dropped, so
// that a stream has no state but its position.
func (s *Stream) Norm() float64 {
	for {
		x, y := 2*s.Float64()-1, 2*s.Float64()-1
		if r := x*x + y*y; r > 0 && r < 1 {
			return x * math.Sqrt(-2*math.Log(r)/r)
		}
	}
}

// Gamma returns a gamma distributed number with the given shape and scale 1: its
// mean and its variance are both shape. It panics unless shape is positive and
// finite.
//
// Method: Marsaglia and Tsang, A simple method for generating gamma variables
// (2000), without their squeeze step, which changes only speed. Below shape 1,
// Gamma(k) is Gamma(k+1) * U^(1/k), as the paper suggests; for shapes under about
// 0.01 many values are too small for a float64 and come out as 0.
func (s *Stream) Gamma(shape float64) float64 {
	if !(shape > 0) || math.IsInf(shape, 1) {
		panic("rng: Gamma needs a positive, finite shape")
	}
	if shape < 1 {
		g := s.Gamma(shape + 1)
		return g * math.Pow(1-s.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.Norm()
		t := 1 + c*x
		if t <= 0 {
			continue
		}
		v := t * t * t
		if math.Log(1-s.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
