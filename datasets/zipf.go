package datasets

import (
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// maxZipf is the largest exponent: beyond it the first rank takes all but a
// thousandth of the draws.
const maxZipf = 10

// checkZipf reports an exponent that cannot be drawn with.
func checkZipf(s float64) error {
	if !(s >= 0 && s <= maxZipf) {
		return fmt.Errorf("the Zipf exponent is %v: use 0 (all alike) to %d", s, maxZipf)
	}
	return nil
}

// ranks draws from 0 to n-1, rank k in proportion to (k+1)^-s. It takes no memory
// and about 1.1 tries a draw, for any n.
//
// Method: rejection-inversion (Hörmann and Derflinger, Rejection-inversion to
// generate variates from monotone discrete distributions, 1996).
type ranks struct {
	n         int
	s         float64
	low, high float64 // of the integral of x^-s that is drawn from
	sure      float64 // distance to the rank within which nothing is rejected
}

func newRanks(n int, s float64) ranks {
	r := ranks{n: n, s: s}
	r.low = r.integral(1.5) - 1
	r.high = r.integral(float64(n) + 0.5)
	r.sure = 2 - r.inverse(r.integral(2.5)-math.Pow(2, -s))
	return r
}

// integral is an antiderivative of x^-s: (x^(1-s) - 1) / (1-s), whose limit for
// s = 1 is ln x.
func (r ranks) integral(x float64) float64 {
	l := math.Log(x)
	y := (1 - r.s) * l
	if math.Abs(y) < 1e-8 {
		return l * (1 + y/2)
	}
	return l * math.Expm1(y) / y
}

// inverse is the inverse of integral.
func (r ranks) inverse(v float64) float64 {
	t := max(-1, (1-r.s)*v)
	if math.Abs(t) < 1e-8 {
		return math.Exp(v * (1 - t/2))
	}
	return math.Exp(v * math.Log1p(t) / t)
}

func (r ranks) draw(s *rng.Stream) int {
	if r.s == 0 {
		return s.IntN(r.n)
	}
	for {
		u := r.high + s.Float64()*(r.low-r.high)
		x := r.inverse(u)
		k := min(max(1, math.Floor(x+0.5)), float64(r.n))
		if k-x <= r.sure || u >= r.integral(k+0.5)-math.Pow(k, -r.s) {
			return int(k) - 1
		}
	}
}
