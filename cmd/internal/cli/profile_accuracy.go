package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"goodput/fakeengine/accuracy"
)

// accuracyReport is the answer of profile validate.
type accuracyReport struct {
	Schema   int    `json:"schema"`
	Verdict  string `json:"verdict"` // pass; fail: a bound is exceeded
	Compared int    `json:"compared"`
	// Bounds hold for comparisons inside what the profiles were fitted on; Inside
	// and Unvalidated sum up those and the others.
	Bounds      []accuracySummary    `json:"bounds"`
	Inside      []accuracySummary    `json:"validated"`
	Unvalidated []accuracySummary    `json:"unvalidated"`
	Sources     []accuracySummary    `json:"sources"`
	Comparisons []accuracyComparison `json:"comparisons"`
	Missed      []accuracyMiss       `json:"missed"`
}

type accuracySummary struct {
	GPU     string           `json:"gpu"`
	Name    string           `json:"figure"`
	Engines string           `json:"engines"` // the era, or all
	Source  string           `json:"source,omitempty"`
	N       int              `json:"n"`
	Median  *float64         `json:"median_error"` // absolute; null: no points
	P90     *float64         `json:"p90_error"`
	Bias    *float64         `json:"bias"` // median of the signed errors
	Worst   *float64         `json:"worst_error"`
	WorstAt string           `json:"worst_row,omitempty"`
	MaxMed  *float64         `json:"median_bound,omitempty"`
	MaxP90  *float64         `json:"p90_bound,omitempty"`
	MaxAny  *float64         `json:"worst_bound,omitempty"`
	Verdict accuracy.Verdict `json:"verdict,omitempty"`
}

type accuracyComparison struct {
	ID          string   `json:"id"`
	Where       string   `json:"where"`
	Source      string   `json:"source"`
	Address     string   `json:"address"`
	License     string   `json:"license"`
	GPU         string   `json:"gpu"`
	Engines     string   `json:"engines"`
	Config      string   `json:"configuration"`
	Figure      string   `json:"figure"`
	Unit        string   `json:"unit"`
	Measured    float64  `json:"measured"`
	Predicted   float64  `json:"predicted"`
	Error       float64  `json:"error"`
	Unvalidated []string `json:"unvalidated"`
}

type accuracyMiss struct {
	ID    string `json:"id"`
	Where string `json:"where"`
	Why   string `json:"why"`
}

func newAccuracyReport(all []accuracy.Comparison, missed []accuracy.Miss) *accuracyReport {
	var names []string
	for i := range all {
		names = append(names, all[i].GPU)
	}
	slices.Sort(names)
	inside, outside := accuracy.Validated(all)
	r := &accuracyReport{
		Schema: 1, Verdict: "pass", Compared: len(all),
		Bounds:      summaries(accuracy.Judge(inside, accuracy.Bounds(), slices.Compact(names))),
		Inside:      summaries(accuracy.Summarise(inside)),
		Unvalidated: summaries(accuracy.Summarise(outside)),
		Sources:     summaries(accuracy.BySource(all)),
		Comparisons: []accuracyComparison{}, Missed: []accuracyMiss{},
	}
	if r.failure() != nil {
		r.Verdict = "fail"
	}
	for i := range all {
		r.Comparisons = append(r.Comparisons, newAccuracyComparison(&all[i]))
	}
	for _, m := range missed {
		r.Missed = append(r.Missed, accuracyMiss{m.Point.ID, m.Point.Where(), m.Why})
	}
	return r
}

func newAccuracyComparison(c *accuracy.Comparison) accuracyComparison {
	p := c.Point
	return accuracyComparison{
		ID: p.ID, Where: p.Where(), Source: p.Source, Address: p.Address, License: p.License,
		GPU: c.GPU, Engines: string(c.Era), Config: configuration(c), Figure: string(c.Measure), Unit: c.Measure.Unit(),
		Measured: c.Measured, Predicted: c.Predicted, Error: c.Error(), Unvalidated: append([]string{}, c.Gaps...),
	}
}

