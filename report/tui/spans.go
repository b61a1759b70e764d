package tui

import (
	"fmt"
	"strings"

	"goodput/loadgen/monitor"
)

// spans is where the time of requests went, as a waterfall.
func (m *Model) spans(w, _ int) []string {
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
	out = append(out, waterfall(k, s, w)...)
	return append(out, "", k.write(dim, " what neither side accounts for is the router's, too: see compare --direct"))
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
			out = append(out, " "+fit(x.Name, nameW)+right(unknown, valueW)+right("", shareW))
			continue
		}
		share := float64(x.Mean) / whole
		from := int(min(max(at, 0), 1) * float64(width))
		cells := bar(share, width)
		ink := []ink{limit, low, accent, warn, mid, good, high, dim}[i%8]
		line := strings.Repeat(" ", from) + k.write(ink, strings.TrimRight(cells, " "))
		out = append(out, " "+fit(x.Name, nameW)+right(span(x.Mean), valueW)+right(fmt.Sprintf("%.1f %%", 100*share), shareW)+"  "+fit(line, width))
		at += share
	}
	return out
}
