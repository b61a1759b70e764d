package steptime

// Batch is what one engine step computes, reduced to the sums on which its
// duration depends. A row of one new token counts as decode, whatever phase its
// sequence is in: the attention kernel does the same work.
type Batch struct {
	// Tokens computed, in Seqs rows. Emit is the number of them for which logits are
	// computed: the last one of each row that gives an output token, and the drafts
	// to verify, of which there are Drafts.
	Tokens, Seqs, Emit, Drafts int
	// Prefills is the number of rows of several new tokens.
	Prefills int
	// DecodeCtx is the sum, over rows of one new token, of the tokens attended
	// to, the new one included.
	DecodeCtx int64
	// DecodeMax is the largest term of that sum; 0: no such row.
	DecodeMax int64
	// PrefillHist is the sum, over rows of several new tokens, of the tokens that
	// were there before.
	PrefillHist int64
	// PrefillPairs2 is twice the number of causal query-key pairs of the rows of
	// several new tokens: the sum of p*(2s+p), p new tokens behind s old ones.
	PrefillPairs2 int64
}

// Add counts a row of n new tokens, n >= 1, behind the first computed ones.
func (b *Batch) Add(computed, n int) {
	b.Tokens += n
	b.Seqs++
	if n == 1 {
		b.DecodeCtx += int64(computed) + 1
		b.DecodeMax = max(b.DecodeMax, int64(computed)+1)
		return
	}
	b.Prefills++
	b.PrefillHist += int64(computed)
	b.PrefillPairs2 += int64(n) * int64(2*computed+n)
}

// Model says how long a step takes.
type Model interface {
	// Step is the duration of b in picoseconds, more than 0. It depends on
	// nothing else, so that runs can be repeated.
	Step(b *Batch) int64
}

// Linear is a Model that keeps no state, and whose steps without prompts grow by the
// same time for each token of DecodeCtx, whatever else they compute. It does not read
// DecodeMax, which may be left at 0.
type Linear interface {
	Model
	// PerContext is that time in picoseconds.
	PerContext() int64
}

// Ranked is a Model of one of several ranks, each with a scheduler of its own, that
// do part of every step together.
type Ranked interface {
	Model
	// Ranks is their number; 1: Step is Own and Together in one.
	Ranks() int
	// Own is the time in picoseconds of what a rank does for itself, and Together that
	// of the common part, for the tokens of all ranks.
	Own(b *Batch) int64
	Together(tokens int) int64
}
