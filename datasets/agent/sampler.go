package agent

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"goodput/loadgen/rng"
)

// sampler draws from a Dist that was checked.
type sampler struct {
	draw      func(s *rng.Stream) float64
	low, high float64 // high: +Inf for none
	redrawLow bool
}

// sample draws one number within the bounds.
func (d *sampler) sample(s *rng.Stream) float64 {
	for range mostRedraws {
		x := d.draw(s)
		if x > d.high || d.redrawLow && x < d.low {
			continue
		}
		return max(x, d.low)
	}
	return d.high // compile has seen that this hardly ever happens
}

// tokens draws a whole number, at least least.
func (d *sampler) tokens(s *rng.Stream, least int) int {
	return max(least, int(math.Round(min(d.sample(s), maxDraw))))
}

// Bounds of what is drawn: mostRedraws is never met by a distribution of which at
// least one draw in hundred stays within its bounds.
const (
	mostRedraws = 10_000
	maxDraw     = 1 << 28
)

// compile checks d and makes a sampler of it.
func compile(d Dist) (sampler, error) {
	out := sampler{low: d.Min, high: math.Inf(1), redrawLow: d.Kind == Normal}
	if !(d.Min >= 0) || !(d.Max >= 0) || math.IsInf(d.Min, 1) || math.IsInf(d.Max, 1) {
		return out, fmt.Errorf("%v: min and max must be finite and not negative", d)
	}
	if d.Max > 0 {
		if out.high = d.Max; d.Max < d.Min {
			return out, fmt.Errorf("%v: max is below min", d)
		}
	}
	var err error
	if out.draw, err = drawer(d); err != nil {
		return out, fmt.Errorf("distribution %q: %w", d.Kind, err)
	}
	return out, out.check(d)
}

// check draws a few numbers: a distribution that is nearly all out of bounds, or
// not of numbers, is a slip.
func (d *sampler) check(of Dist) error {
	s := rng.New(0, "agent distribution check", 0)
	const tries = 1000
	within := 0
	for range tries {
		x := d.draw(&s)
		if math.IsNaN(x) || x < 0 && of.Kind != Normal {
			return fmt.Errorf("%v: draws %v; lengths and waits are not negative", of, x)
		}
		if x <= d.high && !(d.redrawLow && x < d.low) {
			within++
		}
	}
	if within < tries/100 {
		return fmt.Errorf("%v: nearly all of it is out of its bounds; move min or max", of)
	}
	return nil
}

// realised is the mean of many draws, as bounds and rounding leave it.
func (d *sampler) realised(n int) float64 {
	s := rng.New(0, "agent realised mean", 0)
	sum := 0.0
	for range n {
		sum += d.sample(&s)
	}
	return sum / float64(n)
}

func drawer(d Dist) (func(*rng.Stream) float64, error) {
	positive := func(vs ...float64) error {
		for _, v := range vs {
			if !(v > 0) || math.IsInf(v, 1) {
				return fmt.Errorf("its parameters must be above 0 and finite (%v)", d)
			}
		}
		return nil
	}
	switch d.Kind {
	case "":
		return func(*rng.Stream) float64 { return 0 }, nil
	case Fixed:
		return func(*rng.Stream) float64 { return d.Value }, nil
	case Uniform:
		if !(d.High >= d.Low) {
			return nil, errors.New("high is below low")
		}
		return func(s *rng.Stream) float64 { return d.Low + s.Float64()*(d.High-d.Low) }, nil
	case Normal:
		return func(s *rng.Stream) float64 { return d.Mean + d.SD*s.Norm() }, positive(d.Mean, d.SD)
	case Lognormal:
		mu, sigma, err := d.underlying()
		return func(s *rng.Stream) float64 { return math.Exp(mu + sigma*s.Norm()) }, err
	case Exponential:
		return func(s *rng.Stream) float64 { return d.Mean * s.Exp() }, positive(d.Mean)
	case Geometric:
		return geometric(d)
	case Gamma:
		return func(s *rng.Stream) float64 { return d.Mean / d.Shape * s.Gamma(d.Shape) }, positive(d.Mean, d.Shape)
	case Weibull:
		return func(s *rng.Stream) float64 { return d.Scale * math.Pow(s.Exp(), 1/d.Shape) }, positive(d.Scale, d.Shape)
	}
	return discrete(d)
}

