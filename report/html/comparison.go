package html

import (
	"fmt"
	"io"
	"strings"

	"goodput/report/compare"
	"goodput/report/render"
)

// WriteComparison writes the page of a comparison whose Check holds: what differs, and
// below it the runs of the first seed, one for each arm.
func WriteComparison(w io.Writer, s *compare.Set) error {
	p, err := buildComparison(s)
	if err != nil {
		return err
	}
	return p.write(w)
}

// ComparisonPlots returns the charts of the page, in order, with names that differ.
func ComparisonPlots(s *compare.Set) ([]Figure, error) {
	p, err := buildComparison(s)
	if err != nil {
		return nil, err
	}
	return p.plots(), nil
}

func buildComparison(s *compare.Set) (*page, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var runs []*render.Report
	for a := range s.Arms {
		runs = append(runs, s.Trials[a][0].Report)
	}
	p, err := build(runs)
	if err != nil {
		return nil, err
	}
	p.Title = fmt.Sprintf("goodput: %s: %d arms, %d seeds", s.Dir, len(s.Arms), len(s.Seeds))
	p.Arms, p.Paired = nil, true
	for _, t := range s.Tables() {
		p.Arms = append(p.Arms, table{Title: t.Title, Note: t.Note, Head: t.Head, Rows: t.Rows})
	}
	for a, name := range s.Arms {
		for i, t := range s.Trials[a][1:] { // those of the first seed have a verdict each
			if h := t.Report.Health; !h.Valid() {
				p.Invalid = append(p.Invalid, fmt.Sprintf("%s, seed %d (%s): %s", name, s.Seeds[i+1], h.Verdict, strings.Join(h.Why, "; ")))
			}
		}
	}
	return p, nil
}
