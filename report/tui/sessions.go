package tui

import "fmt"

// sessions is how those in progress and the latest that ended are doing.
func (m *Model) sessions(w, h int) []string {
	k, s := m.inks, &m.pic.Sessions
	if !s.Known {
		return []string{k.write(dim, " no sessions: the load is of single requests, or none has ended yet")}
	}
	var out []string
	if s.Levels {
		c := &s.Counts
		out = append(out, fmt.Sprintf(" scheduled %d   live %d   waiting %d   completed %d   failed %d   unfinished %d",
			c.Scheduled, c.Live, c.Waiting, c.Completed, c.Failed, c.Censored))
	}
	out = append(out, fmt.Sprintf(" completion time of the latest %d: p50 %s   p95 %s   p99 %s", s.SCT.N, span(s.SCT.P50), span(s.SCT.P95), span(s.SCT.P99)), "")
	t := table{inks: k, w: w, cols: []column{
		{"session", 14, true},
		{"outcome", 10, true},
		{"ended", 8, false},
		{"steps", 9, false},
		{"took", 8, false},
		{"model", 8, false},
		{"waits", 8, false},
		{"slowdown", 8, false},
		{"tenant", 12, true},
	}}
	out = append(out, t.head())
	for i := range s.Ended {
		r := &s.Ended[i]
		if len(out) >= h {
			break
		}
		slow := unknown
		if r.Slowdown.Known() {
			slow = digits(float64(r.Slowdown)) + "×"
		}
		out = append(out, t.row([]string{
			or(r.ID), r.Outcome, clockText(r.Ended), fmt.Sprintf("%d/%d", r.StepsOK, r.StepsPlanned),
			span(r.SCT), span(r.ModelTime), span(r.WaitTime), slow, or(r.Tenant),
		}))
	}
	return out
}
