package steptime

import (
	"fmt"
	"math"

	"goodput/profiles"
)

// Analytic computes step times from profiles. Per step of T tokens in B
// sequences, with L layers and sums C, H, P2 as in Batch (DecodeCtx,
// PrefillHist, PrefillPairs2):
//
//	matmul      L * |weight bytes(T)/(eb*BW), 2*active weights*T/(mfu*F)|_q
//	kv          L * KV bytes per token and layer * (C + H) / (ekv*BW)
//	attention   L * 4 * heads * head dim * (P2/2) / (ma*F)
//	elementwise L * T * hidden * work
//	all-reduce  2L * (latency + 2(tp-1)/tp * T * hidden * bytes / bus), tp > 1
//	head        |head bytes/(eb*BW), 2*head weights*emitting rows/(mfu*F)|_q
//	launch      L * (launch of matmuls + launch of the rest)
//	host        step + B * sequence
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
// Attention of a step that holds both prompt chunks and decodes is the sum of the
// two. On GPUs whose kernel serves both in one launch it takes longer than that:
// tables measured with vLLM 0.19 on an RTX 4090 and an RTX PRO 6000
// (casys-kaist/LLMServingSim) show decodes cost 2 to 4 times as much beside a
// chunk. How much depends on the kernel, and no such measurement of the GPUs that
// have a profile was at hand, so there is no coefficient for it here; a Table
// holds the effect for the GPU that it was measured on.
//
// Every coefficient is rounded up to whole picoseconds once, when New computes
// it; a step is integer arithmetic. An Analytic is read-only after New and safe
// for concurrent use.
type Analytic struct {
	gpu   profiles.GPU
	model profiles.Model
	tp    int
	rates profiles.Rates // of the layers' matrix products
	bus   float64        // bytes per second

	tokens []int64 // what depends on the number of tokens alone, and what is constant
	head   []int64 // by emitting rows
	kv     int64   // per token of context
	window int64   // per sequence, of the sliding layers
	seq    int64   // per sequence
	attn   int64   // per doubled pair of the other layers, in units of 1/pairUnit ps
	near   int64   // per token of the sliding layers, in the same units
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
// tokens are looked up in a table; longer ones are computed each time.
func New(gpu profiles.GPU, model profiles.Model, tp, maxTokens int) (*Analytic, error) {
	if err := model.CheckTP(tp); err != nil {
		return nil, err
	}
	if maxTokens < 1 {
		return nil, fmt.Errorf("step-time table of %d tokens: need at least 1, the token budget of a step", maxTokens)
	}
	a := &Analytic{gpu: gpu, model: model, tp: tp, rates: gpu.Rates(model.Quantization)}
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
	a.seq = ps(gpu.Sequence.Value)
	attnRate := gpu.AttentionRate.Value * gpu.Peak.Value
	a.attn = ps(pairUnit * a.pairFLOPs(model.FullLayers()) / attnRate / 2)
	a.near = ps(pairUnit * a.pairFLOPs(model.SlidingLayers) * float64(model.SlidingWindow) / attnRate)

	a.tokens = make([]int64, maxTokens+1)
	a.head = make([]int64, maxTokens+1)
	for t := 1; t <= maxTokens; t++ {
		a.tokens[t] = a.matmul(t) + a.nearby(t) + a.elementwise(t) + a.allReduce(t) + a.launch() + a.host()
		a.head[t] = a.outputHead(t)
	}
	return a, nil
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
	return a.tokens[b.Tokens] + a.head[b.Emit] + a.context(b) + a.pairs(b) + a.seq*int64(b.Seqs)
}

// PerContext implements Linear.
func (a *Analytic) PerContext() int64 { return a.kv }

// context is the reading of the KV cache.
func (a *Analytic) context(b *Batch) int64 {
	return a.kv*(b.DecodeCtx+b.PrefillHist) + a.window*int64(b.Seqs)
}

// pairs is prompt attention over the whole context, nearby attention within the
// window of the sliding layers.
func (a *Analytic) pairs(b *Batch) int64 { return (a.attn*b.PrefillPairs2 + pairUnit - 1) / pairUnit }
func (a *Analytic) nearby(t int) int64   { return (a.near*int64(t) + pairUnit - 1) / pairUnit }

func (a *Analytic) matmul(t int) int64 {
	return ps(float64(a.model.Layers) * a.blend(a.layerRead(t), a.layerWork(t)))
}

// layerRead and layerWork are the seconds in which one rank could read, and
// multiply with, the weights of a layer.
func (a *Analytic) layerRead(t int) float64 {
	return a.model.LayerBytes(t) / float64(a.tp) / (a.rates.Bandwidth * a.gpu.HBM.Value)
}

func (a *Analytic) layerWork(t int) float64 {
	return 2 * float64(a.model.ActiveLayerWeights()) / float64(a.tp) * float64(t) / (a.rates.Matmul * a.rates.Peak)
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
	return ps(float64(a.model.Layers) * (a.gpu.MatmulLaunch.Value + a.gpu.ElementwiseLaunch.Value))
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

func (a *Analytic) host() int64 { return ps(a.gpu.Step.Value) }

// ps rounds seconds up to picoseconds, so that no step becomes faster than its
// exact value.
func ps(seconds float64) int64 { return int64(math.Ceil(seconds * 1e12)) }