// discrete is drawer for what is picked by weight.
func discrete(d Dist) (func(*rng.Stream) float64, error) {
	switch d.Kind {
	case Zipf:
		if d.N < 1 || d.N > 1<<20 || !(d.S >= 0) {
			return nil, fmt.Errorf("n must be 1 to %d and s not negative", 1<<20)
		}
		pick, err := newPicker(zipfWeights(d.N, d.S))
		return func(s *rng.Stream) float64 { return float64(pick.draw(s) + 1) }, err
	case Weights:
		if len(d.Values) != len(d.Weight) {
			return nil, fmt.Errorf("%d values have %d weights", len(d.Values), len(d.Weight))
		}
		pick, err := newPicker(d.Weight)
		return func(s *rng.Stream) float64 { return d.Values[pick.draw(s)] }, err
	case LogMix:
		return logMix(d)
	case Empirical:
		if len(d.Values) == 0 {
			return nil, errors.New("it has no values")
		}
		return func(s *rng.Stream) float64 { return d.Values[s.IntN(len(d.Values))] }, nil
	case Mixture:
		return mixture(d)
	}
	return nil, errors.New("unknown: use fixed, uniform, normal, lognormal, exponential, geometric, gamma, weibull, zipf, weights, logmix, empirical or mixture")
}

func geometric(d Dist) (func(*rng.Stream) float64, error) {
	if !(d.Mean >= 1) || math.IsInf(d.Mean, 1) {
		return nil, errors.New("its mean must be 1 or more")
	}
	if d.Mean == 1 {
		return func(*rng.Stream) float64 { return 1 }, nil
	}
	// By inversion: k failures have probability q^k, q = 1 - 1/mean.
	by := -math.Log1p(-1 / d.Mean)
	return func(s *rng.Stream) float64 { return 1 + math.Floor(s.Exp()/by) }, nil
}

func logMix(d Dist) (func(*rng.Stream) float64, error) {
	var w []float64
	for _, p := range d.Parts {
		if !(p.Low > 0 && p.High >= p.Low) || math.IsInf(p.High, 1) {
			return nil, fmt.Errorf("part %v: low must be above 0 and high not below it", p)
		}
		w = append(w, p.Weight)
	}
	pick, err := newPicker(w)
	return func(s *rng.Stream) float64 {
		p := d.Parts[pick.draw(s)]
		return p.Low * math.Exp(s.Float64()*math.Log(p.High/p.Low))
	}, err
}

func mixture(d Dist) (func(*rng.Stream) float64, error) {
	if len(d.Of) != len(d.Weight) {
		return nil, fmt.Errorf("%d distributions have %d weights", len(d.Of), len(d.Weight))
	}
	of := make([]sampler, len(d.Of))
	for i, x := range d.Of {
		var err error
		if of[i], err = compile(x); err != nil {
			return nil, err
		}
	}
	pick, err := newPicker(d.Weight)
	return func(s *rng.Stream) float64 { return of[pick.draw(s)].sample(s) }, err
}

// picker draws an index by weight.
type picker struct{ below []float64 }

func newPicker(w []float64) (picker, error) {
	p := picker{make([]float64, len(w))}
	sum := 0.0
	for i, x := range w {
		if !(x >= 0) || math.IsInf(x, 1) {
			return p, fmt.Errorf("weight %v: must be finite and not negative", x)
		}
		sum += x
		p.below[i] = sum
	}
	if !(sum > 0) {
		return p, errors.New("its weights sum to nothing")
	}
	return p, nil
}

func (p picker) draw(s *rng.Stream) int {
	n := len(p.below)
	if n == 1 {
		return 0
	}
	x := s.Float64() * p.below[n-1]
	if n <= 8 {
		for i, b := range p.below {
			if x < b {
				return i
			}
		}
		return n - 1
	}
	return min(sort.Search(n, func(i int) bool { return p.below[i] > x }), n-1)
}

func zipfWeights(n int, s float64) []float64 {
	w := make([]float64, n)
	for i := range w {
		w[i] = math.Pow(float64(i+1), -s)
	}
	return w
}
