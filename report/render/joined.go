package render

import (
	"fmt"
	"strings"

	"goodput/report/query"
	"goodput/report/stats"
)

// fullCoverage is the share of successes with spans above which the rest is too small
// to bias a median; of high quantiles it says nothing.
const fullCoverage = 0.99

// Outside reports whether something lies between the server and the client that is
// worth a table: in one process nothing does.
func (r *Report) Outside() bool { return r.Joined.Spans() || r.Joined.Header > 0 }

// joined writes what the way between the server and the client costs.
func (r *Report) joined(b *strings.Builder) {
	j := &r.Joined
	if !r.Outside() {
		return
	}
	fmt.Fprintf(b, "server     known for %s of %d successes (spans %d, headers %d)\n", percentOf(j.Coverage()), j.Successes, j.OTLP, j.Header)
	if j.Matched() == 0 {
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, "%-16s %8s %10s %10s %10s %10s %10s\n", "client - server", "n", "mean", "p50", "p90", "p95", "p99")
	for _, m := range r.AllDeltas() {
		if m.N == 0 {
			continue
		}
		s := inUnit(m)
		fmt.Fprintf(b, "  %-14s %8d %10s", m.Name+" "+unitName, m.N, signed(s.Mean))
		for i, v := range []float64{s.P50, s.P90, s.P95, s.P99} {
			if m.Worth() < stats.MinN(fractions[i]) {
				fmt.Fprintf(b, " %10s", "-")
				continue
			}
			fmt.Fprintf(b, " %10s", signed(v))
		}
		b.WriteByte('\n')
	}
	b.WriteString("  the server's own HTTP layer is in it: a run without the router tells how much\n")
	if j.Routed > 0 {
		fmt.Fprintf(b, "  of d_e2e, by the router's spans of %d answers: edge (before the router) + router (own + retries + hop to the engine)\n", j.Routed)
	}
	b.WriteByte('\n')
}

// AllDeltas are d_ttft and the others, in nanoseconds.
func (r *Report) AllDeltas() []query.Metric {
	m, _ := r.Metric("d_ttft")
	return append([]query.Metric{m}, r.Joined.Deltas...)
}

// signed is cell for values that may be negative.
func signed(v float64) string {
	if v < 0 {
		return "-" + cell(-v)
	}
	return cell(v)
}

func percentOf(x query.Ratio) string {
	if !x.Known() {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*x.Value())
}

// warnJoined warns of what makes the deltas doubtful.
func (r *Report) warnJoined(warn func(format string, args ...any)) {
	j := &r.Joined
	if !j.Spans() {
		n, asked := r.Manifest.Counters["otlp_spans"]
		switch {
		case !asked || j.Successes == 0 || j.Matched() > 0:
		case n > 0:
			warn("%d spans came, and none is of an engine: the server's times are unknown", n)
		default:
			warn("no span came (%d of other traces): give the server the address of --otlp-listen, as in --otlp-traces-endpoint http://HOST:4317, and let the router pass on traceparent",
				r.Manifest.Counters["otlp_spans_foreign"])
		}
		return
	}
	m := &r.Manifest
	switch missing := j.Missing + j.Ambiguous + j.Unlike; {
	case j.OTLP == 0:
		warn("no span of an engine could be joined (%d spans came, %d of other traces): is tracing on at the server, and does the router pass on traceparent?",
			m.Counters["otlp_spans"], m.Counters["otlp_spans_foreign"])
	case missing > 0 && j.Coverage().Value() < fullCoverage:
		warn("%s of the successes have no span (%d missing, %d of several engines at one time, %d of another answer): the differences are those of the rest, and loss grows with load; ttft_send is %s %s with and %s %s without",
			percentOf(query.Ratio{Part: missing, Whole: j.Successes}), j.Missing, j.Ambiguous, j.Unlike,
			cell(j.With.Mean/unitNS), unitName, cell(j.Without.Mean/unitNS), unitName)
	}
	if n := m.Counters["otlp_spans_by_request_id"]; n > 0 {
		warn("%d spans came in traces of their own and were found by X-Request-Id: the router does not pass on traceparent, and its own spans cannot be joined", n)
	}
	if failed := r.Failed(); float64(failed) > (1-fullCoverage)*float64(r.Scheduled) {
		warn("failed requests have no span: what the way cost them is not in the differences (%d of %d)", failed, r.Scheduled)
	}
	if j.Negative > 0 {
		warn("%d answers took longer at the server or router than at the client by over 1 ms: a clock was set there, a process was late to see that it was done, or the generator that it had written", j.Negative)
	}
	if j.Unnested > 0 {
		warn("the spans of %d answers are not one within the other (a router that asks several engines at once, or a clock that was set): their router has no account", j.Unnested)
	}
	if j.Unsummed > 0 {
		warn("the parts of %d answers do not sum to their ttft: a defect of goodput, whose deltas are in doubt", j.Unsummed)
	}
	if n := m.Counters["otlp_spans_over_capacity"] + m.Counters["otlp_bodies_refused"]; n > 0 {
		warn("%d spans or bodies with spans were not taken", n)
	}
}

// jsonServer says what is known of the successes at the server.
type jsonServer struct {
	Successes int64                 `json:"successes"`
	InProcess int64                 `json:"inprocess"`
	Header    int64                 `json:"header"`
	OTLP      int64                 `json:"otlp"`
	Coverage  *float64              `json:"coverage"`
	Missing   int64                 `json:"missing"`
	Ambiguous int64                 `json:"ambiguous"`
	Unlike    int64                 `json:"unlike"`
	Partial   int64                 `json:"partial"`
	Negative  int64                 `json:"negative"`
	Routed    int64                 `json:"routed"`
	Unnested  int64                 `json:"unnested"`
	Deltas    map[string]jsonMetric `json:"deltas"`
}

// joinedJSON is nil where nothing is known.
func (r *Report) joinedJSON() *jsonServer {
	j := &r.Joined
	if j.Matched() == 0 && !j.Spans() {
		return nil
	}
	out := &jsonServer{
		Successes: j.Successes, InProcess: j.InProcess, Header: j.Header, OTLP: j.OTLP,
		Coverage: maybe(j.Coverage().Value(), j.Coverage().Known()),
		Missing:  j.Missing, Ambiguous: j.Ambiguous, Unlike: j.Unlike, Partial: j.Partial, Negative: j.Negative,
		Routed: j.Routed, Unnested: j.Unnested,
		Deltas: map[string]jsonMetric{},
	}
	for _, m := range r.AllDeltas() {
		out.Deltas[m.Name] = metricJSON(inUnit(m))
	}
	return out
}
