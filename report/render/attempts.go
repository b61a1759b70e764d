package render

import (
	"fmt"
	"strings"

	"goodput/loadgen/record"
)

// attempts writes what the client did beside sending each request once, if it did.
func (r *Report) attempts(b *strings.Builder) {
	a := &r.Attempts
	per, ok := r.Amplification()
	if !ok || a.N <= r.Sent && a.Wasted == 0 {
		return
	}
	fmt.Fprintf(b, "attempts   %d, %.4g a request", a.N, per)
	if n := a.Failed(); n > 0 {
		fmt.Fprintf(b, "; %d failed before another one:", n)
		for o, n := range a.Retried {
			if n > 0 {
				fmt.Fprintf(b, " %s %d", record.Outcome(o), n)
			}
		}
	}
	if a.Hedges > 0 {
		fmt.Fprintf(b, "; %d hedges, %d won", a.Hedges, a.HedgesWon)
	}
	fmt.Fprintf(b, "; %d tokens wasted", a.Wasted)
	if a.Chunked > 0 {
		fmt.Fprintf(b, " (%d of them counted as chunks)", a.Chunked)
	}
	b.WriteByte('\n')
}

// jsonAttempts is the account of attempts. Wasted tokens were received by attempts
// that do not count; where nobody counted them they are chunks.
type jsonAttempts struct {
	N             int64            `json:"n"`
	Amplification *float64         `json:"amplification"`
	Hedges        int64            `json:"hedges"`
	HedgesWon     int64            `json:"hedges_won"`
	Failed        map[string]int64 `json:"failed"`
	WastedTokens  int64            `json:"wasted_tokens"`
	WastedChunks  int64            `json:"wasted_as_chunks"`
}

func (r *Report) attemptsJSON() jsonAttempts {
	a := &r.Attempts
	out := jsonAttempts{
		N: a.N, Amplification: maybe(r.Amplification()), Hedges: a.Hedges, HedgesWon: a.HedgesWon,
		Failed: map[string]int64{}, WastedTokens: a.Wasted, WastedChunks: a.Chunked,
	}
	for o, n := range a.Retried {
		if n > 0 {
			out.Failed[record.Outcome(o).String()] = n
		}
	}
	return out
}
