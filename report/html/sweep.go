package html

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"

	"goodput/report/knee"
	"goodput/report/plot"
	"goodput/report/render"
)

// sweep is what the page says of one sweep.
type sweep struct {
	*render.Sweep
	ID    string
	Knees []sweepKnee
}

// sweepKnee is one objective of it.
type sweepKnee struct {
	Name, Text string
	Found      bool
	Curve      []Figure
	Tables     []table
}

// WriteSweeps writes the page of one sweep, or of several below each other.
func WriteSweeps(w io.Writer, sweeps []*render.Sweep) error {
	p, err := buildSweeps(sweeps)
	if err != nil {
		return err
	}
	return p.write(w)
}

// SweepPlots returns the charts of the page, in order, with names that differ.
func SweepPlots(sweeps []*render.Sweep) ([]Figure, error) {
	p, err := buildSweeps(sweeps)
	if err != nil {
		return nil, err
	}
	var out []Figure
	for i := range p.Sweeps {
		for k := range p.Sweeps[i].Knees {
			for _, f := range p.Sweeps[i].Knees[k].Curve {
				if len(p.Sweeps)+len(p.Sweeps[i].Knees) > 2 {
					f.Name = fmt.Sprintf("%d-%d-%s", i+1, k+1, f.Name)
				}
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func buildSweeps(sweeps []*render.Sweep) (*page, error) {
	if len(sweeps) == 0 {
		return nil, fmt.Errorf("making a page: no sweep")
	}
	p := &page{Title: "goodput: " + sweeps[0].Dir, Style: template.CSS(plot.Style)}
	if len(sweeps) > 1 {
		p.Title = fmt.Sprintf("goodput: %d sweeps", len(sweeps))
	}
	for i, s := range sweeps {
		out := sweep{Sweep: s, ID: fmt.Sprintf("sweep%d", i+1)}
		for j := range s.Knees {
			k := &s.Knees[j]
			one := sweepKnee{Name: k.SLO, Text: kneeText(s, k), Found: k.Outcome == knee.OK, Tables: []table{seedTable(k), trialTable(k)}}
			var err error
			if one.Curve, err = curves(k); err != nil {
				return nil, fmt.Errorf("%s: %w", s.Dir, err)
			}
			out.Knees = append(out.Knees, one)
		}
		p.Sweeps = append(p.Sweeps, out)
	}
	return p, nil
}

// kneeText says what was found.
func kneeText(s *render.Sweep, k *render.SweepKnee) string {
	switch {
	case s.Method != "bisect":
		return "a grid of rates, and no search"
	case k.Outcome == "":
		return "not found"
	case k.Outcome != knee.OK:
		return fmt.Sprintf("%s: %s", k.Outcome, k.Why)
	case math.IsNaN(k.Lo):
		return fmt.Sprintf("%.4g requests/s for %d-request trials, one seed: no interval", k.Rate, s.N)
	}
	return fmt.Sprintf("%.4g requests/s [%.4g, %.4g], %s (95 %%, %d seeds)", k.Rate, k.Lo, k.Hi, render.IntervalLabel(s.N), len(k.Seeds))
}

// curves draws what trials showed over their rates.
func curves(k *render.SweepKnee) ([]Figure, error) {
	trials := slices.DeleteFunc(slices.Clone(k.Trials), func(t knee.Trial) bool { return t.Invalid != "" || t.Good+t.Bad == 0 })
	slices.SortStableFunc(trials, func(a, b knee.Trial) int { return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Seed, b.Seed)) })
	if len(trials) == 0 {
		return nil, nil
	}
	var rules []plot.Rule
	if k.Outcome == knee.OK {
		rules = append(rules, plot.Rule{At: k.Rate, Name: "knee"})
		if !math.IsNaN(k.Lo) && k.Hi > k.Lo {
			rules = []plot.Rule{{At: k.Lo}, rules[0], {At: k.Hi}}
		}
	}
	last := trials[len(trials)-1].Rate
	of := func(name string, mark int, value func(*knee.Trial) float64) plot.Line {
		l := plot.Line{Name: name, Mark: mark, Loose: true}
		for i := range trials {
			if v := value(&trials[i]); !math.IsNaN(v) {
				l.X, l.Y = append(l.X, trials[i].Rate), append(l.Y, v)
			}
		}
		return l
	}
	bound := func(t *knee.Trial) float64 { // above a failed trial that ended early
		if t.Whole() {
			return math.NaN()
		}
		_, hi := t.Attainment()
		return hi
	}
	whole := func(v func(*knee.Trial) float64) func(*knee.Trial) float64 {
		return func(t *knee.Trial) float64 {
			if !t.Whole() || t.Stop != knee.Complete {
				return math.NaN()
			}
			return v(t)
		}
	}
	const ended = "at most (ended early)"
	var out []Figure
	for _, c := range []struct {
		name, title, y, caption string
		lines                   []plot.Line
	}{
		{"goodput-curve", "Goodput", "requests/s that met the objective", "Each point is a trial: the rate offered, times the share of its requests that met all of the objective. Of a trial that ended when its verdict was certain only an upper bound is known. Vertical lines: the knee and its interval.", []plot.Line{
			{Name: "offered", Mark: 3, X: []float64{0, last}, Y: []float64{0, last}},
			of("goodput", 0, (*knee.Trial).Goodput), of(ended, 1, func(t *knee.Trial) float64 { return t.Rate * bound(t) }),
		}},
		{"delivered-curve", "Delivered", "successes/s", "Each point is a trial: " + render.DeliveredNote + ". Nothing was asked of them: --slo gives goodput.", []plot.Line{
			{Name: "offered", Mark: 3, X: []float64{0, last}, Y: []float64{0, last}},
			of("delivered", 0, func(t *knee.Trial) float64 { return some(t.Open && t.Figures.Span > 0, t.Figures.Delivered) }),
		}},
		{"attainment-curve", "Attainment", "% of requests", "The share of the requests of each trial that met all of the objective.", []plot.Line{
			of("attained", 0, func(t *knee.Trial) float64 {
				lo, _ := t.Attainment()
				return some(t.Whole(), 100*lo)
			}), of(ended, 1, func(t *knee.Trial) float64 { return 100 * bound(t) }),
		}},
		{"ttft-curve", "Time to first token", "ms", "Of the successes of trials that ran to their end.", []plot.Line{
			of("P50", 0, whole(func(t *knee.Trial) float64 { return some(t.Figures.TTFT.N > 0, t.Figures.TTFT.P50/msNS) })),
			of("P95", 1, whole(func(t *knee.Trial) float64 { return some(t.Figures.TTFT.N > 0, t.Figures.TTFT.P95/msNS) })),
		}},
		{"tpot-curve", "Time per output token", "ms", "Of the successes of trials that ran to their end.", []plot.Line{
			of("P50", 0, whole(func(t *knee.Trial) float64 { return some(t.Figures.TPOT.N > 0, t.Figures.TPOT.P50/msNS) })),
			of("P95", 1, whole(func(t *knee.Trial) float64 { return some(t.Figures.TPOT.N > 0, t.Figures.TPOT.P95/msNS) })),
		}},
	} {
		kept := slices.DeleteFunc(c.lines, func(l plot.Line) bool { return len(l.X) == 0 })
		if len(kept) == 0 || len(kept) == 1 && kept[0].Name == "offered" {
			continue
		}
		chart := plot.Lines{Title: c.title, X: "offered, requests/s", Y: c.y, From: 0, To: last, Lines: kept, Rules: rules, Height: 260}
		f, err := lines(c.name, c.caption, &chart)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// seedTable is the search of each seed.
func seedTable(k *render.SweepKnee) table {
	t := table{Title: "Search by seed", Head: []string{"seed", "knee/s", "passed at", "failed at", "outcome"}}
	for _, x := range k.Seeds {
		what := string(x.Outcome)
		if x.Why != "" {
			what += ": " + x.Why
		}
		t.add(fmt.Sprint(x.Seed), number(x.Rate), number(x.Lo), number(x.Hi), what)
	}
	return t
}

// trialTable is every trial, in the order of the rates.
func trialTable(k *render.SweepKnee) table {
	t := table{Title: "Trials", Note: render.InFlightNote, Head: []string{"rate/s", "seed", "requests", "attained %", "TTFT P95 ms", "TPOT P95 ms", "in flight", "verdict"}}
	if len(k.Trials) > 0 && k.Trials[0].Open {
		t.Head[3], t.Head[7] = "ended ok %", "ended"
	}
	list := slices.Clone(k.Trials)
	slices.SortStableFunc(list, func(a, b knee.Trial) int { return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Seed, b.Seed)) })
	for i := range list {
		x := &list[i]
		lo, hi := x.Attainment()
		attained := fmt.Sprintf("%.2f", 100*lo)
		switch {
		case x.Open:
			attained = fmt.Sprintf("%.2f", 100*float64(x.Good)/float64(x.N))
		case !x.Whole():
			attained = fmt.Sprintf("%.2f to %.2f", 100*lo, 100*hi)
		}
		done := x.Whole() && x.Stop == knee.Complete
		t.add(number(x.Rate), fmt.Sprint(x.Seed), fmt.Sprint(x.N), attained,
			number(some(done && x.Figures.TTFT.N > 0, x.Figures.TTFT.P95/msNS)), number(some(done && x.Figures.TPOT.N > 0, x.Figures.TPOT.P95/msNS)),
			fmt.Sprint(x.Figures.MaxInFlight), render.VerdictText(x))
	}
	return t
}
