package steptime

import (
	"fmt"

	"goodput/profiles"
)

// Drafted is a Model whose steps draft as well as compute: in each, a drafter goes
// over all tokens that the target has computed, which keeps its KV up to date and
// gives a first draft for each row with output, and then over those rows once for
// each further draft:
//
//	target(b) + drafter(b) + (k-1) * drafter(one token for each row with output)
//
// The passes are one behind the other, as each needs the draft before. Context of
// rows without output, which only a prompt chunk is, counts in all of them: too
// much, by the reading of little KV.
//
// A look-up such as n-grams needs no Drafted: it costs the GPU nothing.
type Drafted struct {
	target, drafter *Analytic
	k               int64
}

var (
	_ Model   = (*Drafted)(nil)
	_ Bounded = (*Drafted)(nil)
)

// NewDrafted gives target a drafter of k drafts, k >= 1.
func NewDrafted(target, drafter *Analytic, k int) (*Drafted, error) {
	if k < 1 {
		return nil, fmt.Errorf("a drafter of %d drafts: need at least 1", k)
	}
	return &Drafted{target: target, drafter: drafter, k: int64(k)}, nil
}

// DraftGPU is gpu as a drafter sees it: the host's work on a step is done once, for
// the target, and the passes are launched as one.
func DraftGPU(gpu profiles.GPU) profiles.GPU {
	gpu.Step.Value, gpu.Sequence.Value = 0, 0
	gpu.GPUStep.Value, gpu.GPUSequence.Value = 0, 0
	return gpu
}

// DraftLayer is the drafter of EAGLE and of multi-token prediction: a layer like
// one of the target's, and its output head.
func DraftLayer(target profiles.Model) profiles.Model {
	target.Name += " draft layer"
	target.Layers, target.SlidingLayers, target.SlidingWindow = 1, 0, 0
	return target
}

// Step is the duration of b in picoseconds.
func (d *Drafted) Step(b *Batch) int64 {
	first, next := d.passes(b)
	ps := d.target.Step(b) + d.drafter.Step(&first)
	if next.Tokens > 0 && d.k > 1 {
		ps += (d.k - 1) * d.drafter.Step(&next)
	}
	return ps
}

// Drafting is the part of Step(b) that is the drafter's.
func (d *Drafted) Drafting(b *Batch) int64 { return d.Step(b) - d.target.Step(b) }

// Floor implements Bounded.
func (d *Drafted) Floor(b *Batch) int64 {
	first, next := d.passes(b)
	ps := d.target.Floor(b) + d.drafter.Floor(&first)
	if next.Tokens > 0 && d.k > 1 {
		ps += (d.k - 1) * d.drafter.Floor(&next)
	}
	return ps
}

// passes are what the drafter computes behind b: the first draft, and each other.
func (d *Drafted) passes(b *Batch) (first, next Batch) {
	rows := b.Emit - b.Drafts
	first = *b
	first.Emit, first.Drafts = rows, 0
	// Rows of one token count with it in DecodeCtx, the others without theirs.
	ctx := b.DecodeCtx + b.PrefillHist + int64(b.Tokens-(b.Seqs-b.Prefills))
	return first, Batch{Tokens: rows, Seqs: rows, Emit: rows, DecodeCtx: ctx}
}
