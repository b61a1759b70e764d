package query

import "goodput/loadgen/record"

// Attempts is the account of the attempts at the requests of the window.
type Attempts struct {
	// N attempts were sent, of which Hedges beside a slow one; HedgesWon of these
	// decided their request.
	N, Hedges, HedgesWon int64
	// Retried counts retries by what made them necessary: the outcome of the attempt
	// before.
	Retried [record.NumOutcomes]int64
	// Wasted outputs were received and are of no use: those of attempts that do not
	// decide a request, and of requests given up. They are the tokens that a server or
	// its stream counted, else chunks, which may hold several.
	Wasted int64
	// Chunked of the wasted outputs are chunks.
	Chunked int64
}

func (a *Attempts) add(r *record.Request) {
	if r.Dispatched.Known() {
		a.N++
		if r.Hedge {
			a.Hedges++
		}
	}
	if r.Final {
		if r.Hedge {
			a.HedgesWon++
		}
		if r.Outcome != record.Canceled {
			return
		}
	} else if r.Outcome != record.Canceled && r.Outcome != record.OK {
		a.Retried[r.Outcome]++
	}
	switch {
	case r.OutputTokens != record.Null32:
		a.Wasted += int64(r.OutputTokens)
	default:
		a.Wasted += known(r.Chunks)
		a.Chunked += known(r.Chunks)
	}
}

// Failed is the number of attempts that failed and do not decide their request: another
// one was made, or was under way already.
func (a *Attempts) Failed() int64 {
	n := int64(0)
	for _, k := range a.Retried {
		n += k
	}
	return n
}

// Amplification is attempts per request; ok is false without requests.
func (f *Figures) Amplification() (rate float64, ok bool) {
	if f.Sent == 0 {
		return 0, false
	}
	return float64(f.Attempts.N) / float64(f.Sent), true
}
