package render

import (
	"fmt"
	"strings"

	"goodput/report/query"
)

// exploratoryNote says what the intervals of the bootstrap are worth.
const exploratoryNote = "exploratory, within this run, and too narrow at high load: block bootstrap, blocks of a twentieth; to compare runs, repeat them (goodput compare)"

// exploratory prints the intervals of the bootstrap, if they were asked for.
func (r *Report) exploratory(b *strings.Builder) {
	if len(r.Exploratory) == 0 {
		return
	}
	fmt.Fprintf(b, "95 %% intervals, ms (%s)\n", exploratoryNote)
	for i := range r.Exploratory {
		x := &r.Exploratory[i]
		for j, q := range x.Quantiles {
			fmt.Fprintf(b, "  %-6s %-4s %10s  [%s, %s]\n", x.Metric, quantileName(q), cell(x.Intervals[j].Value/unitNS), cell(x.Intervals[j].Lo/unitNS), cell(x.Intervals[j].Hi/unitNS))
		}
	}
	b.WriteByte('\n')
}

func (r *Report) mdExploratory(b *strings.Builder) {
	if len(r.Exploratory) == 0 {
		return
	}
	fmt.Fprintf(b, "95 %% intervals (%s)\n\n| metric | | estimate | from | to |\n|---|---|--:|--:|--:|\n", exploratoryNote)
	for i := range r.Exploratory {
		x := &r.Exploratory[i]
		for j, q := range x.Quantiles {
			fmt.Fprintf(b, "| %s %s | %s | %s | %s | %s |\n", x.Metric, unitName, quantileName(q),
				cell(x.Intervals[j].Value/unitNS), cell(x.Intervals[j].Lo/unitNS), cell(x.Intervals[j].Hi/unitNS))
		}
	}
	b.WriteByte('\n')
}

func quantileName(q float64) string { return fmt.Sprintf("p%g", 100*q) }

// jsonExploratory is one interval of the bootstrap, in ms.
type jsonExploratory struct {
	Metric   string  `json:"metric"`
	Quantile float64 `json:"quantile"`
	Unit     string  `json:"unit"`
	N        int     `json:"n"`
	Value    float64 `json:"value"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
}

func exploratoryJSON(list []query.Exploratory) []jsonExploratory {
	var out []jsonExploratory
	for i := range list {
		x := &list[i]
		for j, q := range x.Quantiles {
			in := &x.Intervals[j]
			out = append(out, jsonExploratory{x.Metric, q, unitName, x.N, in.Value / unitNS, in.Lo / unitNS, in.Hi / unitNS})
		}
	}
	return out
}
