package accuracy

import (
	"cmp"
	"math"
	"slices"
)

// Summary is how far predictions of one kind are off.
type Summary struct {
	GPU     string
	Era     Era    // empty: any
	Name    string // of the measures
	Source  string // empty: any
	N       int
	Median  float64 // of the absolute relative errors
	P90     float64
	Bias    float64 // median of the signed relative errors
	Largest float64 // absolute relative error
	Worst   *Comparison
	Bound   *Bound // nil: none applies
}

// Verdict of a bound.
type Verdict string

// The verdicts.
const (
	NoBound   Verdict = ""
	Within    Verdict = "within"
	Exceeded  Verdict = "exceeded"
	Unchecked Verdict = "no points" // a bound without a point inside what the profile was fitted on
)

// Verdict holds the errors against the bound.
func (s *Summary) Verdict() Verdict {
	b := s.Bound
	switch {
	case b == nil:
		return NoBound
	case s.N == 0:
		return Unchecked
	case b.Median > 0 && s.Median > b.Median, b.P90 > 0 && s.P90 > b.P90, b.Largest > 0 && s.Largest > b.Largest:
		return Exceeded
	}
	return Within
}

// Validated splits comparisons: those inside what the profile was fitted on, and
// the extrapolations.
func Validated(all []Comparison) (inside, outside []Comparison) {
	for _, c := range all {
		if len(c.Gaps) == 0 {
			inside = append(inside, c)
		} else {
			outside = append(outside, c)
		}
	}
	return inside, outside
}

// Summarise gives a summary for each GPU, era and measure that has comparisons. It
// holds nothing against a bound.
func Summarise(cs []Comparison) []Summary {
	var out []Summary
	for _, gpu := range distinct(cs, func(c *Comparison) string { return c.GPU }) {
		for _, era := range []Era{Modern, Old} {
			for _, m := range Measures() {
				s := summary(cs, func(c *Comparison) bool { return c.GPU == gpu && c.Era == era && c.Measure == m })
				s.GPU, s.Era, s.Name = gpu, era, string(m)
				if s.N > 0 {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// Judge gives a summary for each bound of the GPUs.
func Judge(cs []Comparison, bounds []Bound, gpus []string) []Summary {
	var out []Summary
	for i := range bounds {
		b := &bounds[i]
		if !slices.Contains(gpus, b.GPU) {
			continue
		}
		s := summary(cs, b.covers)
		s.GPU, s.Era, s.Name, s.Bound = b.GPU, b.Era, b.Name, b
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b Summary) int { return cmp.Compare(a.GPU, b.GPU) })
	return out
}

// BySource gives a summary of all step times for each GPU, era and source.
func BySource(cs []Comparison) []Summary {
	var out []Summary
	for _, gpu := range distinct(cs, func(c *Comparison) string { return c.GPU }) {
		for _, era := range []Era{Modern, Old} {
			for _, source := range distinct(cs, func(c *Comparison) string { return c.Point.Source }) {
				s := summary(cs, func(c *Comparison) bool {
					return c.GPU == gpu && c.Era == era && c.Point.Source == source && slices.Contains(stepTimes(), c.Measure)
				})
				s.GPU, s.Era, s.Source, s.Name = gpu, era, source, stepTimesName
				if s.N > 0 {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// distinct lists the values of a field, sorted.
func distinct(cs []Comparison, field func(*Comparison) string) []string {
	var out []string
	for i := range cs {
		out = append(out, field(&cs[i]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func summary(cs []Comparison, of func(*Comparison) bool) Summary {
	var s Summary
	var signed, absolute []float64
	for i := range cs {
		c := &cs[i]
		if !of(c) {
			continue
		}
		e := c.Error()
		signed, absolute = append(signed, e), append(absolute, math.Abs(e))
		if s.Worst == nil || math.Abs(e) > s.Largest {
			s.Worst, s.Largest = c, math.Abs(e)
		}
	}
	if s.N = len(signed); s.N == 0 {
		return s
	}
	slices.Sort(signed)
	slices.Sort(absolute)
	s.Median, s.P90, s.Bias = quantile(absolute, 0.5), quantile(absolute, 0.9), quantile(signed, 0.5)
	return s
}

// quantile interpolates between the sorted values, of which there is at least one
// (type 7 of Hyndman and Fan).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
