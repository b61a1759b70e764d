package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"goodput/loadgen/monitor"
)

// spans is where the time of requests went, as a waterfall.
func (m *Model) spans(w, h int) []string {
	costs := m.routerCosts(w)
	if c := m.doing.Comparison; c != nil && len(c.Costs) > 0 && m.pic.Spans.N == 0 {
		return costs // no run is under way
	}
	out := m.meanSpans(w)
	if by := m.spansBy(w, h-len(out)-len(costs)-1); len(by) > 0 {
		out = append(append(out, ""), by...)
	}
	return append(append(out, ""), costs...)
}

// meanSpans is the waterfall of all requests.
func (m *Model) meanSpans(w int) []string {
	k, p := m.inks, &m.pic
	s := &p.Spans
	if s.N == 0 {
		return []string{k.write(dim, " no request has succeeded in the window")}
	}
	out := []string{
		fmt.Sprintf(" mean E2E %s; the server accounts for %d of %d successes (%s)",
			span(s.E2E), s.Covered, s.N, percent(monitor.Number(float64(s.Covered)/float64(s.N)))), "",
	}
	if s.Covered == 0 {
		return append(out, k.write(dim, " without an account of the server nothing tells where the time went"))
	}
	return append(out, waterfall(k, s, w)...)
}

// spansBy is the same of each replica, on so many rows; nothing if there are too few.
func (m *Model) spansBy(w, rows int) []string {
	k, p := m.inks, &m.pic
	if rows < 3 || len(p.Replicas) < 2 || p.Spans.Covered == 0 {
		return nil
	}
	t := table{inks: k, w: w, cols: []column{{"replica", 9, true}, {"requests", 8, false}, {"mean E2E", 8, false}}}
	var told []int // parts that are known of some request: a narrow screen has no room for others
	for j, x := range p.Spans.Parts {
		if !x.Mean.Known() {
			continue
		}
		told = append(told, j)
		t.cols = append(t.cols, column{Clean(x.Name), max(ansi.StringWidth(Clean(x.Name)), 8), false})
	}
	out := []string{t.head()}
	for i := range p.Replicas {
		r := &p.Replicas[i]
		if len(out) == rows-1 && i < len(p.Replicas)-1 {
			return append(out, k.write(dim, fmt.Sprintf(" and %d more", len(p.Replicas)-i)))
		}
		row := []string{Clean(r.Name), fmt.Sprint(r.Spans.Covered), span(r.Spans.E2E)}
		for _, j := range told {
			value := unknown
			if j < len(r.Spans.Parts) {
				value = span(r.Spans.Parts[j].Mean)
			}
			row = append(row, value)
		}
		out = append(out, t.row(row))
	}
	return out
}

// routerCosts is what a comparison with an arm past the router tells of it.
func (m *Model) routerCosts(w int) []string {
	k, c := m.inks, m.doing.Comparison
	if c == nil || len(c.Costs) == 0 {
		return []string{k.write(dim, " router, network: neither side's; compare --direct tells the router's part")}
	}
	out := []string{k.write(bold, " router cost") + k.write(dim, ": through it less direct, of "+plural(c.Paired, "seed")+"; d_: client less server")}
	nameW := 10
	if w >= 120 {
		nameW = 24
	}
	interval := "95 % between seeds"
	if c.Paired < 2 {
		interval = "no interval yet"
	}
	t := table{inks: k, w: w, cols: []column{
		{"arm", nameW, true},
		{"figure", 14, true},
		{"through", 8, false},
		{"direct", 8, false},
		{"cost, ms", 9, false},
		{interval, 20, true},
	}}
	out = append(out, t.head())
	for i := range c.Costs {
		x := &c.Costs[i]
		cost, between := unknown, ""
		if x.Cost.Known() {
			cost = signed(float64(x.Cost))
		}
		if x.Lo.Known() && x.Hi.Known() {
			between = fmt.Sprintf("[%s, %s]", signed(float64(x.Lo)), signed(float64(x.Hi)))
		}
		out = append(out, t.row([]string{Clean(x.Arm), Clean(x.Figure), span(x.Via), span(x.Direct), k.write(accent, cost), between}))
	}
	return out
}

// signed prints a difference in milliseconds, to the microsecond while it is small.
func signed(v float64) string {
	switch a := math.Abs(v); {
	case a < 9.9995:
		return fmt.Sprintf("%+.3f", v)
	case a < 999.95:
		return fmt.Sprintf("%+.1f", v)
	}
	return fmt.Sprintf("%+.0f", v)
}

// waterfall draws each part from where the one before ends.
func waterfall(k *inks, s *monitor.Spans, w int) []string {
	const nameW, valueW, shareW = 16, 9, 8
	width := max(w-nameW-valueW-shareW-6, 10)
	var out []string
	at := 0.0
	whole := float64(max(s.E2E, 1))
	for i, x := range s.Parts {
		if !x.Mean.Known() {
			out = append(out, " "+fit(Clean(x.Name), nameW)+right(unknown, valueW)+right("", shareW))
			continue
		}
		share := float64(x.Mean) / whole
		from := int(min(max(at, 0), 1) * float64(width))
		cells := bar(share, width)
		ink := []ink{limit, low, accent, warn, mid, good, high, dim}[i%8]
		line := strings.Repeat(" ", from) + k.write(ink, strings.TrimRight(cells, " "))
		out = append(out, " "+fit(Clean(x.Name), nameW)+right(span(x.Mean), valueW)+right(fmt.Sprintf("%.1f %%", 100*share), shareW)+"  "+fit(line, width))
		at += share
	}
	return out
}
