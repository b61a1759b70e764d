package steptime

import (
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// Shared gives every replica of a pool the same model, which must keep no state
// between steps.
func Shared(m Model) func(replica int) Model {
	return func(int) Model { return m }
}

// Jitter is a Model whose steps vary around those of another one: each is
// multiplied by a lognormal factor of mean 1, exp(sigma*z - sigma²/2) with z
// from the standard normal distribution. The factor of a step depends on the
// seed, the replica and the number of the step alone, so neither the order in
// which replicas run nor what they compute moves it.
//
// The number is counted: Step must be called once for each step of one engine,
// in order. A Jitter belongs to its engine.
//
// Where the other model says how fast a step could be at best (see Bounded), no
// factor makes it faster.
type Jitter struct {
	model Model
	floor Bounded // nil: unknown
	sigma float64
	key   uint64 // of this replica
	n     uint64 // steps so far
}

// Bounded is a Model that knows the least time in which the hardware could do a
// step, in picoseconds.
type Bounded interface {
	Floor(b *Batch) int64
}

var _ Model = (*Jitter)(nil)

// MaxSigma is the largest spread that Jittered accepts: two thirds of the steps are
// then within a factor of e of the median.
const MaxSigma = 1.0

// Jittered gives every replica its own Jitter around m, which must keep no state
// between steps. sigma is the standard deviation of the factor's logarithm, in
// 0 to MaxSigma; with 0 the steps are those of m.
func Jittered(m Model, sigma float64, seed uint64) (func(replica int) Model, error) {
	if !(sigma >= 0 && sigma <= MaxSigma) {
		return nil, fmt.Errorf("a step jitter of %v: need 0 (none) to %v; 0.05 varies steps by about 5 %%", sigma, MaxSigma)
	}
	if sigma == 0 {
		return Shared(m), nil
	}
	floor, _ := m.(Bounded)
	return func(replica int) Model {
		s := rng.New(seed, "step-jitter", uint64(replica))
		return &Jitter{model: m, floor: floor, sigma: sigma, key: s.Uint64()}
	}, nil
}

// Mean is what Step(b) varies around. It draws nothing and counts nothing.
func (j *Jitter) Mean(b *Batch) int64 { return j.model.Step(b) }

// Step implements Model.
func (j *Jitter) Step(b *Batch) int64 {
	s := rng.New(j.key, "", j.n)
	j.n++
	factor := math.Exp(j.sigma*s.Norm() - j.sigma*j.sigma/2)
	ps := max(1, int64(math.Round(float64(j.model.Step(b))*factor)))
	if j.floor != nil {
		ps = max(ps, j.floor.Floor(b))
	}
	return ps
}
