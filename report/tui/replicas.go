package tui

import (
	"fmt"
	"math"

	"goodput/loadgen/monitor"
)

// replicas is who does the work, and how evenly.
func (m *Model) replicas(w, h int) []string {
	k, p := m.inks, &m.pic
	if len(p.Replicas) == 0 {
		return []string{k.write(dim, " no replicas: the target does not tell which one answered")}
	}
	barW, nameW := 4, 7
	if w >= 120 {
		barW, nameW = 24, 9
	}
	t := table{inks: k, w: w, cols: []column{
		{"replica", nameW, true},
		{"run", 4, false},
		{"wait", 4, false},
		{"KV used", barW + 5, true},
		{"hit", 7, false},
		{"share", 7, false},
		{"TTFT p95", 8, false},
		{"preempt", 7, false},
		{"stale", 7, false}, // age of what the router knows
		{"sent", 5, false},
		{"requests", 8, false},
		{"TTFT p50", 8, false},
		{"TTFT p99", 8, false},
	}}
	out := []string{t.head()}
	most := max(h-2, 2)
	if h-2-chartH >= 5 {
		most = h - 2 - chartH // the chart gives way to replicas, but for the first four
		if len(p.Replicas) < most {
			most = len(p.Replicas) + 1
		}
	}
	for i := range p.Replicas {
		out = append(out, t.row(replicaRow(k, &p.Replicas[i], barW)))
		if len(out) == most && i < len(p.Replicas)-1 {
			out = append(out, k.write(dim, fmt.Sprintf(" and %d more", len(p.Replicas)-i-1)))
			break
		}
	}
	skew := unknown
	if p.Skew.Known() {
		skew = digits(float64(p.Skew))
	}
	line := k.write(dim, " skew ") + skew + k.write(dim, fmt.Sprintf(" (busiest / mean, 1: even; below over %d s)", monitor.SkewSpan))
	if oldest := oldestSignal(p); oldest.Known() {
		line += k.write(dim, "   oldest signal ") + span(oldest)
	}
	out = append(out, "", line)
	return append(out, skewChart(k, p, w-1, min(h-len(out), 24))...)
}

// oldestSignal is the age of the oldest of what the router knows of replicas; Unknown: it
// knows nothing of them, as one that goes round robin does.
func oldestSignal(p *monitor.Picture) monitor.Nanos {
	oldest := monitor.Unknown
	for i := range p.Replicas {
		if r := &p.Replicas[i]; r.Levels && r.Stale.Known() {
			oldest = max(oldest, r.Stale)
		}
	}
	return oldest
}

// chartH is the least height of the chart of the skew.
const chartH = 5

// skewChart draws the skew over the window.
func skewChart(k *inks, p *monitor.Picture, w, h int) []string {
	l := curve{ink: accent}
	top := 1.5
	start, width := shown(p)
	for i := range p.Series {
		pt := &p.Series[i]
		y := math.NaN()
		if pt.Skew > 0 { // not of a source that tells none
			y = float64(pt.Skew)
			top = max(top, y)
		}
		l.x = append(l.x, min(max((float64(pt.At)+0.5e9-start)/width, 0), 1))
		l.y = append(l.y, y)
	}
	top = niceTop(top)
	return plotted(k, []curve{l}, top, 1/top, w, h, func(v float64) string { return digits(v) })
}

func replicaRow(k *inks, r *monitor.Replica, barW int) []string {
	run, wait, kv, preempt, sent, stale := unknown, unknown, unknown, unknown, unknown, unknown
	if r.Levels {
		run, wait, preempt, sent, stale = fmt.Sprint(r.Running), fmt.Sprint(r.Waiting), fmt.Sprint(r.Preemptions), fmt.Sprint(r.Outstanding), span(r.Stale)
		ink := good
		switch {
		case r.KVUsed >= 0.95:
			ink = bad
		case r.KVUsed >= 0.8:
			ink = warn
		}
		kv = k.write(ink, bar(r.KVUsed, barW)) + right(fmt.Sprintf("%.0f %%", 100*r.KVUsed), 5)
	}
	return []string{
		Clean(r.Name), run, wait, kv, percent(r.Hit), percent(r.Share), span(r.TTFT.P95), preempt, stale, sent,
		fmt.Sprint(r.Requests), span(r.TTFT.P50), span(r.TTFT.P99),
	}
}
