package steptime

import (
	"fmt"
	"math"
	"sync/atomic"

	"goodput/profiles"
)

// Analytic computes step times from profiles. Per step of T tokens in B
// sequences, with L layers and sums C, H, P2 as in Batch (DecodeCtx,
// PrefillHist, PrefillPairs2):
//
//	matmul      L * |weight bytes(T)/(eb*BW), 2*active weights*T/(mfu*F)|_q
//	kv          L * KV bytes per token and layer * (C*mix + H) / (ekv*BW)
//	attention   L * 4 * heads * head dim * (P2/2) / (ma*F)
//	elementwise L * T * hidden * work
//	all-reduce  2L * (latency + 2(tp-1)/tp * T * hidden * bytes / bus), tp > 1
//	head        |head bytes/(eb*BW), 2*head weights*emitting rows/(mfu*F)|_q
//	launch      L * layer launch + GPU step
//	sequences   B * GPU sequence
//	host        step + B * sequence; of an engine that overlaps, what of it exceeds
//	            everything above but kv
//
// Weights, heads and KV are those of one of tp ranks. |a,b|_q is the q-norm
// (a^q + b^q)^(1/q): a maximum without the corner, because memory and compute
// overlap imperfectly just where serving batches lie.
//
// Of a mixture of experts, weight bytes(T) are those of the experts that T tokens
// are expected to reach, N(1-(1-k/N)^T) of N with k per token; active weights are
// those of k experts. Weights are read as they are stored, and multiplied in FP8
// if they are FP8 and the GPU can, else at 16 bits; attention, head and
// activations are at 16 bits.
//
// Layers with a sliding window of w tokens count as if every sequence filled it:
// w tokens of KV per sequence and w pairs per token instead of C, H and P2. For
// shorter sequences that is too much, by little.
//
// mix is 1 in a step of answers alone. Beside a prompt, reading their KV cache takes
// longer, because one kernel serves both: tables measured with vLLM 0.19 on an RTX
// 4090 (casys-kaist/LLMServingSim) show 2 to 4 times as much. A Table holds that
// effect as it was measured.
//
// The products of routed experts have a sum of their own, at a share of these rates,
// and a launch per layer. Where the GPU's profile knows kernels of experts, those of 8
// and 16 bits take the sum of reading and multiplying at the shares measured with them.
//
// A step is linear in C while its other sums stay the same.
//
// Every coefficient is rounded up to whole picoseconds once, when New computes
// it; a step is integer arithmetic. An Analytic does not change after New, but for
// what it remembers, and is safe for concurrent use.
type Analytic struct {
	gpu     profiles.GPU
	model   profiles.Model
	tp      int
	rates   profiles.Rates          // of the layers' matrix products
	experts *profiles.ExpertKernels // nil: they run at gpu.ExpertShare of rates
	bus     float64                 // bytes per second

	// tokens is what depends on the number of tokens alone, and what is constant; head
	// is by emitting rows. Both are filled in as steps need them; 0: not yet. Whoever
	// comes first finds the same.
	tokens, head []atomic.Int64

	kv     int64 // per token of context
	mixed  int64 // per token of context of answers beside a prompt, beyond kv
	window int64 // per sequence, of the sliding layers
	gpuSeq int64 // per sequence, of the GPU
	step   int64 // of the host, and for each sequence:
	seq    int64
	attn   int64 // per doubled pair of the other layers, in units of 1/pairUnit ps
	near   int64 // per token of the sliding layers, in the same units

	overlap bool // the host's share hides behind the GPU's
}

var (
	_ Model   = (*Analytic)(nil)
	_ Bounded = (*Analytic)(nil)
	_ Linear  = (*Analytic)(nil)
)

// pairUnit refines the cost of a query-key pair, which is below a nanosecond
// and shrinks with tp.
const pairUnit = 1 << 10

