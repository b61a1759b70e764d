package fit

import (
	"math"

	"goodput/profiles"
)

// Coefficient is one that a fit may move: by a factor, so that those of several
// degrees move together.
type Coefficient struct {
	Name string
	// lo and hi bound the value, spread is the factor by which the prior is typically
	// off.
	lo, hi, spread float64
	of             func(*profiles.GPU) []*profiles.Coefficient
	// needs says whether a point depends on it at all.
	needs func(*Point) bool
}

func always(*Point) bool       { return true }
func multiplies(p *Point) bool { return p.Kind != DecodeStep || p.Batch >= 64 }
func prompts(p *Point) bool    { return p.Kind != DecodeStep }
func mixes(p *Point) bool {
	return p.Kind == ClosedLoop && p.Batch > 1 || p.Kind == Burst || p.Kind == OpenLoop || p.Kind == FirstToken
}
func parallel(p *Point) bool { return p.TP > 1 }
func experts(p *Point) bool  { return p.Model.Experts > 0 }
func fp8(p *Point) bool      { return p.Model.Quantization == profiles.FP8 }
func plain(p *Point) bool    { return p.Model.Quantization != profiles.FP8 }
func serial(p *Point) bool   { return !p.Overlap }
func waits(p *Point) bool    { return p.Kind == FirstToken }

// coefficients are all of them, in the order of a profile. Rates and shares have
// narrow priors, because kernels were measured one by one; launches and the host
// have wide ones.
func coefficients() []Coefficient {
	type g = *profiles.GPU
	type c = *profiles.Coefficient
	one := func(f func(g) c) func(g) []c { return func(p g) []c { return []c{f(p)} } }
	return []Coefficient{
		{"weight_bandwidth_share", 0.2, 1, 1.1, one(func(p g) c { return &p.WeightBandwidth }), plain},
		{"matmul_share", 0.1, 1, 1.1, one(func(p g) c { return &p.MatmulRate }), func(p *Point) bool { return plain(p) && multiplies(p) }},
		{"fp8.weight_bandwidth_share", 0.2, 1, 1.15, one(func(p g) c { return &p.FP8.WeightBandwidth }), fp8},
		{"fp8.matmul_share", 0.05, 1, 1.2, one(func(p g) c { return &p.FP8.MatmulRate }), func(p *Point) bool { return fp8(p) && multiplies(p) }},
		{"blend_exponent", 1, 20, 1.25, one(func(p g) c { return &p.Blend }), multiplies},
		{"kv_bandwidth_share", 0.1, 1, 1.12, one(func(p g) c { return &p.KVBandwidth }), func(p *Point) bool { return p.Kind != PrefillStep }},
		{"mixed_kv_factor", 1, 10, 1.5, one(func(p g) c { return &p.MixedKV }), mixes},
		{"attention_share", 0.1, 1, 1.15, one(func(p g) c { return &p.AttentionRate }), prompts},
		{"layer_launch", 1e-7, 3e-4, 2.5, one(func(p g) c { return &p.LayerLaunch }), always},
		{"elementwise_work", 1e-12, 1e-10, 1.3, one(func(p g) c { return &p.ElementwiseWork }), prompts},
		{"expert_share", 0.1, 1, 1.4, one(func(p g) c { return &p.ExpertShare }), experts},
		{"expert_launch", 1e-6, 6e-4, 2.5, one(func(p g) c { return &p.ExpertLaunch }), experts},
		{"all_reduce_latency", 1e-6, 3e-4, 1.5, one(func(p g) c { return &p.AllReduceLatency }), parallel},
		{"all_reduce_bus", 5e9, 900e9, 1.3, func(p g) []c {
			var out []c
			for i := range p.Bus {
				out = append(out, &p.Bus[i].Bandwidth)
			}
			return out
		}, func(p *Point) bool { return parallel(p) && multiplies(p) }},
		{"gpu_step", 1e-6, 1e-2, 3, one(func(p g) c { return &p.GPUStep }), always},
		{"gpu_sequence", 1e-8, 3e-4, 3, one(func(p g) c { return &p.GPUSequence }), always},
		{"step_overhead", 1e-6, 5e-2, 2.5, one(func(p g) c { return &p.Step }), serial},
		{"sequence_overhead", 1e-8, 5e-4, 2.5, one(func(p g) c { return &p.Sequence }), serial},
		{"front_end", 1e-4, 1, 3, one(func(p g) c { return &p.FrontEnd }), waits},
	}
}

// enough is how many points must depend on a coefficient before it is moved.
const enough = 3

// free picks the coefficients that the points can tell something of, and that the
// GPU has.
func free(base *profiles.GPU, points []Point) []Coefficient {
	var out []Coefficient
	for _, c := range coefficients() {
		if base.FP8 == nil && len(c.Name) > 3 && c.Name[:4] == "fp8." {
			continue
		}
		if base.FP8 == nil && (c.Name == "weight_bandwidth_share" || c.Name == "matmul_share") {
			c.needs = always // FP8 weights are multiplied at 16 bits
		}
		n := 0
		for i := range points {
			if c.needs(&points[i]) {
				n++
			}
		}
		if n >= enough && len(c.of(base)) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Value is the coefficient in a profile: the first one, where there are several.
func (c *Coefficient) Value(g *profiles.GPU) float64 { return c.of(g)[0].Value }

// move is where the optimiser stands: any real number, 0 at the prior.
//
// factor turns it into the factor on the prior, such that the value stays between
// the bounds: the logarithm follows a logistic curve between theirs.
func (c *Coefficient) factor(prior, move float64) float64 {
	lo, hi := math.Log(c.lo), math.Log(c.hi)
	at := min(max((math.Log(prior)-lo)/(hi-lo), 1e-3), 1-1e-3)
	u := math.Log(at/(1-at)) + move
	return math.Exp(lo+(hi-lo)/(1+math.Exp(-u))) / prior
}

// surprise is how many spreads a factor is.
func (c *Coefficient) surprise(factor float64) float64 { return math.Log(factor) / math.Log(c.spread) }

// Unit is the coefficient's unit; empty: a ratio.
func (c *Coefficient) Unit(g *profiles.GPU) string { return c.of(g)[0].Unit }

// Status is the coefficient's status.
func (c *Coefficient) Status(g *profiles.GPU) profiles.Status { return c.of(g)[0].Status }
