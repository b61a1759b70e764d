package cli

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"goodput/fakeengine/accuracy"
	"goodput/report/plot"
)

//go:embed profile_page.html
var accuracyPage string

// gpuSection is what the page says of one GPU.
type gpuSection struct {
	GPU                                  string
	Legend                               []legendEntry
	Plots                                []template.HTML
	Bounds, Inside, Unvalidated, Sources []accuracySummary
	Comparisons                          []accuracyComparison
}

type legendEntry struct {
	Mark template.HTML
	Name string
}

// page writes one HTML file that needs nothing else.
func (r *accuracyReport) page(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"percent": percent, "signed": signed, "titled": titled,
		"limits":   func(s accuracySummary) string { return s.limits() },
		"signedof": func(v float64) string { return signed(&v) },
		"number":   number,
		"join":     func(s []string) string { return strings.Join(s, ", ") },
	}).Parse(accuracyPage)
	if err != nil {
		return fmt.Errorf("parsing the page's template: %w", err)
	}
	var sections []gpuSection
	for _, gpu := range r.gpus() {
		s, err := r.section(gpu)
		if err != nil {
			return err
		}
		sections = append(sections, s)
	}
	return t.Execute(w, struct {
		*accuracyReport
		Style    template.CSS
		Reasons  string
		Sections []gpuSection
	}{r, template.CSS(plot.Style), r.reasons(), sections})
}

func (r *accuracyReport) gpus() []string {
	var out []string
	for i := range r.Comparisons {
		out = append(out, r.Comparisons[i].GPU)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *accuracyReport) section(gpu string) (gpuSection, error) {
	of := func(in []accuracySummary) (out []accuracySummary) {
		for _, s := range in {
			if s.GPU == gpu {
				out = append(out, s)
			}
		}
		return out
	}
	s := gpuSection{GPU: gpu, Bounds: of(r.Bounds), Inside: of(r.Inside), Unvalidated: of(r.Unvalidated), Sources: of(r.Sources)}
	var sources []string
	for _, c := range r.Comparisons {
		if c.GPU == gpu {
			s.Comparisons = append(s.Comparisons, c)
			sources = append(sources, c.Source)
		}
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	for i, name := range sources {
		s.Legend = append(s.Legend, legendEntry{template.HTML(plot.Mark(i)), name})
	}
	for _, m := range accuracy.Measures() {
		chart := scatter(m, s.Comparisons, sources)
		if chart == nil {
			continue
		}
		var b strings.Builder
		if err := chart.WriteSVG(&b); err != nil {
			return s, err
		}
		s.Plots = append(s.Plots, template.HTML(b.String()))
	}
	return s, nil
}

// scatter plots one measure, a series for each source; nil: there is no point.
func scatter(m accuracy.Measure, cs []accuracyComparison, sources []string) *plot.Scatter {
	out := &plot.Scatter{Title: string(m), X: "measured, " + m.Unit(), Y: "predicted, " + m.Unit(), Band: 0.25}
	for i, source := range sources {
		s := plot.Series{Name: source, Mark: i}
		for _, c := range cs {
			if c.Figure != string(m) || c.Source != source {
				continue
			}
			s.Points = append(s.Points, plot.Point{
				X: c.Measured, Y: c.Predicted, Hollow: len(c.Unvalidated) > 0,
				Label: fmt.Sprintf("%s, measured %s, predicted %s %s (%+.0f %%)", c.Config, number(c.Measured), number(c.Predicted), c.Unit, 100*c.Error),
			})
		}
		if len(s.Points) > 0 {
			out.Series = append(out.Series, s)
		}
	}
	if len(out.Series) == 0 {
		return nil
	}
	return out
}

// titledRows is a table of the page.
type titledRows struct {
	Title string
	Rows  []accuracySummary
}

func titled(title string, rows []accuracySummary) titledRows { return titledRows{title, rows} }
