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

// part is one that requests have, in nanoseconds.
type part struct {
	name string
	of   func(r *record.Request) int64
}

// parts are the causes, in the order in which a request meets them. The last one
// is what the engine knows nothing of.
var parts = []part{
	{"front end", func(r *record.Request) int64 { return r.ServerSpentFrontEnd }},
	{SpentQueue, func(r *record.Request) int64 { return r.ServerSpentQueue }},
	{"prefill", func(r *record.Request) int64 { return r.ServerSpentPrefill }},
	{"decode", func(r *record.Request) int64 { return r.ServerSpentDecode }},
	{"interference", func(r *record.Request) int64 { return r.ServerSpentInterference }},
	{"transfer", func(r *record.Request) int64 { return r.ServerSpentTransfer }},
	{"preempted", func(r *record.Request) int64 { return r.ServerPreempted }},
	{"outside", func(r *record.Request) int64 { return r.E2E() - r.ServerE2E }},
}

// legs are the parts of the way of a request and its answer, as the client and the server
// see them: what the client did, the server's own times, and what is between the two. They
// sum to the time from the intended start to the end of the stream.
var legs = []part{
	{"earlier attempts", func(r *record.Request) int64 { return known64(r.Prior()) }},
	{"lag", func(r *record.Request) int64 { return known64(r.Lag()) }},
	{"client queue", func(r *record.Request) int64 { return known64(r.ClientQueue()) }},
	{"connect", func(r *record.Request) int64 { return known64(r.Connect()) }},
	{"upload", func(r *record.Request) int64 { return known64(r.Upload()) }},
	{"d_ttft", func(r *record.Request) int64 { return r.DTTFT }},
	{"front end", (*record.Request).ServerFrontEnd},
	{SpentQueue, func(r *record.Request) int64 { return r.ServerQueue }},
	{"prefill", func(r *record.Request) int64 { return r.ServerPrefill }},
	{"decode", func(r *record.Request) int64 { return r.ServerE2E - r.ServerTTFT }},
	{"d_tail", func(r *record.Request) int64 { return r.DTail }},
}

// known64 is 0 for what a request did not meet, such as a cap or a new connection.
func known64(v int64) int64 {
	if v == record.Null {
		return 0
	}
	return v
}

// spender sums up where the time went.
type spender struct {
	parts []part
	top   *stats.Top // nil until there is something
	row   []float64
}

// account takes a success of which the engine says where its time went.
func (s *spender) account(r *record.Request) {
	if r.ServerSpentQueue != record.Null && r.ServerE2E != record.Null {
		s.add(r, r.E2E())
	}
}

// travel takes a success of which the server says when its first token was.
func (s *spender) travel(r *record.Request) {
	if r.DTail != record.Null && r.ServerFrontEnd() != record.Null && r.Done.Known() {
		s.add(r, r.Done.Sub(r.Intended).Nanoseconds())
	}
}

// add takes a success that took so long.
func (s *spender) add(r *record.Request, whole int64) {
	if s.top == nil {
		s.top, s.row = stats.NewTop(len(s.parts)), make([]float64, len(s.parts))
	}
	for i, p := range s.parts {
		s.row[i] = float64(p.of(r))
	}
	s.top.Add(whole, r.Seq, s.row)
}

func (s *spender) finish() Spent {
	if s.top == nil {
		return Spent{}
	}
	n := s.top.N()
	out := Spent{N: n, SlowN: int64(slowShare*float64(n) + 0.999)}
	all, slow := s.top.Mean(n), s.top.Mean(out.SlowN)
	for i, p := range s.parts {
		out.Parts = append(out.Parts, Part{Name: p.name, Mean: all[i], Slow: slow[i]})
		out.E2E += all[i]
		out.SlowE2E += slow[i]
	}
	return out
}
