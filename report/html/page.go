package html

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"goodput/report/plot"
	"goodput/report/render"
)

//go:embed page.html
var pageText string

// section is what the page says of one run.
type section struct {
	*render.Report
	ID                               string
	Metrics                          table
	Latency, Skew, Waterfall, Course []Figure
	Unknown                          []string
	Sessions, Groups                 []table
}

// page is what the template is filled with.
type page struct {
	Title    string
	Style    template.CSS
	Arms     []table
	Compared []Figure
	Runs     []section
	Sweeps   []sweep
	// Paired: the arms are those of a comparison, and Invalid are its runs beside Runs
	// that do not count.
	Paired  bool
	Invalid []string
}

// write fills the template.
func (p *page) write(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("parsing the page's template: %w", err)
	}
	return t.Execute(w, p)
}

// Write writes the page of one run, or of several beside each other.
func Write(w io.Writer, runs []*render.Report) error {
	p, err := build(runs)
	if err != nil {
		return err
	}
	return p.write(w)
}

// Plots returns the charts of the page, in order, with names that differ.
func Plots(runs []*render.Report) ([]Figure, error) {
	p, err := build(runs)
	if err != nil {
		return nil, err
	}
	return p.plots(), nil
}

// plots are the charts of runs, named apart.
func (p *page) plots() []Figure {
	out := p.Compared
	for i := range p.Runs {
		s := &p.Runs[i]
		for _, group := range [][]Figure{s.Latency, s.Course, s.Skew, s.Waterfall} {
			for _, f := range group {
				if len(p.Runs) > 1 {
					f.Name = fmt.Sprintf("%d-%s", i+1, f.Name)
				}
				out = append(out, f)
			}
		}
	}
	return out
}

func build(runs []*render.Report) (*page, error) {
	if len(runs) == 0 {
		return nil, fmt.Errorf("making a page: no run")
	}
	p := &page{Title: "goodput: " + runs[0].Dir, Style: template.CSS(plot.Style)}
	if len(runs) > 1 {
		p.Title = fmt.Sprintf("goodput: %d runs", len(runs))
		p.Arms = []table{arms(runs)}
		var err error
		if p.Compared, err = compared(runs); err != nil {
			return nil, err
		}
	}
	for i, r := range runs {
		s := section{Report: r, ID: fmt.Sprintf("run%d", i+1), Metrics: metrics(r), Sessions: sessions(r), Groups: append(classes(r), deltas(r)...)}
		var err error
		for _, part := range []struct {
			to   *[]Figure
			draw func(*render.Report) ([]Figure, error)
		}{{&s.Latency, distributions}, {&s.Skew, skew}, {&s.Waterfall, waterfall}} {
			if *part.to, err = part.draw(r); err != nil {
				return nil, fmt.Errorf("%s: %w", r.Dir, err)
			}
		}
		if s.Course, s.Unknown, err = timelines(r); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Dir, err)
		}
		p.Runs = append(p.Runs, s)
	}
	return p, nil
}
