package render

import (
	"fmt"
	"strings"

	"goodput/report/query"
	"goodput/report/stats"
)

// fewSlow reports whether the requests are too few to speak of the slowest 1 %.
func fewSlow(s *query.Spent) bool { return s.N < stats.MinN(0.99) }

// spent writes where the time of the successes went. Causes that took none are
// left out.
func (r *Report) spent(b *strings.Builder) {
	spentText(b, "where e2e went", &r.Spent)
	if r.Outside() {
		spentText(b, "client to server", &r.Way)
	}
}

func spentText(b *strings.Builder, title string, s *query.Spent) {
	if s.N == 0 {
		return
	}
	slow := !fewSlow(s)
	fmt.Fprintf(b, "%-16s %10s %8s", title, "mean "+unitName, "share")
	if slow {
		fmt.Fprintf(b, " %14s %8s", "slowest 1 %", "share")
	}
	b.WriteByte('\n')
	for _, p := range s.Parts {
		if p.Mean == 0 && p.Slow == 0 {
			continue
		}
		fmt.Fprintf(b, "  %-14s %10s %8s", p.Name, signed(p.Mean/unitNS), shareText(p.Mean, s.E2E))
		if slow {
			fmt.Fprintf(b, " %14s %8s", signed(p.Slow/unitNS), shareText(p.Slow, s.SlowE2E))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

func shareText(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*part/whole)
}

// jsonSpent says where the time of successes went. The slowest are the 1 % with
// the longest e2e.
type jsonSpent struct {
	Unit       string     `json:"unit"`
	N          int64      `json:"n"`
	SlowestN   int64      `json:"slowest_n"`
	E2E        float64    `json:"e2e"`
	SlowestE2E float64    `json:"slowest_e2e"`
	Parts      []jsonPart `json:"parts"`
	Unreliable []string   `json:"unreliable"`
}

type jsonPart struct {
	Name         string   `json:"name"`
	Mean         float64  `json:"mean"`
	Share        *float64 `json:"share"`
	Slowest      float64  `json:"slowest_mean"`
	SlowestShare *float64 `json:"slowest_share"`
}

// wayJSON is of runs with something between the client and the server.
func (r *Report) wayJSON() *jsonSpent {
	if !r.Outside() {
		return nil
	}
	return spentJSON(&r.Way)
}

func spentJSON(s *query.Spent) *jsonSpent {
	if s.N == 0 {
		return nil
	}
	out := &jsonSpent{
		Unit: unitName, N: s.N, SlowestN: s.SlowN, E2E: s.E2E / unitNS, SlowestE2E: s.SlowE2E / unitNS,
		Unreliable: []string{},
	}
	if fewSlow(s) {
		out.Unreliable = append(out.Unreliable, "slowest_mean", "slowest_share")
	}
	for _, p := range s.Parts {
		out.Parts = append(out.Parts, jsonPart{
			Name: p.Name, Mean: p.Mean / unitNS, Share: maybe(p.Mean/s.E2E, s.E2E > 0),
			Slowest: p.Slow / unitNS, SlowestShare: maybe(p.Slow/s.SlowE2E, s.SlowE2E > 0),
		})
	}
	return out
}
