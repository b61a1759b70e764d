package query

import (
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Part is one cause of the time that requests took, in nanoseconds per request.
type Part struct {
	Name string
	// Mean is over all requests, Slow over the slowest of them.
	Mean, Slow float64
}

// Spent is where the time of successes went, by the engines' own account. N is 0
// where there is none.
type Spent struct {
	// N requests are counted, the SlowN with the longest e2e once more.
	N, SlowN int64
	// Parts sum to E2E and SlowE2E.
	Parts        []Part
	E2E, SlowE2E float64
}

// slowShare of the requests are the slowest.
const slowShare = 0.01

// SpentQueue is the name of the part that is waiting for the first step.
const SpentQueue = "queue"

// parts are the causes, in the order in which a request meets them. The last one
// is what the engine knows nothing of.
var parts = []struct {
	name string
	of   func(r *record.Request) int64
}{
	{"front end", func(r *record.Request) int64 { return r.ServerSpentFrontEnd }},
	{SpentQueue, func(r *record.Request) int64 { return r.ServerSpentQueue }},
	{"prefill", func(r *record.Request) int64 { return r.ServerSpentPrefill }},
	{"decode", func(r *record.Request) int64 { return r.ServerSpentDecode }},
	{"interference", func(r *record.Request) int64 { return r.ServerSpentInterference }},
	{"transfer", func(r *record.Request) int64 { return r.ServerSpentTransfer }},
	{"preempted", func(r *record.Request) int64 { return r.ServerPreempted }},
	{"outside", func(r *record.Request) int64 { return r.E2E() - r.ServerE2E }},
}

// spender sums up where the time went.
type spender struct {
	top *stats.Top // nil until there is something
	row []float64
}

// add takes a success.
func (s *spender) add(r *record.Request) {
	if r.ServerSpentQueue == record.Null || r.ServerE2E == record.Null {
		return
	}
	if s.top == nil {
		s.top, s.row = stats.NewTop(len(parts)), make([]float64, len(parts))
	}
	for i, p := range parts {
		s.row[i] = float64(p.of(r))
	}
	s.top.Add(r.E2E(), s.row)
}

func (s *spender) finish() Spent {
	if s.top == nil {
		return Spent{}
	}
	n := s.top.N()
	out := Spent{N: n, SlowN: int64(slowShare*float64(n) + 0.999)}
	all, slow := s.top.Mean(n), s.top.Mean(out.SlowN)
	for i, p := range parts {
		out.Parts = append(out.Parts, Part{Name: p.name, Mean: all[i], Slow: slow[i]})
		out.E2E += all[i]
		out.SlowE2E += slow[i]
	}
	return out
}
