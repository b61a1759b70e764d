package agent

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kind names a family of distributions.
type Kind string

// The families, with the fields of Dist that they read. Lengths are tokens, waits
// are seconds.
const (
	Fixed       Kind = "fixed"       // Value
	Uniform     Kind = "uniform"     // Low, High
	Normal      Kind = "normal"      // Mean, SD; cut to Min and Max by drawing again
	Lognormal   Kind = "lognormal"   // Median and Sigma, Mean and SD, or P50 and P90
	Exponential Kind = "exponential" // Mean
	Geometric   Kind = "geometric"   // Mean, at least 1: the trials up to the first success
	Gamma       Kind = "gamma"       // Mean, Shape
	Weibull     Kind = "weibull"     // Scale, Shape
	Zipf        Kind = "zipf"        // N, S: k from 1 to N in proportion to k^-S
	Weights     Kind = "weights"     // Values, Weight
	LogMix      Kind = "logmix"      // Parts: log-uniform within each
	Empirical   Kind = "empirical"   // Values, each with the same chance
	Mixture     Kind = "mixture"     // Of, Weight
)

// Dist describes a distribution. The zero value is always 0.
type Dist struct {
	Kind Kind `yaml:"dist"`

	Value  float64 `yaml:"value,omitempty"`
	Low    float64 `yaml:"low,omitempty"`
	High   float64 `yaml:"high,omitempty"`
	Mean   float64 `yaml:"mean,omitempty"`
	SD     float64 `yaml:"sd,omitempty"`
	Median float64 `yaml:"median,omitempty"`
	Sigma  float64 `yaml:"sigma,omitempty"`
	P50    float64 `yaml:"p50,omitempty"`
	P90    float64 `yaml:"p90,omitempty"`
	Shape  float64 `yaml:"shape,omitempty"`
	Scale  float64 `yaml:"scale,omitempty"`
	N      int     `yaml:"n,omitempty"`
	S      float64 `yaml:"s,omitempty"`

	Values []float64 `yaml:"values,omitempty"`
	// Weight of each of Values or Of; their sum need not be 1.
	Weight []float64 `yaml:"weight,omitempty"`
	Parts  []Part    `yaml:"parts,omitempty"`
	Of     []Dist    `yaml:"of,omitempty"`

	// Min raises what is below it. Max, where it is not 0, is held by drawing again
	// what is above it, so that no heap of values builds up there; the mean is then
	// that of what is left. A normal distribution is drawn again below Min, too.
	Min float64 `yaml:"min,omitempty"`
	Max float64 `yaml:"max,omitempty"`
}

// Part of a LogMix: the logarithm is uniform between those of Low and High.
type Part struct {
	Weight float64 `yaml:"weight"`
	Low    float64 `yaml:"low"`
	High   float64 `yaml:"high"`
}

// lognormal is the usual one of this package.
func lognormal(median, sigma, least, most float64) Dist {
	return Dist{Kind: Lognormal, Median: median, Sigma: sigma, Min: least, Max: most}
}

func fixed(v float64) Dist { return Dist{Kind: Fixed, Value: v} }

func weights(of map[float64]float64) Dist {
	d := Dist{Kind: Weights}
	for v := range of {
		d.Values = append(d.Values, v)
	}
	slices.Sort(d.Values)
	for _, v := range d.Values {
		d.Weight = append(d.Weight, of[v])
	}
	return d
}

// String names the distribution and its parameters.
func (d Dist) String() string {
	if d.Kind == "" {
		return "0"
	}
	var b strings.Builder
	add := func(name string, v float64) {
		if v != 0 {
			fmt.Fprintf(&b, " %s %.4g", name, v)
		}
	}
	if d.Kind == Fixed {
		return fmt.Sprintf("fixed %.6g", d.Value)
	}
	b.WriteString(string(d.Kind))
	add("low", d.Low)
	add("high", d.High)
	add("mean", d.Mean)
	add("sd", d.SD)
	add("median", d.Median)
	add("sigma", d.Sigma)
	add("p50", d.P50)
	add("p90", d.P90)
	add("shape", d.Shape)
	add("scale", d.Scale)
	add("n", float64(d.N))
	add("s", d.S)
	add("min", d.Min)
	add("max", d.Max)
	return b.String()
}

// underlying are the mean and the standard deviation of the logarithm.
func (d Dist) underlying() (mu, sigma float64, err error) {
	const z90 = 1.2815515655446004 // the standard normal distribution's P90
	switch {
	case d.Median > 0 && d.Sigma >= 0:
		return math.Log(d.Median), d.Sigma, nil
	case d.P50 > 0 && d.P90 >= d.P50:
		return math.Log(d.P50), math.Log(d.P90/d.P50) / z90, nil
	case d.Mean > 0 && d.SD >= 0:
		v := math.Log1p(d.SD * d.SD / d.Mean / d.Mean)
		return math.Log(d.Mean) - v/2, math.Sqrt(v), nil
	}
	return 0, 0, fmt.Errorf("lognormal needs a median and a sigma, a mean and an sd, or p50 and p90, above 0")
}
