package fit

import (
	"math"
	"slices"

	"goodput/profiles"
)

// folds is into how many parts configurations are split.
const folds = 5

// Errors sums up relative errors.
type Errors struct {
	Points int
	// Median and P90 are of the absolute values, Signed is the median with its sign:
	// positive is too slow. All NaN without points.
	Median, P90, Signed float64
}

func sumUp(logs []float64) Errors {
	var signed, size []float64
	for _, e := range logs {
		signed = append(signed, math.Exp(e)-1)
		size = append(size, math.Abs(math.Exp(e)-1))
	}
	return Errors{len(logs), quantile(size, 0.5), quantile(size, 0.9), quantile(signed, 0.5)}
}

// quantile interpolates linearly between order statistics.
func quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	at := p * float64(len(x)-1)
	i := min(int(at), max(0, len(x)-2))
	j := min(i+1, len(x)-1)
	return x[i] + (at-float64(i))*(x[j]-x[i])
}

// heldOut fits as often as there are folds, each time without the configurations of
// one, and returns the logarithmic errors of the points on those.
func heldOut(base *profiles.GPU, free []Coefficient, points []Point, build Builder) ([]float64, error) {
	out := make([]float64, len(points))
	for k := range folds {
		err := leaveOut(base, free, points, build, out, func(p *Point) bool { return fold(p.Config, folds) == k })
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// leaveOut fits without the points that are out, and sets their errors in errs.
func leaveOut(base *profiles.GPU, free []Coefficient, points []Point, build Builder, errs []float64, out func(*Point) bool) error {
	var in, left []Point
	var at []int
	for i := range points {
		if out(&points[i]) {
			left, at = append(left, points[i]), append(at, i)
		} else {
			in = append(in, points[i])
		}
	}
	if len(left) == 0 {
		return nil
	}
	g, err := solve(base, free, in, build)
	if err != nil {
		return err
	}
	e, err := logErrors(&g, left, build)
	if err != nil {
		return err
	}
	for i := range e {
		errs[at[i]] = e[i]
	}
	return nil
}

// withoutSource fits without the points of one source, and returns their errors.
func withoutSource(base *profiles.GPU, free []Coefficient, points []Point, build Builder, source string) ([]float64, error) {
	errs := make([]float64, len(points))
	if err := leaveOut(base, free, points, build, errs, func(p *Point) bool { return p.Source == source }); err != nil {
		return nil, err
	}
	var out []float64
	for i := range points {
		if points[i].Source == source {
			out = append(out, errs[i])
		}
	}
	return out, nil
}
