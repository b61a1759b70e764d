package dispatch

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// attempt is one try at a request. It belongs to its flight, and is used again with
// it.
type attempt struct {
	f   *flight
	req target.Request
	asm observe.Assembler
	// began is when it was handed to the target, due when a retry or a hedge was to
	// be; Never for a first attempt.
	began, due clock.Time
	hedge      bool
	row        *record.Request // asm's, once it has ended; nil: it has not
	// said is what the answer was, if the target told, and lost that it could not.
	said *target.Quote
	lost bool
}

// begin prepares f for the request that is in f.first.
func (f *flight) begin() {
	f.abandoned, f.hungUp, f.winner = false, false, nil
	f.tries, f.live, f.retried = 0, 0, 0
	f.first.f, f.first.due, f.first.hedge = f, clock.Never, false
}

// attempt is number i of those that were started.
func (f *flight) attempt(i int) *attempt {
	if i == 0 {
		return &f.first
	}
	return f.again[i-1]
}

// another prepares another attempt, which is due now.
func (f *flight) another(due clock.Time, hedge bool) *attempt {
	n := f.tries
	if len(f.again) < n {
		f.again = append(f.again, &attempt{f: f})
	}
	a := f.again[n-1]
	a.req, a.due, a.hedge, a.row = f.first.req, due, hedge, nil
	a.req.Attempt, a.req.Later = n, due.Sub(a.req.Intended)
	a.req.TraceID, a.req.SpanID = traceIDs(f.d.ids, a.req.Seq, n)
	return a
}
