package spec

import (
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// Model draws how many drafts are accepted. It is read-only after New and safe
// for concurrent use.
//
// A request has a share t of first drafts accepted, and the chance that its first
// i+1 drafts are accepted is t^w[i], with w[0] = 1. Over the steps of a run t is beta
// distributed with shapes a and b, so that they are accepted in a share of
//
//	E t^w = B(a+w, b) / B(a, b)
//
// of the steps, which New solves for the w that give the wanted product of rates.
// Of requests of equal length the ones with many tokens a step, 1 + sum t^w, take
// fewer steps. So among requests, which are what is drawn, the density of t is that
// of the beta distribution times this number.
type Model struct {
	drafts int
	seed   uint64

	weights  [MaxDrafts]float64 // w; rising, +Inf: never accepted
	a, b     float64            // shapes; 0: all requests have t = 1/e
	mean     float64            // of t, over steps
	proposes float64
}

// Request is what a Model knows of one sequence: 16 bytes to be kept with it.
type Request struct {
	key uint64
	// toil is -ln t: 0 for a request whose drafts are always accepted.
	toil float64
}

// New makes the model of k drafts a step, 1 to MaxDrafts.
func New(a Acceptance, k int, seed uint64) (*Model, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	if k < 1 || k > MaxDrafts {
		return nil, fmt.Errorf("%d drafts a step: need 1 to %d", k, MaxDrafts)
	}
	m := &Model{drafts: k, seed: seed, mean: a.Rates[0], proposes: a.Proposes}
	if a.Spread > 0 {
		// The variance of a beta distribution is mean (1-mean) / (a+b+1).
		sum := m.mean*(1-m.mean)/(a.Spread*a.Spread) - 1
		m.a, m.b = m.mean*sum, (1-m.mean)*sum
	}
	w := 0.0
	for i := range k {
		w = m.weight(w, math.Log(a.Survival(i)), i)
		m.weights[i] = w
	}
	return m, nil
}

// weight solves ln E t^w = target for w, which is at least low.
func (m *Model) weight(low, target float64, i int) float64 {
	switch {
	case m.a == 0:
		return -target
	case i == 0:
		return 1
	case math.IsInf(target, -1):
		return math.Inf(1)
	}
	// Bisection in ln w, between low and about the largest float64.
	lo, hi := math.Log(low), 700.0
	for range 100 {
		mid := (lo + hi) / 2
		if m.logMoment(math.Exp(mid)) > target {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp(lo)
}

// logMoment is ln E t^w.
func (m *Model) logMoment(w float64) float64 {
	return logRatio(m.a, m.b) - logRatio(m.a+w, m.b)
}

// logRatio is ln(Gamma(z+b) / Gamma(z)). Where the logarithms are too large for
// their difference, it is that of Stirling's formula, b ln(z + (b-1)/2), whose error
// is of the order of z^-2.
func logRatio(z, b float64) float64 {
	if z > 1e5 {
		return b * math.Log(z+(b-1)/2)
	}
	upper, _ := math.Lgamma(z + b)
	lower, _ := math.Lgamma(z)
	return upper - lower
}

// Drafts is k.
func (m *Model) Drafts() int { return m.drafts }

// Always reports whether there are drafts for each step.
func (m *Model) Always() bool { return m.proposes == 1 }

// Request draws the rate of sequence id.
func (m *Model) Request(id uint64) Request {
	s := rng.New(m.seed, "spec-request", id)
	r := Request{key: s.Uint64(), toil: 1}
	if m.a == 0 {
		return r
	}
	// By rejection: a step has at most 1+k tokens.
	for most := 1 + m.proposes*float64(m.drafts); ; {
		r.toil = -math.Log(m.share(&s))
		if s.Float64()*most < m.length(r.toil) {
			return r
		}
	}
}

// share draws from the beta distribution.
func (m *Model) share(s *rng.Stream) float64 {
	x, y := s.Gamma(m.a), s.Gamma(m.b)
	switch {
	case x+y > 0:
		return x / (x + y)
	case s.Float64() < m.mean: // both too small for a float64: all or nothing
		return 1
	}
	return 0
}

// length is the mean number of tokens of a request's steps.
func (m *Model) length(toil float64) float64 {
	sum := 0.0
	for _, w := range m.weights[:m.drafts] {
		if !math.IsInf(w, 1) {
			sum += math.Exp(-w * toil)
		}
	}
	return 1 + m.proposes*sum
}

// Proposed is the number of drafts that follow output token n of the sequence: k,
// or 0 if the drafter has none.
func (m *Model) Proposed(r Request, n int) int {
	if m.proposes < 1 {
		if s := rng.New(r.key, "propose", uint64(n)); s.Float64() >= m.proposes {
			return 0
		}
	}
	return m.drafts
}

// Accepted is how many of the first drafts that follow output token n of the
// sequence are accepted. Fewer drafts are a prefix of more: the answer for d is
// that for k, at most d.
func (m *Model) Accepted(r Request, n, drafts int) int {
	s := rng.New(r.key, "accept", uint64(n))
	// With u uniform, u <= t^w is -ln u >= w * toil.
	e := s.Exp()
	a := 0
	for a < drafts && m.weights[a]*r.toil <= e {
		a++
	}
	return a
}
