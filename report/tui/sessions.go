package tui

import (
	"fmt"

	"goodput/loadgen/monitor"
)

// sessions is how those in progress and the latest that ended are doing.
func (m *Model) sessions(w, h int) []string {
	k, s := m.inks, &m.pic.Sessions
	if !s.Known {
		return []string{k.write(dim, " no sessions: the load is of single requests, or none has ended yet")}
	}
	var out []string
	if s.Levels {
		out = append(out, m.sessionCounts())
	}
	out = append(out, fmt.Sprintf(" completion time of the latest %d: p50 %s   p95 %s   p99 %s", s.SCT.N, span(s.SCT.P50), span(s.SCT.P95), span(s.SCT.P99)), "")
	t := sessionTable(k, w)
	if s.Levels {
		rows := h - len(out)
		if len(s.Ended) > 0 {
			rows = max(rows-1-min(len(s.Ended)+2, rows/2), 2)
		}
		live := s.Counts.Live
		if m.pic.Filter != "" { // counts are of all sessions
			live = int64(len(s.Live))
		}
		out = append(out, liveRows(&t, s, live, rows)...)
		out = append(out, "")
	}
	if len(s.Ended) == 0 {
		return append(out, k.write(dim, " none has ended yet"))
	}
	out = append(out, k.write(bold, " ended")+k.write(dim, ", latest first"), t.head())
	for i := range s.Ended {
		if len(out) >= h {
			break
		}
		out = append(out, t.row(endedRow(&s.Ended[i])))
	}
	return out
}

// sessionCounts are those of the whole run, whatever the filter is.
func (m *Model) sessionCounts() string {
	s, of := &m.pic.Sessions, ""
	if m.pic.Filter != "" {
		of = m.inks.write(dim, " of all")
	}
	c := &s.Counts
	ended := fmt.Sprintf("completed %d  failed %d  unfinished %d", c.Completed, c.Failed, c.Censored)
	if s.Seen {
		return of + fmt.Sprintf(" live %d", c.Live) + m.inks.write(dim, " whose first step is over") + "  " + ended
	}
	return of + fmt.Sprintf(" scheduled %d  live %d  waiting %d  ", c.Scheduled, c.Live, c.Waiting) + ended
}

// sessionTable has the same columns for live and for ended sessions.
func sessionTable(k *inks, w int) table {
	return table{inks: k, w: w, cols: []column{
		{"session", 12, true},
		{"state", 11, true},
		{"steps", 8, false},
		{"took", 8, false},
		{"model", 8, false},
		{"waits", 8, false},
		{"slowdown", 8, false},
		{"came", 8, false},
		{"ended", 8, false},
		{"tenant", 12, true},
	}}
}

// liveRows lists those of so many sessions under way on so many rows, the longest-lived
// first.
func liveRows(t *table, s *monitor.Sessions, live int64, rows int) []string {
	out := []string{t.inks.write(bold, " live") + t.inks.write(dim, ", earliest first"), t.head()}
	if len(s.Live) == 0 {
		return append(out, t.inks.write(dim, " none"))
	}
	room := max(rows-len(out), 1)
	if int64(len(s.Live)) > int64(room) || live > int64(len(s.Live)) {
		room = max(room-1, 1)
	}
	shown := min(room, len(s.Live))
	for i := range shown {
		out = append(out, t.row(liveRow(&s.Live[i])))
	}
	if more := live - int64(shown); more > 0 && len(out) < rows {
		out = append(out, t.inks.write(dim, fmt.Sprintf(" and %d more", more)))
	}
	return out
}

// liveRow is one under way; what it takes alone is known when it has ended.
func liveRow(s *monitor.LiveSession) []string {
	state := "waits"
	switch {
	case !s.InFlight.Known():
		state = unknown
	case s.Queued > 0:
		state = fmt.Sprintf("%d sent, +%d", s.InFlight, s.Queued)
	case s.InFlight > 0:
		state = fmt.Sprintf("%d sent", s.InFlight)
	}
	steps := fmt.Sprint(s.StepsOK)
	if s.StepsFailed > 0 {
		steps += fmt.Sprintf("-%d", s.StepsFailed)
	}
	if s.StepsPlanned > 0 {
		steps += fmt.Sprintf("/%d", s.StepsPlanned)
	}
	return []string{or(s.ID), state, steps, span(s.Age), span(s.ModelTime), span(s.WaitTime), unknown, clockText(s.Arrival), unknown, or(s.Tenant)}
}

func endedRow(r *monitor.SessionRow) []string {
	slow := unknown
	if r.Slowdown.Known() {
		slow = digits(float64(r.Slowdown)) + "×"
	}
	return []string{
		or(r.ID), Clean(r.Outcome), fmt.Sprintf("%d/%d", r.StepsOK, r.StepsPlanned), span(r.SCT), span(r.ModelTime), span(r.WaitTime), slow,
		clockText(r.Arrival), clockText(r.Ended), or(r.Tenant),
	}
}
