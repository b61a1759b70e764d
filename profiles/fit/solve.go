package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/optimize"

	"goodput/profiles"
)

const (
	// softness is the logarithmic error beyond which a point pulls with a force that
	// no longer grows: outliers are outvoted, not followed.
	softness = 0.15
	// priorWeight is how many points, off by softness each, pull like a prior that is
	// missed by its spread.
	priorWeight = 2
	// crowd is how many points of a source and kind have full weight each.
	crowd = 20
)

// problem is one fit.
type problem struct {
	base    *profiles.GPU
	free    []Coefficient
	points  []Point
	weights []float64
	build   Builder
}

// weigh keeps a source with many points of a kind from outvoting the others; the
// mean weight is 1.
func weigh(points []Point) []float64 {
	type group struct {
		source string
		kind   Kind
	}
	count := map[group]int{}
	for i := range points {
		count[group{points[i].Source, points[i].Kind}]++
	}
	out := make([]float64, len(points))
	var sum float64
	for i := range points {
		out[i] = 1 / math.Sqrt(float64(max(count[group{points[i].Source, points[i].Kind}], crowd)))
		sum += out[i]
	}
	for i := range out {
		out[i] *= float64(len(out)) / sum
	}
	return out
}

// at is the profile where the optimiser stands.
func (p *problem) at(x []float64) profiles.GPU {
	g := clone(p.base)
	for i := range p.free {
		c := &p.free[i]
		factor := c.factor(c.Value(p.base), x[i])
		for _, v := range c.of(&g) {
			v.Value *= factor
		}
	}
	return g
}

// clone copies what fits change.
func clone(from *profiles.GPU) profiles.GPU {
	g := *from
	g.Bus = append([]profiles.Bus(nil), g.Bus...)
	if g.FP8 != nil {
		rates := *g.FP8
		g.FP8 = &rates
	}
	return g
}

// cost is the weighted sum of the soft-L1 losses of logarithmic errors, and of the
// squares by which priors are missed.
func (p *problem) cost(x []float64) float64 {
	g := p.at(x)
	errs, err := logErrors(&g, p.points, p.build)
	if err != nil {
		return math.Inf(1)
	}
	var sum float64
	for i, e := range errs {
		z := p.weights[i] * e / softness
		sum += 2 * (math.Sqrt(1+z*z) - 1)
	}
	for i := range p.free {
		c := &p.free[i]
		s := c.surprise(c.factor(c.Value(p.base), x[i]))
		sum += priorWeight * s * s
	}
	return sum
}

// logErrors are ln(predicted/measured) of the points.
func logErrors(g *profiles.GPU, points []Point, build Builder) ([]float64, error) {
	type engine struct {
		model        string
		quantization profiles.Quantization
		kv           profiles.KVCacheDType
		tp           int
		overlap      bool
	}
	built := map[engine]Steps{}
	out := make([]float64, len(points))
	for i := range points {
		p := &points[i]
		k := engine{p.Model.Name, p.Model.Quantization, p.Model.KVCacheDType, p.TP, p.Overlap}
		s := built[k]
		if s == nil {
			var err error
			if s, err = build(g, &p.Model, p.TP, p.Overlap); err != nil {
				return nil, fmt.Errorf("%s on %d GPUs: %w", p.Model.Name, p.TP, err)
			}
			built[k] = s
		}
		out[i] = math.Log(p.Predict(s, g.FrontEnd.Value) / p.Seconds)
	}
	return out, nil
}

// solve returns the profile at the minimum, found by gonum's BFGS from the prior on.
// The same points in the same order give the same profile.
func solve(base *profiles.GPU, free []Coefficient, points []Point, build Builder) (profiles.GPU, error) {
	if _, err := logErrors(base, points, build); err != nil {
		return profiles.GPU{}, err
	}
	p := &problem{base, free, points, weigh(points), build}
	gradient := func(to, x []float64) {
		fd.Gradient(to, p.cost, x, &fd.Settings{Formula: fd.Central, Step: 1e-4})
	}
	found, err := optimize.Minimize(optimize.Problem{Func: p.cost, Grad: gradient}, make([]float64, len(free)), &optimize.Settings{
		MajorIterations: 200, Converger: &optimize.FunctionConverge{Absolute: 1e-5, Relative: 1e-6, Iterations: 5},
	}, &optimize.BFGS{})
	// A line search that finds no better point in the last digits is an end, too.
	if found == nil {
		return profiles.GPU{}, fmt.Errorf("minimising: %w", err)
	}
	return p.at(found.X), nil
}
