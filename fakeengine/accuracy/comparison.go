package accuracy

import (
	"strings"

	"goodput/profiles/evidence"
)

// Measure is a figure that is compared.
type Measure string

// The measures.
const (
	DecodeStep  Measure = "decode step"  // ms, by the step-time form
	PrefillStep Measure = "prefill step" // ms, by the step-time form
	TPOT        Measure = "TPOT"         // ms, closed loop, by running the engine
	Offline     Measure = "offline"      // ms until a batch that starts together is done, by running the engine
	Throughput  Measure = "throughput"   // output tokens/s, closed loop, by running the engine
	TTFT        Measure = "TTFT alone"   // ms, one client, by running the engine
	Blocks      Measure = "KV blocks"    // by the memory arithmetic
)

// Measures lists them in the order of reports.
func Measures() []Measure {
	return []Measure{DecodeStep, PrefillStep, TPOT, Offline, Throughput, TTFT, Blocks}
}

// Unit of the figures.
func (m Measure) Unit() string {
	switch m {
	case Throughput:
		return "tok/s"
	case Blocks:
		return "blocks"
	}
	return "ms"
}

// Era tells engines of 2023, without graphs of whole steps, from those since.
type Era string

// The eras.
const (
	Modern Era = "2024+"
	Old    Era = "2023"
)

func eraOf(p *evidence.Point) Era {
	v := p.EngineVersion
	switch {
	case strings.Contains(p.Engine, "2023"),
		strings.HasPrefix(p.Engine, "trtllm") && (strings.HasPrefix(v, "0.5") || strings.HasPrefix(v, "0.6")),
		strings.HasPrefix(p.Engine, "lmdeploy") && strings.HasPrefix(v, "0.1."):
		return Old
	}
	return Modern
}

// Comparison is one predicted figure beside the measured one.
type Comparison struct {
	Point   *evidence.Point
	Measure Measure
	// GPU is the kind of GPU, Profile the profile that the prediction is from.
	GPU, Profile        string
	Era                 Era
	Measured, Predicted float64 // in Measure.Unit
	// Gaps is what the measurements behind the profile did not have; empty: the
	// prediction is no extrapolation.
	Gaps []string
}

// Error is the relative error: 0.1 is 10 % too much.
func (c *Comparison) Error() float64 { return c.Predicted/c.Measured - 1 }

// Miss is a row without a comparison, and why.
type Miss struct {
	Point *evidence.Point
	Why   string
}
