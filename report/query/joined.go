package query

import (
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Joined says of how many successes the server's account is known, and what the
// difference to the client's is. Figures of the unmatched are not guessed.
type Joined struct {
	// Successes are all; InProcess, Header and OTLP those with an account from there.
	Successes, InProcess, Header, OTLP int64
	// Missing, Ambiguous and Unlike successes have none, though the run has spans
	// (record.SpanMatch).
	Missing, Ambiguous, Unlike int64
	// Partial successes have an account without total times, since the server's wall
	// clock was set back meanwhile, or since another engine had computed the prompt.
	Partial int64
	// Negative deltas are below -1 ms: the server, or a router, says that the answer took
	// longer than the client saw.
	Negative int64
	// Routed successes have a span of a router on the way, too. Of Unnested ones nothing
	// follows from it: the spans are not one within the other.
	Routed, Unnested int64
	// Unsummed accounts have parts that do not sum to the time to the first token: a
	// defect.
	Unsummed int64
	// Deltas are d_e2e, d_tail and d_tpot, and what routers say of the way (record.Onion).
	Deltas []Metric
	// Path is what the client saw of all successes from when the request was written, the
	// means in nanoseconds: of the first token, and of the end. What the engines say of
	// the same, from then on, is the rest of what the way takes.
	PathTTFT, PathE2E Mean
	// With and Without are the ttft_send of successes that have an account from spans,
	// and of those that have none though others do.
	With, Without stats.Summary
}

// Matched is the number of successes with an account.
func (j *Joined) Matched() int64 { return j.InProcess + j.Header + j.OTLP }

// Spans reports whether the run has spans.
func (j *Joined) Spans() bool { return j.OTLP+j.Missing+j.Ambiguous+j.Unlike > 0 }

// Coverage is the share of successes with an account.
func (j *Joined) Coverage() Ratio { return Ratio{j.Matched(), j.Successes} }

// farNegative is in nanoseconds.
const farNegative = -1e6

// deltas are the metrics of Joined.Deltas.
var deltas = []struct {
	name string
	of   func(*record.Request) int64
}{
	{"d_e2e", func(r *record.Request) int64 { return r.DE2E }},
	{"d_tail", func(r *record.Request) int64 { return r.DTail }},
	{"d_tpot", func(r *record.Request) int64 { return r.DTPOT }},
	{"edge", func(r *record.Request) int64 { return r.Onion.Edge }},
	{"router", func(r *record.Request) int64 { return r.Onion.Router }},
	{"router_own", func(r *record.Request) int64 { return r.Onion.Own }},
	{"router_retries", func(r *record.Request) int64 { return r.Onion.Retries }},
	{"hop", func(r *record.Request) int64 { return r.Onion.Hop }},
}

// Mean is a mean over N values.
type Mean struct {
	Value float64
	N     int64
}

func (m *Mean) add(v int64) {
	m.N++
	m.Value += (float64(v) - m.Value) / float64(m.N)
}

// joins accumulates Joined.
type joins struct {
	f             Joined
	samples       [8]stats.Sample // of deltas
	with, without stats.Sample
}

// all are the samples that most runs have values of.
func (j *joins) all() []*stats.Sample {
	return []*stats.Sample{&j.samples[0], &j.samples[1], &j.samples[2]}
}

// add takes a success.
func (j *joins) add(r *record.Request) {
	f := &j.f
	f.Successes++
	if r.Wrote.Known() && r.FirstToken.Known() {
		f.PathTTFT.add(int64(r.FirstToken - r.Wrote))
	}
	if r.Wrote.Known() && r.Done.Known() {
		f.PathE2E.add(int64(r.Done - r.Wrote))
	}
	switch r.ServerSource {
	case "inprocess":
		f.InProcess++
	case "header":
		f.Header++
	case "otlp":
		f.OTLP++
	}
	side := &j.without
	switch r.Spans {
	case record.SpanUnasked:
		side = nil
	case record.SpanJoined:
		side = &j.with
	case record.SpanMissing:
		f.Missing++
	case record.SpanAmbiguous:
		f.Ambiguous++
	case record.SpanUnlike:
		f.Unlike++
	}
	if v := r.TTFTSend(); side != nil && v != record.Null {
		side.Add(v)
	}
	if r.ServerSource == "" {
		return
	}
	if r.DTTFT == record.Null {
		f.Partial++
	}
	if below(r.DTTFT) || below(r.DE2E) || below(r.Onion.Edge) {
		f.Negative++
	}
	switch {
	case r.Onion.Unnested:
		f.Unnested++
	case r.Onion.Router != record.Null:
		f.Routed++
	}
	if unsummed(r) {
		f.Unsummed++
	}
	for i, d := range deltas {
		if v := d.of(r); v != record.Null {
			j.samples[i].Add(v)
		}
	}
}

// unsummed asserts the identity of record: the parts of the time to the first token are
// all of it.
func unsummed(r *record.Request) bool {
	if r.DTTFT == record.Null || r.ServerFrontEnd() == record.Null || r.TTFT() == record.Null {
		return false
	}
	sum := r.DTTFT + r.ServerFrontEnd() + r.ServerQueue + r.ServerPrefill
	for _, part := range []int64{r.Prior(), r.Lag(), r.ClientQueue(), r.Connect(), r.Upload()} {
		if part != record.Null {
			sum += part
		}
	}
	return sum != r.TTFT()
}

func below(v int64) bool { return v != record.Null && v < farNegative }

func (j *joins) finish() Joined {
	j.f.Deltas = nil
	for i, d := range deltas {
		j.f.Deltas = append(j.f.Deltas, Metric{Name: d.name, Summary: j.samples[i].Summary()})
	}
	j.f.With, j.f.Without = j.with.Summary(), j.without.Summary()
	return j.f
}
