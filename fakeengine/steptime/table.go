package steptime

import "math"

// Table takes step times from measured kernel times instead of a formula. A
// step of T tokens in S rows, of which D decode and P prefill, takes
//
//	dense(T) + rows(S) + attention(prefill tokens, their history, D, mean decode context)
//
// where dense sums the kernels that work on tokens, over all layers, and rows
// the output head and the sampler, which vLLM runs for every scheduled row,
// also those of unfinished prompts. Between measured points each axis is linear
// (kernels are linear in each: logarithmic blending is biased upwards, the
// nearest point downwards), beyond the last one the last two are extended.
//
// Attention is measured as a whole: with a prefill in the step, decodes go
// through the general kernel and cost up to twice what they cost alone, so the
// two are not a sum. The table knows one prefill; several are taken as one of
// all their tokens and all their history, which is what the profiler's own
// simulator does. Contexts of different length cost more than their mean says;
// a measured share skew of the way to the longest one is added.
//
// The GPUs of a rank sum their parts up twice a layer and after the embedding, and
// bring the logits together; the ranks that share experts exchange tokens before
// and after these. Nothing of it is hidden behind computing.
//
// A Table adds no host time: it is the GPU's part of a step. It is read-only and
// safe for concurrent use.
//
// The form is that of LLMServingSim (casys-kaist/LLMServingSim); FORMAT.md
// describes the files.
type Table struct {
	dense, rows line
	attention   attention
	skew        float64
	experts     *experts // nil: the model has none

	layers, tp, ep int
	link           *Link   // nil: there is one GPU
	width, vocab   float64 // bytes of a token's activations and of a row's logits
}

var (
	_ Model  = (*Table)(nil)
	_ Ranked = (*Table)(nil)
)

// Step is the duration of b in picoseconds. b must have at least one token.
func (t *Table) Step(b *Batch) int64 { return t.Own(b) + t.Together(b.Tokens) }

// Ranks implements Ranked.
func (t *Table) Ranks() int { return t.ep }

// Own implements Ranked.
func (t *Table) Own(b *Batch) int64 {
	return picoseconds(t.dense.at(b.Tokens) + t.rows.at(b.Seqs) + t.attend(b) + t.reduce(b))
}

// Together implements Ranked.
func (t *Table) Together(tokens int) int64 {
	if t.experts == nil {
		return 0
	}
	return picoseconds(t.experts.at(tokens) + t.exchange(tokens))
}

// reduce is what the GPUs of a rank tell each other: the sum of what each has
// computed for the tokens after the embedding and after attention and MLP of each
// layer, and the logits.
func (t *Table) reduce(b *Batch) float64 {
	if t.tp == 1 {
		return 0
	}
	sums := float64(2*t.layers+1) * t.link.reduce(float64(float64(b.Tokens)*t.width), t.tp)
	return sums + t.link.gather(float64(float64(b.Seqs)*t.vocab), t.tp)
}

// exchange is what ranks that share experts tell each other in each layer: the
// tokens' activations and whom they go to, before, and the sum after.
func (t *Table) exchange(tokens int) float64 {
	if t.ep == 1 {
		return 0
	}
	bytes := float64(float64(tokens) * t.width)
	return float64(t.layers) * (2*t.link.gather(bytes, t.ep) + t.link.gather(0, t.ep))
}

func picoseconds(ps float64) int64 { return int64(math.Round(min(max(ps, 1), maxStep))) }

// maxStep bounds what extending a table far beyond its end may give, about a
// day.
const maxStep = 1e17

func (t *Table) attend(b *Batch) float64 {
	decodes := b.Seqs - b.Prefills
	q := query{chunk: float64(b.Tokens - decodes), history: float64(b.PrefillHist), decodes: float64(decodes)}
	if decodes > 0 {
		q.context = float64(b.DecodeCtx) / float64(decodes)
	}
	mean := t.attention.at(q)
	if t.skew == 0 || decodes < 2 {
		return mean
	}
	q.context = float64(b.DecodeMax)
	if longest := t.attention.at(q); longest > mean {
		mean += float64(t.skew * (longest - mean))
	}
	return mean
}

// Skew is the share of the way from the mean to the longest decode context at
// which attention is charged; 0: not measured, not charged.
func (t *Table) Skew() float64 { return t.skew }

// line is a function of a whole number, in picoseconds: a value for each
// argument from 0, extended linearly.
type line []float64

func (l line) at(n int) float64 {
	if n < len(l) {
		return l[n]
	}
	last := len(l) - 1
	return l[last] + float64(float64(n-last)*(l[last]-l[last-1]))
}

// curve is the measured points of a line, by increasing x.
type curve struct{ x, y []float64 }

// at is y at x, on the segment that holds it or on the nearest one. A curve of
// one point is constant.
func (c curve) at(x float64) float64 {
	if len(c.x) == 1 {
		return c.y[0]
	}
	i, f := segment(c.x, x)
	return mix(c.y[i], c.y[i+1], f)
}

// segment finds the piece of an axis of two or more points on which x lies, and
// how far along it is: below 0 or above 1 outside the axis.
func segment(axis []float64, x float64) (int, float64) {
	lo, hi := 0, len(axis)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; axis[mid] <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, (x - axis[lo]) / (axis[lo+1] - axis[lo])
}

// mix is written so that no processor may fuse its multiplication and addition,
// which would round differently from the others.
func mix(a, b, f float64) float64 { return a + float64((b-a)*f) }
