package accuracy

import "slices"

// Bound is how far predictions may be off, as relative errors; 0: no bound.
type Bound struct {
	GPU      string
	Era      Era // empty: any
	Name     string
	Measures []Measure
	Median   float64 // of the absolute errors
	P90      float64
	Largest  float64
}

const stepTimesName = "steps and TPOT"

// stepTimes are the measures that are step times, or averages of step times: a
// batch that runs to its end is its steps one after the other.
func stepTimes() []Measure { return []Measure{DecodeStep, PrefillStep, TPOT, Offline} }

// Bounds are the errors up to which the shipped profiles count as calibrated.
//
//	GPU            engines   figures         median   p90   largest
//	h100-sxm       2024+     steps and TPOT     9 %  25 %
//	a100-sxm-80gb  all       steps and TPOT    12 %  34 %
//	mi300x         all       steps and TPOT     8 %  17 %
//	h100-sxm       2024+     throughput        15 %
//	h100-sxm       all       KV blocks                         3 %
//
// The first three are what a fit of eight constants reaches on rows that it has not
// seen, so a profile that misses them is worse than that fit.
func Bounds() []Bound {
	return []Bound{
		{"h100-sxm", Modern, stepTimesName, stepTimes(), 0.09, 0.25, 0},
		{"h100-sxm", Modern, string(Throughput), []Measure{Throughput}, 0.15, 0, 0},
		{"h100-sxm", "", string(Blocks), []Measure{Blocks}, 0, 0, 0.03},
		{"a100-sxm-80gb", "", stepTimesName, stepTimes(), 0.12, 0.34, 0},
		{"mi300x", "", stepTimesName, stepTimes(), 0.08, 0.17, 0},
	}
}

func (b *Bound) covers(c *Comparison) bool {
	return c.GPU == b.GPU && (b.Era == "" || c.Era == b.Era) && slices.Contains(b.Measures, c.Measure)
}
