package tui

import (
	"fmt"

	"goodput/loadgen/monitor"
)

// requests lists the slowest of the run or the latest that failed, or shows one.
func (m *Model) requests(w, h int) []string {
	k := m.inks
	if m.opened {
		return m.request(w)
	}
	list := m.list()
	what := "slowest of the run, by E2E"
	if m.failed {
		what = "failed, latest first"
	}
	out := []string{fmt.Sprintf(" %s: %d", what, len(list)), ""}
	if len(list) == 0 {
		return append(out, k.write(dim, " none"))
	}
	t := table{inks: k, w: w, cols: []column{
		{"seq", 7, false},
		{"ended", 7, false},
		{"outcome", 13, true},
		{"E2E", 7, false},
		{"TTFT", 7, false},
		{"most of it", 19, true},
		{"replica", 7, true},
		{"TPOT", 7, false},
		{"in", 6, false},
		{"out", 6, false},
		{"class", 10, true},
		{"tenant", 10, true},
		{"session", 10, true},
		{"error", 60, true},
	}}
	out = append(out, t.head())
	rows := max(h-len(out), 1)
	cursor := min(m.cursor, len(list)-1)
	first := min(max(cursor-rows+1, 0), max(len(list)-rows, 0))
	for i := first; i < min(first+rows, len(list)); i++ {
		r := &list[i]
		line := t.row([]string{
			fmt.Sprint(r.Seq), clockText(r.At), r.Outcome.String(), span(r.E2E), span(r.TTFT), most(r), or(r.Replica), span(r.TPOT),
			whole(r.PromptTokens), whole(r.OutputTokens), or(r.Class), or(r.Tenant), or(r.Session), or(r.Error),
		})
		if i == cursor {
			line = k.write(chosen, fit(">"+line[1:], w))
		}
		out = append(out, line)
	}
	return out
}

// parts are where the time of r went, as far as it is known. The last is what neither side
// accounts for.
func parts(r *monitor.Sample) []monitor.Span {
	out := []monitor.Span{
		{Name: "lag", Mean: r.Lag},
		{Name: "connect", Mean: r.Connect},
		{Name: "front end", Mean: r.FrontEnd},
		{Name: "queue", Mean: r.Queue},
		{Name: "prefill", Mean: r.Prefill},
		{Name: "decode", Mean: r.Decode},
		{Name: "other server", Mean: r.Other},
	}
	rest := r.E2E
	for _, x := range out {
		if x.Mean.Known() {
			rest -= x.Mean
		}
	}
	if !r.E2E.Known() || !r.ServerE2E.Known() {
		rest = monitor.Unknown
	}
	return append(out, monitor.Span{Name: "router, network", Mean: rest})
}

// most names the longest part of r and its share.
func most(r *monitor.Sample) string {
	var top monitor.Span
	for _, x := range parts(r) {
		if x.Mean.Known() && (top.Name == "" || x.Mean > top.Mean) {
			top = x
		}
	}
	if top.Name == "" || !r.E2E.Known() || r.E2E <= 0 || !r.ServerE2E.Known() {
		return unknown
	}
	return fmt.Sprintf("%s %.0f %%", top.Name, 100*float64(top.Mean)/float64(r.E2E))
}

// request is all that is known of one.
func (m *Model) request(w int) []string {
	k, r := m.inks, &m.row
	line := func(name, value string) string { return k.write(dim, " "+fit(name, 16)) + value }
	out := []string{
		fmt.Sprintf(" %s   esc to go back", k.write(bold, fmt.Sprintf("request %d", r.Seq))), "",
		line("id", or(r.ID)),
		line("outcome", fmt.Sprintf("%v  status %s  finish %s  error %s", r.Outcome, whole(r.HTTPStatus), or(r.FinishReason), or(r.Error))),
		line("intended, ended", fmt.Sprintf("%s, %s", instant(r.Intended), instant(r.At))),
		line("tokens", fmt.Sprintf("in %s (cached %s)  out %s", whole(r.PromptTokens), whole(r.CachedTokens), whole(r.OutputTokens))),
		line("went to", fmt.Sprintf("replica %s  arm %s  class %s  tenant %s", or(r.Replica), or(r.Arm), or(r.Class), or(r.Tenant))),
		line("session", fmt.Sprintf("%s  turn %d", or(r.Session), r.Turn)),
		line("latency", fmt.Sprintf("TTFT %s  TPOT %s  E2E %s  preemptions %s", span(r.TTFT), span(r.TPOT), span(r.E2E), whole(r.Preemptions))), "",
	}
	if !r.E2E.Known() || r.E2E <= 0 {
		return append(out, k.write(dim, " it has no E2E latency to divide"))
	}
	return append(out, waterfall(k, &monitor.Spans{E2E: r.E2E, Parts: parts(r)}, w)...)
}
