package tui

import (
	"fmt"

	"goodput/loadgen/monitor"
)

// replicas is who does the work, and how evenly.
func (m *Model) replicas(w, h int) []string {
	k, p := m.inks, &m.pic
	if len(p.Replicas) == 0 {
		return []string{k.write(dim, " no replicas: the target does not tell which one answered")}
	}
	barW := 8
	if w >= 120 {
		barW = 24
	}
	t := table{inks: k, w: w, cols: []column{
		{"replica", 9, true},
		{"run", 4, false},
		{"wait", 4, false},
		{"KV used", barW + 5, true},
		{"hit", 6, false},
		{"share", 6, false},
		{"TTFT p95", 8, false},
		{"preempt", 7, false},
		{"sent", 5, false},
		{"known for", 9, false},
		{"requests", 8, false},
		{"TTFT p50", 8, false},
		{"TTFT p99", 8, false},
	}}
	out := []string{t.head()}
	for i := range p.Replicas {
		out = append(out, t.row(replicaRow(k, &p.Replicas[i], barW)))
		if len(out) == h-2 && i < len(p.Replicas)-1 {
			out = append(out, k.write(dim, fmt.Sprintf(" and %d more", len(p.Replicas)-i-1)))
			break
		}
	}
	skew := unknown
	if p.Skew.Known() {
		skew = digits(float64(p.Skew))
	}
	return append(out, "", k.write(dim, " skew ")+skew+k.write(dim, " (requests of the busiest replica / mean)"))
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
		clean(r.Name), run, wait, kv, percent(r.Hit), percent(r.Share), span(r.TTFT.P95), preempt, sent, stale,
		fmt.Sprint(r.Requests), span(r.TTFT.P50), span(r.TTFT.P99),
	}
}
