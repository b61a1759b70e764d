package fit

import "goodput/profiles"

// Batch is what one engine step computes, in the sums on which its duration
// depends. Each field means what it means in fakeengine/steptime.Batch.
type Batch struct {
	Tokens, Seqs, Emit, Prefills                     int
	DecodeCtx, DecodeMax, PrefillHist, PrefillPairs2 int64
}

// add counts rows of n new tokens each, behind the first computed ones.
func (b *Batch) add(rows, computed, n int) {
	b.Tokens += rows * n
	b.Seqs += rows
	if n == 1 {
		b.DecodeCtx += int64(rows) * int64(computed+1)
		b.DecodeMax = max(b.DecodeMax, int64(computed+1))
		return
	}
	b.Prefills += rows
	b.PrefillHist += int64(rows) * int64(computed)
	b.PrefillPairs2 += int64(rows) * int64(n) * int64(2*computed+n)
}

// Steps says how long a step takes, in picoseconds. It must be linear in
// DecodeCtx.
type Steps interface {
	Step(b *Batch) int64
}

// Bounded is Steps that know the least time in which the hardware could do a step, in
// picoseconds.
type Bounded interface {
	Floor(b *Batch) int64
}

// Builder makes the step times of a profile, for tp GPUs per engine. overlap: the
// engine prepares a step while the last one runs.
type Builder func(gpu *profiles.GPU, model *profiles.Model, tp int, overlap bool) (Steps, error)

func seconds(s Steps, b Batch) float64 { return float64(s.Step(&b)) / 1e12 }