// New quantises the profiles for tp GPUs per engine. Steps of up to maxTokens
// tokens are looked up in a table once they occurred; longer ones are computed each
// time.
func New(gpu profiles.GPU, model profiles.Model, tp, maxTokens int) (*Analytic, error) {
	if err := model.CheckTP(tp); err != nil {
		return nil, err
	}
	if maxTokens < 1 {
		return nil, fmt.Errorf("step-time table of %d tokens: need at least 1, the token budget of a step", maxTokens)
	}
	a := &Analytic{gpu: gpu, model: model, tp: tp, rates: gpu.Rates(model.Quantization), experts: gpu.ExpertsOf(model.Quantization)}
	if tp > 1 {
		bus, err := gpu.BusBandwidth(tp)
		if err != nil {
			return nil, err
		}
		a.bus = bus
	}
	kvRate := gpu.KVBandwidth.Value * gpu.HBM.Value
	a.kv = ps(float64(model.KVBytesPerToken(tp)) / kvRate)
	a.window = ps(float64(model.WindowBytes(tp)) / kvRate)
	a.mixed = ps(float64(model.KVBytesPerToken(tp))/kvRate*gpu.MixedKV.Value) - a.kv
	a.gpuSeq = ps(gpu.GPUSequence.Value)
	a.step, a.seq = ps(gpu.Step.Value), ps(gpu.Sequence.Value)
	attnRate := gpu.AttentionRate.Value * gpu.Peak.Value
	a.attn = ps(pairUnit * a.pairFLOPs(model.FullLayers()) / attnRate / 2)
	a.near = ps(pairUnit * a.pairFLOPs(model.SlidingLayers) * float64(model.SlidingWindow) / attnRate)

	a.tokens = make([]atomic.Int64, maxTokens+1)
	a.head = make([]atomic.Int64, maxTokens+1)
	return a, nil
}

// byTokens is tokens[t].
func (a *Analytic) byTokens(t int) int64 {
	if v := a.tokens[t].Load(); v != 0 {
		return v
	}
	return a.fillTokens(t)
}

func (a *Analytic) fillTokens(t int) int64 {
	if t == 0 {
		return 0
	}
	v := a.matmul(t) + a.nearby(t) + a.elementwise(t) + a.allReduce(t) + a.launch()
	a.tokens[t].Store(v)
	return v
}

// byRows is head[rows].
func (a *Analytic) byRows(rows int) int64 {
	if v := a.head[rows].Load(); v != 0 {
		return v
	}
	return a.fillHead(rows)
}

func (a *Analytic) fillHead(rows int) int64 {
	v := a.outputHead(rows)
	a.head[rows].Store(v)
	return v
}

// pairFLOPs is the work of one rank for one query-key pair in so many layers.
func (a *Analytic) pairFLOPs(layers int) float64 {
	return float64(layers) * 4 * float64(a.model.Heads) / float64(a.tp) * float64(a.model.HeadDim)
}

// Step is the duration of b in picoseconds. b must have at least one token.
func (a *Analytic) Step(b *Batch) int64 {
	if b.Tokens >= len(a.tokens) || b.Emit >= len(a.head) {
		bill := a.Bill(b)
		return bill.Total()
	}
	work := a.byTokens(b.Tokens) + a.byRows(b.Emit) + a.pairs(b) + a.gpuSeq*int64(b.Seqs)
	return work + a.context(b) + a.exposed(work, b.Seqs)
}

// exposed is the host's share of a step that the GPU's work does not hide. Reading
// the KV cache is no part of that work: a little less is hidden than could be, and a
// step stays linear in the context.
func (a *Analytic) exposed(work int64, seqs int) int64 {
	host := a.step + a.seq*int64(seqs)
	if a.overlap {
		return max(0, host-work)
	}
	return host
}

// Overlap returns the step times of an engine that prepares a step while the last one
// runs.
func (a *Analytic) Overlap() *Analytic {
	o := *a
	o.overlap = true
	return &o
}

// PerContext implements Linear.
func (a *Analytic) PerContext() int64 { return a.kv }

// context is the reading of the KV cache.
func (a *Analytic) context(b *Batch) int64 {
	t := a.kv*(b.DecodeCtx+b.PrefillHist) + a.window*int64(b.Seqs)
	if b.Prefills > 0 {
		t += a.mixed * b.DecodeCtx
	}
	return t
}

// pairs is prompt attention over the whole context, nearby attention within the
// window of the sliding layers.
func (a *Analytic) pairs(b *Batch) int64 { return (a.attn*b.PrefillPairs2 + pairUnit - 1) / pairUnit }
func (a *Analytic) nearby(t int) int64   { return (a.near*int64(t) + pairUnit - 1) / pairUnit }