// configuration says in a line what was measured.
func configuration(c *accuracy.Comparison) string {
	p := c.Point
	parts := []string{p.ModelKey, p.DType}
	if p.TP > 1 {
		parts = append(parts, fmt.Sprintf("TP%d", p.TP))
	}
	if p.Batch > 0 {
		parts = append(parts, fmt.Sprintf("x%d", p.Batch))
	}
	switch {
	case p.ContextLen > 0:
		parts = append(parts, fmt.Sprintf("context %.0f", p.ContextLen))
	case p.PrefillTokens > 0:
		parts = append(parts, fmt.Sprintf("%.0f prompt tokens", p.PrefillTokens))
	case p.InputLen > 0:
		parts = append(parts, fmt.Sprintf("%.0f+%.0f", p.InputLen, p.OutputLen))
	}
	return strings.Join(append(parts, strings.TrimSpace(p.Engine+" "+p.EngineVersion)), " ")
}

func summaries(in []accuracy.Summary) []accuracySummary {
	out := []accuracySummary{}
	for i := range in {
		s := &in[i]
		o := accuracySummary{GPU: s.GPU, Name: s.Name, Engines: cmp.Or(string(s.Era), "all"), Source: s.Source, N: s.N, Verdict: s.Verdict()}
		if s.N > 0 {
			worst := s.Worst.Error()
			o.Median, o.P90, o.Bias, o.Worst = &s.Median, &s.P90, &s.Bias, &worst
			o.WorstAt = s.Worst.Point.ID + ": " + configuration(s.Worst)
		}
		if b := s.Bound; b != nil {
			o.MaxMed, o.MaxP90, o.MaxAny = bound(b.Median), bound(b.P90), bound(b.Largest)
		}
		out = append(out, o)
	}
	return out
}

func bound(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

// limits and reached say what is allowed and what came out.
func (s *accuracySummary) limits() string {
	return s.figures(func(_, bound *float64) *float64 { return bound })
}

func (s *accuracySummary) reached() string {
	return s.figures(func(value, _ *float64) *float64 { return value })
}

func (s *accuracySummary) figures(pick func(value, bound *float64) *float64) string {
	var out []string
	for _, f := range []struct {
		name         string
		value, bound *float64
	}{{"median", s.Median, s.MaxMed}, {"p90", s.P90, s.MaxP90}, {"worst", s.Worst, s.MaxAny}} {
		if f.bound == nil {
			continue
		}
		if v := pick(f.value, f.bound); v != nil {
			out = append(out, fmt.Sprintf("%s %s", f.name, percent(v)))
		}
	}
	return strings.Join(out, ", ")
}

func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

// signed is percent with its sign.
func signed(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100**v)
}

// reasons counts why rows were not compared, the most frequent first.
func (r *accuracyReport) reasons() string {
	counts := map[string]int{}
	var whys []string
	for _, m := range r.Missed {
		if counts[m.Why]++; counts[m.Why] == 1 {
			whys = append(whys, m.Why)
		}
	}
	slices.SortFunc(whys, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, w := range whys {
		whys[i] = fmt.Sprintf("%d x %s", counts[w], w)
	}
	return strings.Join(whys, "; ")
}

func (r *accuracyReport) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	section := func(title string, rows []accuracySummary) {
		if len(rows) == 0 {
			return
		}
		fmt.Fprintf(t, "%s\nGPU\tfigure\tengines\tn\tmedian\tp90\tbias\tworst\tof\n", title)
		for i := range rows {
			s := &rows[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", s.GPU, s.Name, s.Engines, s.N, percent(s.Median), percent(s.P90), signed(s.Bias), signed(s.Worst), s.WorstAt)
		}
		fmt.Fprintln(t)
	}
	section("inside what the profiles were fitted on", r.Inside)
	section("unvalidated: beyond what the profiles were fitted on", r.Unvalidated)
	if len(r.Bounds) > 0 {
		fmt.Fprintf(t, "bounds, on what is inside\nGPU\tfigure\tengines\tn\tmedian\tp90\tworst\tbound\tverdict\n")
		for i := range r.Bounds {
			s := &r.Bounds[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", s.GPU, s.Name, s.Engines, s.N, percent(s.Median), percent(s.P90), signed(s.Worst), s.limits(), s.Verdict)
		}
		fmt.Fprintln(t)
	}
	if len(r.Sources) > 0 {
		fmt.Fprintf(t, "steps and TPOT by source, unvalidated ones included\nGPU\tengines\tsource\tn\tmedian\tp90\tbias\n")
		for i := range r.Sources {
			s := &r.Sources[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", s.GPU, s.Engines, s.Source, s.N, percent(s.Median), percent(s.P90), signed(s.Bias))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(r.Missed) > 0 {
		_, err := fmt.Fprintf(w, "not compared: %s\n", r.reasons())
		return err
	}
	return nil
}
