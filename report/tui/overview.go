package tui

import (
	"fmt"
	"strings"

	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// overview is whether users get what they were promised, at a glance.
func (m *Model) overview(w, h int) []string {
	k, p := m.inks, &m.pic
	label := func(name, value string) string { return k.write(dim, " "+name+" ") + value + " " }
	rates := []string{
		label("offered", rate(p.Offered)) + label("achieved", rate(p.Achieved)) + label("good", rate(p.Good)) +
			label("attainment", m.attainment()), strings.TrimRight(label("tokens", rate(p.Tokens)), " "),
	}
	out := []string{
		strings.Join(rates, ""),
		label("sent", m.sentText()) + label("in flight", whole(p.InFlight)) +
			label("completed", fmt.Sprint(count(p, record.OK.String()))) + m.errorText(),
	}
	rows := h - len(out) - 4
	top := (rows + 1) / 2
	out = append(out, "", m.legend("TTFT", &p.TTFT, p.SLO.TTFT))
	out = append(out, latencies(k, p, func(x *monitor.Points) *monitor.Quantiles { return &x.TTFT }, p.SLO.TTFT, w-1, top)...)
	out = append(out, "", m.legend("TPOT", &p.TPOT, p.SLO.TPOT))
	return append(out, latencies(k, p, func(x *monitor.Points) *monitor.Quantiles { return &x.TPOT }, p.SLO.TPOT, w-1, rows-top)...)
}

func (m *Model) sentText() string {
	if m.pic.Total == 0 {
		return fmt.Sprint(m.pic.Sent)
	}
	return fmt.Sprintf("%d/%d", m.pic.Sent, m.pic.Total)
}

// errorText lists what failed, most frequent classes as they come.
func (m *Model) errorText() string {
	var n int64
	var parts []string
	for _, c := range m.pic.Outcomes {
		if c.Name == record.OK.String() || c.Name == record.Censored.String() {
			continue
		}
		n += c.N
		parts = append(parts, fmt.Sprintf("%s %d", Clean(c.Name), c.N))
	}
	if n == 0 {
		return m.inks.write(dim, " errors ") + "0"
	}
	return m.inks.write(dim, " errors ") + m.inks.write(bad, fmt.Sprint(n)) + " " + strings.Join(parts, ", ")
}

// legend names the lines of a chart and gives their values over the window.
func (m *Model) legend(name string, q *monitor.Quantiles, promise monitor.Nanos) string {
	k := m.inks
	s := " " + k.write(bold, name) + "   " + k.write(low, "p50") + " " + span(q.P50) + "   " +
		k.write(mid, "p95") + " " + span(q.P95) + "   " + k.write(high, "p99") + " " + span(q.P99)
	if promise.Known() {
		s += "   " + k.write(limit, "╌ SLO "+span(promise))
	}
	return s
}

// attainment is the share that met the SLO; without one there is none.
func (m *Model) attainment() string {
	p := &m.pic
	if s := p.SLO; !p.Attainment.Known() && !s.TTFT.Known() && !s.TPOT.Known() && !s.E2E.Known() {
		return unknown + m.inks.write(dim, " no SLO")
	}
	return m.inks.write(attainmentInk(p.Attainment), percent(p.Attainment))
}

func attainmentInk(x monitor.Number) ink {
	switch {
	case !x.Known():
		return plain
	case x >= 0.99:
		return good
	case x >= 0.9:
		return warn
	}
	return bad
}

func count(p *monitor.Picture, outcome string) int64 {
	for _, c := range p.Outcomes {
		if c.Name == outcome {
			return c.N
		}
	}
	return 0
}