func (a *Analytic) matmul(t int) int64 {
	if a.model.Experts == 0 {
		return ps(float64(a.model.Layers) * a.blend(a.layerRead(t), a.layerWork(t)))
	}
	read, work := a.expertRead(t), a.expertWork(t)
	layer := a.blend(a.layerRead(t)-read, a.layerWork(t)-work)
	if a.experts != nil {
		layer += read + work
	} else {
		layer += a.blend(read, work)
	}
	return ps(float64(a.model.Layers) * layer)
}

// expertRead and expertWork are the parts of layerRead and layerWork that routed
// experts have.
func (a *Analytic) expertRead(t int) float64 {
	share := a.rates.Bandwidth * a.gpu.ExpertShare.Value
	if a.experts != nil {
		share = a.experts.Bandwidth.Value
	}
	return a.model.ExpertBytes(t) / float64(a.tp) / (share * a.gpu.HBM.Value)
}

func (a *Analytic) expertWork(t int) float64 {
	share := a.rates.Matmul * a.gpu.ExpertShare.Value
	if a.experts != nil {
		share = a.experts.Matmul.Value
	}
	return a.work(a.model.ActiveExpertWeights(), t) / share
}

// layerRead and layerWork are the seconds in which one rank could read, and
// multiply with, the weights of a layer.
func (a *Analytic) layerRead(t int) float64 {
	dense := a.model.LayerBytes(t) - a.model.ExpertBytes(t)
	return dense/float64(a.tp)/(a.rates.Bandwidth*a.gpu.HBM.Value) + a.expertRead(t)
}

func (a *Analytic) layerWork(t int) float64 {
	return a.work(a.model.ActiveLayerWeights()-a.model.ActiveExpertWeights(), t)/a.rates.Matmul + a.expertWork(t)
}

// work is the seconds in which one rank could multiply t tokens with so many weights
// at its peak rate.
func (a *Analytic) work(weights int64, t int) float64 {
	return 2 * float64(weights) / float64(a.tp) * float64(t) / a.rates.Peak
}

func (a *Analytic) outputHead(rows int) int64 {
	if rows == 0 {
		return 0
	}
	return ps(a.blend(a.headRead(), a.headWork(rows)))
}

func (a *Analytic) headRead() float64 {
	return a.model.HeadBytes() / float64(a.tp) / (a.gpu.WeightBandwidth.Value * a.gpu.HBM.Value)
}

func (a *Analytic) headWork(rows int) float64 {
	return 2 * float64(a.model.HeadWeights()) / float64(a.tp) * float64(rows) / (a.gpu.MatmulRate.Value * a.gpu.Peak.Value)
}

// blend is the q-norm of two durations.
func (a *Analytic) blend(read, work float64) float64 {
	q := a.gpu.Blend.Value
	// The larger one is taken out, so that no power overflows.
	hi, lo := max(read, work), min(read, work)
	return hi * math.Pow(1+math.Pow(lo/hi, q), 1/q)
}

func (a *Analytic) launch() int64 {
	each := a.gpu.LayerLaunch.Value
	if a.model.Experts > 0 {
		each += a.gpu.ExpertLaunch.Value
	}
	return ps(float64(a.model.Layers)*each + a.gpu.GPUStep.Value)
}

func (a *Analytic) elementwise(t int) int64 {
	perToken := float64(a.model.Hidden) * a.gpu.ElementwiseWork.Value
	return ps(float64(a.model.Layers) * float64(t) * perToken)
}

func (a *Analytic) allReduce(t int) int64 {
	if a.tp == 1 {
		return 0
	}
	message := float64(t) * a.model.ActivationBytes()
	share := 2 * float64(a.tp-1) / float64(a.tp)
	return ps(2 * float64(a.model.Layers) * (a.gpu.AllReduceLatency.Value + share*message/a.bus))
}

// ps rounds seconds up to picoseconds, so that no step becomes faster than its
// exact value.
func ps(seconds float64) int64 { return int64(math.Ceil(seconds * 1e12)) }
