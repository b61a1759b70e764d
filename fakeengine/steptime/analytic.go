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
//	matmul      L * (|weight bytes/(eb*BW), 2*weights*T/(mfu*F)|_q + launch)
//	kv          L * KV bytes per token and layer * (C + H) / (ekv*BW)
//	attention   L * 4 * heads * head dim * (P2/2) / (ma*F)
//	elementwise L * (launch + T * hidden * work)
//	all-reduce  2L * (latency + 2(tp-1)/tp * T * hidden * bytes / bus), tp > 1
//	head        |head bytes/(eb*BW), 2*head weights*emitting rows/(mfu*F)|_q
//	host        step + B * sequence
//
// Weights, heads and KV are those of one of tp ranks. |a,b|_q is the q-norm
// (a^q + b^q)^(1/q): a maximum without the corner, because memory and compute
// overlap imperfectly just where serving batches lie.
//
// Every coefficient is rounded up to whole picoseconds once, when New computes
// it; a step is integer arithmetic. An Analytic is read-only after New and safe
// for concurrent use.
type Analytic struct {
	gpu   profiles.GPU
	model profiles.Model
	tp    int
	bus   float64 // bytes per second

	tokens []int64 // matmul + elementwise + all-reduce + step, by tokens
	head   []int64 // by emitting rows
	kv     int64   // per token of context
	seq    int64   // per sequence
	attn   int64   // per doubled pair, in units of 1/pairUnit ps
}

var _ Model = (*Analytic)(nil)

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
	a := &Analytic{gpu: gpu, model: model, tp: tp}
	if tp > 1 {
		bus, err := gpu.BusBandwidth(tp)
		if err != nil {
			return nil, err
		}
		a.bus = bus
	}
	hbm, peak := gpu.HBM.Value, gpu.Peak.Value
	a.kv = ps(float64(model.KVBytesPerToken(tp)) / (gpu.KVBandwidth.Value * hbm))
	a.seq = ps(gpu.Sequence.Value)
	rankHeads := float64(model.Heads) / float64(tp)
	pair := float64(model.Layers) * 4 * rankHeads * float64(model.HeadDim) / (gpu.AttentionRate.Value * peak)
	a.attn = ps(pairUnit * pair / 2)

	a.tokens = make([]int64, maxTokens+1)
	a.head = make([]int64, maxTokens+1)
	for t := 1; t <= maxTokens; t++ {
		a.tokens[t] = a.matmul(t) + a.elementwise(t) + a.allReduce(t) + a.host()
		a.head[t] = a.outputHead(t)
	}
	return a, nil
}

// Step is the duration of b in picoseconds. b must have at least one token.
func (a *Analytic) Step(b *Batch) int64 {
	if b.Tokens >= len(a.tokens) || b.Emit >= len(a.head) {
		bill := a.Bill(b)
		return bill.Total()
	}
	return a.tokens[b.Tokens] + a.head[b.Emit] + a.linear(b)
}

// linear is what grows with contexts and sequences.
func (a *Analytic) linear(b *Batch) int64 {
	return a.kv*(b.DecodeCtx+b.PrefillHist) + a.attention(b) + a.seq*int64(b.Seqs)
}

func (a *Analytic) attention(b *Batch) int64 {
	return (a.attn*b.PrefillPairs2 + pairUnit - 1) / pairUnit
}

func (a *Analytic) matmul(t int) int64 {
	layer := a.blend(float64(a.model.LayerWeights()), t) + a.gpu.MatmulLaunch.Value
	return ps(float64(a.model.Layers) * layer)
}

func (a *Analytic) outputHead(rows int) int64 {
	if rows == 0 {
		return 0
	}
	return ps(a.blend(float64(a.model.HeadWeights()), rows))
}

// blend is the time in seconds of multiplying t rows by a matrix of the given
// number of weights, split over the ranks.
func (a *Analytic) blend(weights float64, t int) float64 {
	weights /= float64(a.tp)
	read := weights * float64(a.model.WeightBytes) / (a.gpu.WeightBandwidth.Value * a.gpu.HBM.Value)
	work := 2 * weights * float64(t) / (a.gpu.MatmulRate.Value * a.gpu.Peak.Value)
	q := a.gpu.Blend.Value
	// The larger one is taken out, so that no power overflows.
	hi, lo := max(read, work), min(read, work)
	return hi * math.Pow(1+math.Pow(lo/hi, q), 1/q)
}

func (a *Analytic) elementwise(t int) int64 {
	perToken := float64(a.model.Hidden) * a.gpu.ElementwiseWork.Value
	return ps(float64(a.model.Layers) * (a.gpu.ElementwiseLaunch.Value + float64(t)*perToken))
}

func (a *Analytic) allReduce(t int) int64 {
	if a.tp == 1 {
		return 0
	}
	message := float64(t) * float64(a.model.Hidden) * float64(a.model.WeightBytes)
	share := 2 * float64(a.tp-1) / float64(a.tp)
	return ps(2 * float64(a.model.Layers) * (a.gpu.AllReduceLatency.Value + share*message/a.bus))
}

func (a *Analytic) host() int64 { return ps(a.gpu.Step.Value) }

// ps rounds seconds up to picoseconds, so that no step becomes faster than its
// exact value.
func ps(seconds float64) int64 { return int64(math.Ceil(seconds * 1e12)) }
