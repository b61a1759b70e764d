package fit

import (
	"fmt"

	"goodput/profiles"
)

// kernelFigures is what single kernels reach on a GPU: medians over large shapes of tables
// of them, and guesses where no such table is known.
type kernelFigures struct {
	gpu, source                            string
	weights, matmul, fp8Weights, fp8Matmul float64
	kv, attention, elementwise, allReduce  float64
	bus                                    map[int]float64
}

func kernels() []kernelFigures {
	return []kernelFigures{
		{
			gpu: "h100-sxm", source: "ai-dynamo/aiconfigurator operators of vLLM 0.24.0; microsoft/vidur for NCCL and element-wise kernels",
			weights: 0.877, matmul: 0.82, fp8Weights: 0.838, fp8Matmul: 0.57,
			kv: 0.90, attention: 0.57, elementwise: 13e-12, allReduce: 6e-6,
			bus: map[int]float64{2: 274e9, 4: 317e9, 8: 365e9},
		},
		{
			gpu: "a100-sxm-80gb", source: "ai-dynamo/aiconfigurator operators of vLLM 0.14.0; microsoft/vidur for NCCL and element-wise kernels",
			weights: 0.722, matmul: 0.82,
			kv: 0.75, attention: 0.55, elementwise: 24e-12, allReduce: 7e-6,
			bus: map[int]float64{2: 156e9, 4: 167e9, 8: 174e9},
		},
		{
			gpu: "mi300x", source: "Azure/AI-benchmarking-guide for FP8 products and RCCL over 8 GPUs; guesses for the others",
			weights: 0.65, matmul: 0.42, fp8Weights: 0.65, fp8Matmul: 0.40,
			kv: 0.70, attention: 0.42, elementwise: 8.2e-12, allReduce: 15e-6,
			bus: map[int]float64{2: 303e9, 4: 303e9, 8: 303e9},
		},
	}
}

// Kernels returns base with the figures of its GPU's kernels, to start a fit from
// where no profile is to be trusted.
func Kernels(base profiles.GPU, gpu string) (profiles.GPU, error) {
	for _, k := range kernels() {
		if k.gpu != gpu {
			continue
		}
		g := clone(&base)
		set := func(c *profiles.Coefficient, value float64) {
			*c = profiles.Coefficient{Value: value, Unit: c.Unit, Source: k.source, Date: "2026-11", Status: profiles.Assumed, Note: "of single kernels; no step was compared with it"}
		}
		guess := func(c *profiles.Coefficient, value float64) {
			*c = profiles.Coefficient{Value: value, Unit: c.Unit, Source: "a guess to start from", Date: "2026-11", Status: profiles.Assumed}
		}
		set(&g.WeightBandwidth, k.weights)
		set(&g.MatmulRate, k.matmul)
		if g.FP8 != nil {
			set(&g.FP8.WeightBandwidth, k.fp8Weights)
			set(&g.FP8.MatmulRate, k.fp8Matmul)
		}
		set(&g.KVBandwidth, k.kv)
		set(&g.AttentionRate, k.attention)
		set(&g.ElementwiseWork, k.elementwise)
		set(&g.AllReduceLatency, k.allReduce)
		for i := range g.Bus {
			if v := k.bus[g.Bus[i].TP]; v > 0 {
				set(&g.Bus[i].Bandwidth, v)
			}
		}
		guess(&g.Blend, 3)
		guess(&g.MixedKV, 1.3)
		guess(&g.LayerLaunch, 20e-6)
		guess(&g.ExpertShare, 0.7)
		guess(&g.ExpertLaunch, 30e-6)
		guess(&g.GPUStep, 0.5e-3)
		guess(&g.GPUSequence, 5e-6)
		guess(&g.Step, 1e-3)
		guess(&g.Sequence, 10e-6)
		return g, nil
	}
	return base, fmt.Errorf("no kernel figures of the GPU %s are known: start from its profile", gpu)
}
