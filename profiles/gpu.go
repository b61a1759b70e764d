package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GPU is the cost of computing on one kind of GPU with one kind of serving
// engine. Fields are in SI units: seconds, bytes, FLOP/s.
type GPU struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`

	// Peak is the dense matrix rate at 16 bits, HBM the memory's bandwidth, Memory
	// its size.
	Peak   Coefficient `yaml:"peak_flops_bf16"`
	HBM    Coefficient `yaml:"hbm_bandwidth"`
	Memory Coefficient `yaml:"memory"`

	// WeightBandwidth is the share of HBM that weight reads reach, MatmulRate the
	// share of Peak that large matrix products reach, Blend the exponent that
	// joins the two: 1 adds them, infinity takes the larger.
	WeightBandwidth Coefficient `yaml:"weight_bandwidth_share"`
	MatmulRate      Coefficient `yaml:"matmul_share"`
	Blend           Coefficient `yaml:"blend_exponent"`
	// FP8 holds the rates of FP8 matrix products; nil: the GPU has none, and
	// multiplies FP8 weights at 16 bits.
	FP8 *FP8Rates `yaml:"fp8,omitempty"`
	// KVBandwidth is the share of HBM that reading the KV cache reaches,
	// AttentionRate the share of Peak of prefill attention.
	KVBandwidth   Coefficient `yaml:"kv_bandwidth_share"`
	AttentionRate Coefficient `yaml:"attention_share"`
	// MixedKV is how many times as long reading the KV cache of answers takes in a
	// step that also computes a prompt.
	MixedKV Coefficient `yaml:"mixed_kv_factor"`
	// LayerLaunch is paid once per layer, for its kernels' starts and ends;
	// ElementwiseWork per layer, token and hidden unit.
	LayerLaunch     Coefficient `yaml:"layer_launch"`
	ElementwiseWork Coefficient `yaml:"elementwise_work"`
	// ExpertShare is the share of the rates above that the products of routed experts
	// reach, ExpertLaunch what routing costs once per layer of experts.
	ExpertShare Coefficient `yaml:"expert_share"`
	// ExpertKernels, if known, are what kernels of experts with weights of 8 and 16 bits
	// were measured to reach, in place of ExpertShare, which weights of 4 bits keep. nil:
	// not known.
	ExpertKernels *ExpertKernels `yaml:"expert_kernels,omitempty"`
	ExpertLaunch  Coefficient    `yaml:"expert_launch"`
	// AllReduceLatency is paid twice per layer when tensor parallel; Bus holds the
	// bus bandwidth for each supported degree.
	AllReduceLatency Coefficient `yaml:"all_reduce_latency"`
	Bus              []Bus       `yaml:"all_reduce_bus"`
	// GPUStep and GPUSequence are the rest of the GPU's share of a step, such as
	// sampling and filling in tables: once, and per sequence.
	GPUStep     Coefficient `yaml:"gpu_step"`
	GPUSequence Coefficient `yaml:"gpu_sequence"`
	// Step and Sequence are the host's share: once, and per sequence. An engine that
	// overlaps hides it behind the GPU's.
	Step     Coefficient `yaml:"step_overhead"`
	Sequence Coefficient `yaml:"sequence_overhead"`
	// FrontEnd is paid once per request, before it queues.
	FrontEnd Coefficient `yaml:"front_end"`
	// HostLink is the bandwidth between each GPU and the host's memory, one way, and
	// AdapterFile that at which a LoRA adapter is read from its file and made ready
	// in host memory.
	HostLink    Coefficient `yaml:"host_link"`
	AdapterFile Coefficient `yaml:"adapter_file"`
	// NonKV is the memory of each GPU, inside the engine's share, that holds
	// neither weights nor KV: activation peak, graphs, communication buffers.
	NonKV Coefficient `yaml:"non_kv_memory"`

	// Links are the ways by which KV can go from one engine to another.
	Links []Link `yaml:"kv_links"`

	// ITLError and TTFTError are the relative errors to expect of a prediction
	// with this profile.
	ITLError  Coefficient `yaml:"itl_error"`
	TTFTError Coefficient `yaml:"ttft_error"`
	// Covered says what the measurements behind the two were made with.
	Covered Coverage `yaml:"covered"`
}

// FP8Rates are Peak, MatmulRate and WeightBandwidth of FP8 matrix products.
type FP8Rates struct {
	Peak            Coefficient `yaml:"peak_flops"`
	MatmulRate      Coefficient `yaml:"matmul_share"`
	WeightBandwidth Coefficient `yaml:"weight_bandwidth_share"`
}

// ExpertKernels are the shares of HBM at which one kernel reads the weights of many
// experts, and of the peak at which it multiplies with them. One follows on the other:
// each expert has too few tokens to multiply while the next one is read.
type ExpertKernels struct {
	Bandwidth Coefficient `yaml:"bandwidth_share"`
	Matmul    Coefficient `yaml:"matmul_share"`
}

// Coverage is what a profile was compared with. A prediction beyond it is an
// extrapolation. Empty lists: it was compared with nothing.
type Coverage struct {
	// Families are those of the engines, see Family.
	Families     []string       `yaml:"families"`
	TP           []int          `yaml:"tp"`
	Quantization []Quantization `yaml:"quantization"`
	// Experts: mixtures of experts were among the models.
	Experts bool `yaml:"experts"`
	// MaxBatch is the largest number of sequences in a step; 0: unknown.
	MaxBatch int `yaml:"max_batch,omitempty"`
}

// Gaps lists what a prediction for m on tp GPUs has that no measurement behind
// the profile had; empty: nothing.
func (c *Coverage) Gaps(m *Model, tp, batch int) []string {
	var out []string
	if !slices.Contains(c.TP, tp) {
		out = append(out, fmt.Sprintf("tensor parallel degree %d", tp))
	}
	if !slices.Contains(c.Quantization, m.Quantization) {
		out = append(out, fmt.Sprintf("%s weights", m.Quantization.text()))
	}
	if m.Experts > 0 && !c.Experts {
		out = append(out, "mixture of experts")
	}
	if c.MaxBatch > 0 && batch > c.MaxBatch {
		out = append(out, fmt.Sprintf("more than %d sequences in a step", c.MaxBatch))
	}
	return out
}

// Rates are what matrix products of a model's layers run at: FLOP/s at the peak,
// and the shares of it and of HBM that are reached.
type Rates struct{ Peak, Matmul, Bandwidth float64 }

// Rates returns the rates for weights stored as q.
func (g *GPU) Rates(q Quantization) Rates {
	if q == FP8 && g.FP8 != nil {
		return Rates{g.FP8.Peak.Value, g.FP8.MatmulRate.Value, g.FP8.WeightBandwidth.Value}
	}
	return Rates{g.Peak.Value, g.MatmulRate.Value, g.WeightBandwidth.Value}
}

// ExpertsOf returns ExpertKernels if they are known and hold for weights stored as q;
// nil: they don't.
func (g *GPU) ExpertsOf(q Quantization) *ExpertKernels {
	if q.bytes() < 1 {
		return nil
	}
	return g.ExpertKernels
}

// Bus is the all-reduce bandwidth of one tensor parallel degree.
type Bus struct {
	TP        int         `yaml:"tp"`
	Bandwidth Coefficient `yaml:"bandwidth"`
}

// Link is a way out of each GPU. Latency is paid once for a transfer, Bandwidth is
// that of one GPU in one direction: each GPU of an engine sends its own part of
// the KV over its own link.
type Link struct {
	Name      string      `yaml:"name"`
	Bandwidth Coefficient `yaml:"bandwidth"`
	Latency   Coefficient `yaml:"latency"`
}

// Link returns the link with that name. An unknown name is an error that lists the
// known ones.
func (g *GPU) Link(name string) (Link, error) {
	var known []string
	for i := range g.Links {
		if g.Links[i].Name == name {
			return g.Links[i], nil
		}
		known = append(known, g.Links[i].Name)
	}
	return Link{}, fmt.Errorf("GPU %s has no link %q: use one of %s", g.Name, name, strings.Join(known, ", "))
}

// BusBandwidth is the all-reduce bus bandwidth of tp GPUs in bytes per second.
func (g *GPU) BusBandwidth(tp int) (float64, error) {
	for i := range g.Bus {
		if g.Bus[i].TP == tp {
			return g.Bus[i].Bandwidth.Value, nil
		}
	}
	known := []int{1}
	for i := range g.Bus {
		known = append(known, g.Bus[i].TP)
	}
	return 0, fmt.Errorf("GPU %s has no all-reduce bandwidth for tensor parallel degree %d: use one of %v", g.Name, tp, known)
}

// FrontEndDelay is FrontEnd as a duration.
func (g *GPU) FrontEndDelay() time.Duration {
	return time.Duration(g.FrontEnd.Value * float64(time.Second))
}

// validate checks every field and the laws that join them.
func (g *GPU) validate() error {
	var errs []error
	type field struct {
		name string
		c    *Coefficient
		b    bounds
		unit string
	}
	fields := []field{
		{"peak_flops_bf16", &g.Peak, positive, "FLOP/s"},
		{"hbm_bandwidth", &g.HBM, positive, "B/s"},
		{"memory", &g.Memory, positive, "B"},
		{"weight_bandwidth_share", &g.WeightBandwidth, share, ""},
		{"matmul_share", &g.MatmulRate, share, ""},
		{"blend_exponent", &g.Blend, bounds{1, 100, true}, ""},
		{"kv_bandwidth_share", &g.KVBandwidth, share, ""},
		{"attention_share", &g.AttentionRate, share, ""},
		{"mixed_kv_factor", &g.MixedKV, bounds{1, 100, true}, ""},
		{"layer_launch", &g.LayerLaunch, cost, "s"},
		{"elementwise_work", &g.ElementwiseWork, cost, "s"},
		{"all_reduce_latency", &g.AllReduceLatency, cost, "s"},
		{"expert_share", &g.ExpertShare, share, ""},
		{"expert_launch", &g.ExpertLaunch, cost, "s"},
		{"gpu_step", &g.GPUStep, cost, "s"},
		{"gpu_sequence", &g.GPUSequence, cost, "s"},
		{"step_overhead", &g.Step, cost, "s"},
		{"sequence_overhead", &g.Sequence, cost, "s"},
		{"front_end", &g.FrontEnd, cost, "s"},
		{"host_link", &g.HostLink, positive, "B/s"},
		{"adapter_file", &g.AdapterFile, positive, "B/s"},
		{"non_kv_memory", &g.NonKV, cost, "B"},
		{"itl_error", &g.ITLError, positive, ""},
		{"ttft_error", &g.TTFTError, positive, ""},
	}
	if k := g.ExpertKernels; k != nil {
		fields = append(fields,
			field{"expert_kernels.bandwidth_share", &k.Bandwidth, share, ""},
			field{"expert_kernels.matmul_share", &k.Matmul, share, ""})
	}
	if g.FP8 != nil {
		fields = append(fields,
			field{"fp8.peak_flops", &g.FP8.Peak, positive, "FLOP/s"},
			field{"fp8.matmul_share", &g.FP8.MatmulRate, share, ""},
			field{"fp8.weight_bandwidth_share", &g.FP8.WeightBandwidth, share, ""})
	}
	for _, f := range fields {
		errs = append(errs, f.c.check(f.name, f.b, f.unit))
	}
	seen := map[int]bool{}
	for i := range g.Bus {
		b := &g.Bus[i]
		name := fmt.Sprintf("all_reduce_bus[%d]", i)
		if b.TP < 2 || seen[b.TP] {
			errs = append(errs, fmt.Errorf("%s.tp is %d: need each degree once, 2 or more", name, b.TP))
		}
		seen[b.TP] = true
		errs = append(errs, b.Bandwidth.check(name+".bandwidth", positive, "B/s"))
	}
	names := map[string]bool{}
	for i := range g.Links {
		l := &g.Links[i]
		field := fmt.Sprintf("kv_links[%d]", i)
		if l.Name == "" || names[l.Name] {
			errs = append(errs, fmt.Errorf("%s.name is %q: need each name once", field, l.Name))
		}
		names[l.Name] = true
		errs = append(errs, l.Bandwidth.check(field+".bandwidth", positive, "B/s"), l.Latency.check(field+".latency", cost, "s"))
	}
	if g.NonKV.Value >= g.Memory.Value && g.Memory.Value > 0 {
		errs = append(errs, fmt.Errorf("non_kv_memory is %v: need less than memory, %v", g.NonKV.Value, g.Memory.Value))
	}
	for _, q := range g.Covered.Quantization {
		if !slices.Contains(Quantizations(), q) {
			errs = append(errs, fmt.Errorf("covered.quantization holds %q: use %s", q, list(Quantizations())))
		}
	}
	return errors.Join(errs...)
}
