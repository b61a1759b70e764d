package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// limitFigures are what is said of one run of the search. A figure that is not known is
// nil.
type limitFigures struct {
	Rate     float64  `json:"rate"`
	Achieved *float64 `json:"achieved_rps"`
	Requests int64    `json:"requests"`
	LagP50   *float64 `json:"lag_p50_ms"`
	LagP99   *float64 `json:"lag_p99_ms"`
	GapCV    *float64 `json:"gap_cv"`
	Intended *float64 `json:"gap_cv_intended"`
	CPU      *float64 `json:"cpu_ms_per_request"`
	CPUShare *float64 `json:"cpu_share"`
	Machine  *float64 `json:"machine_busy_share"`
	Honest   bool     `json:"honest"`
}

func (t *rung) figures() limitFigures {
	out := limitFigures{Rate: t.rate, Requests: t.f.Scheduled, Honest: t.honest()}
	known := func(v float64, ok bool) *float64 {
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	out.Achieved = known(t.f.Achieved())
	if lag, ok := t.f.Metric("lag"); ok && lag.N > 0 {
		out.LagP50, out.LagP99 = known(lag.P50/1e6, true), known(lag.P99/1e6, true)
	}
	cv := t.f.Arrivals.CV
	out.GapCV, out.Intended = known(cv.Delivered, cv.Known), known(cv.Intended, cv.Known)
	g := t.f.Manifest.Generator
	out.CPUShare = known(g.Share())
	if g != nil {
		out.Machine = g.MachineBusy
		if n := t.f.Manifest.Counts; g.CPU != nil && n != nil && n.Scheduled > 0 {
			out.CPU = known(g.CPU.Seconds()*1e3/float64(n.Scheduled), true)
		}
	}
	return out
}

// text is one line of them.
func (t *rung) text() string {
	v := t.figures()
	var b strings.Builder
	put := func(format string, x *float64) {
		if x != nil {
			fmt.Fprintf(&b, format, *x)
		}
	}
	put("achieved %.6g/s", v.Achieved)
	put(", lag p50 %.3f ms", v.LagP50)
	put(", p99 %.3f ms", v.LagP99)
	put(", gap CV %.3g", v.GapCV)
	put(", %.3g ms CPU a request", v.CPU)
	if !v.Honest {
		b.WriteString(": not honest")
	}
	return b.String()
}

// text prints the result for people.
func (c *calibration) text(w io.Writer, dir string, best *rung) error {
	var b strings.Builder
	fmt.Fprintf(&b, "target     null: the generator alone, with its records, %s arrivals\n", c.plan.Arrival)
	fmt.Fprintf(&b, "honest     lag P99 below %v, at least %.0f %% of the rate achieved, every request recorded\n", honestLag, 100*honestAchieved)
	shown := best
	if best != nil {
		fmt.Fprintf(&b, "highest    %.0f requests/s: %s\n", best.rate, best.text())
	} else {
		shown = c.trials[len(c.trials)-1]
		fmt.Fprintf(&b, "highest    none; %.0f requests/s: %s\n", shown.rate, shown.text())
	}
	if best != nil && best.rate >= calibrateMost {
		b.WriteString("           (the search ends there; more may be possible)\n")
	}
	if g := shown.f.Manifest.Generator; g != nil {
		if share, ok := g.Share(); ok {
			fmt.Fprintf(&b, "generator  CPU %.0f %% of %d", 100*share, g.Procs)
			if g.MachineBusy != nil {
				fmt.Fprintf(&b, ", the machine was busy for %.0f %%: with other programs on it, the rate is theirs too", 100**g.MachineBusy)
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "run        %s (goodput report %s prints it)\n", dir, dir)
	_, err := io.WriteString(w, b.String())
	return err
}

// json prints it for programs. Keys are only ever added.
func (c *calibration) json(w io.Writer, dir string, best *rung) error {
	out := struct {
		Schema  int            `json:"schema"`
		Run     string         `json:"run"`
		Highest *limitFigures  `json:"highest_honest"`
		Trials  []limitFigures `json:"trials"`
	}{Schema: 1, Run: dir}
	if best != nil {
		v := best.figures()
		out.Highest = &v
	}
	for _, t := range c.trials {
		out.Trials = append(out.Trials, t.figures())
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
