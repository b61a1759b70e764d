package compare

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"goodput/report/gate"
	"goodput/report/render"
)

// ClassSet is the comparison of one class of the load. Rates are up to the last request of
// the class.
type ClassSet struct {
	Name string
	// Set has the arms and seeds of the whole, each run with the figures of the class alone.
	Set *Set
}

// Classes are the comparisons of those classes that every run has requests of, in the order
// of the plan, and of the probes; none: the load is all alike.
func (s *Set) Classes() []ClassSet {
	if len(s.Trials) == 0 || len(s.Trials[0]) == 0 || s.Trials[0][0] == nil {
		return nil
	}
	var out []ClassSet
	for _, c := range s.Trials[0][0].Report.Classes {
		if x, ok := s.class(c.Name); ok {
			out = append(out, ClassSet{c.Name, x})
		}
	}
	return out
}

func (s *Set) class(name string) (*Set, bool) {
	out := &Set{Dir: s.Dir, Arms: s.Arms, Seeds: s.Seeds}
	for _, row := range s.Trials {
		var of []*Trial
		for _, t := range row {
			i := slices.IndexFunc(t.Report.Classes, func(c render.Class) bool { return c.Name == name && c.Figures != nil })
			if i < 0 {
				return nil, false
			}
			c := t.Report.Classes[i]
			of = append(of, &Trial{Arm: t.Arm, Seed: t.Seed, Report: &render.Report{Figures: c.Figures, Health: t.Report.Health, SLO: c.SLO}})
		}
		out.Trials = append(out.Trials, of)
	}
	return out, true
}

// users are the figures of what users see that some class of the sets has.
func users(list []ClassSet) []*measure {
	var out []*measure
	for i := range measures {
		m := &measures[i]
		if slices.ContainsFunc(list, func(c ClassSet) bool {
			seen, _ := c.Set.shown()
			return slices.Contains(seen, m)
		}) {
			out = append(out, m)
		}
	}
	return out
}

// pairs are the differences in what users see.
func (c *ClassSet) pairs() []Pair {
	return slices.DeleteFunc(c.Set.Pairs(), func(p Pair) bool {
		return slices.ContainsFunc(measures[:], func(m measure) bool { return m.title == p.Title && m.pool })
	})
}

// classTables are the figures of the classes, and what differs; none without classes.
func (s *Set) classTables() []Table {
	list := s.Classes()
	if len(list) == 0 {
		return nil
	}
	figures := Table{Title: "Classes", Note: "Means over seeds, of the requests of one class; rates are up to its last request.", Head: []string{"class", "arm"}}
	shown := users(list)
	for _, m := range shown {
		figures.Head = append(figures.Head, m.title)
	}
	changes := Table{Title: "Classes against " + s.Arms[0] + ", paired by seed", Note: s.changesNote(), Head: []string{"class", "arm", "figure", "difference", "verdict"}}
	for i := range list {
		c := &list[i]
		for a, arm := range s.Arms {
			row := []string{c.Name, arm}
			for _, m := range shown {
				row = append(row, gate.Known(m.metric).Format(c.Set.mean(a, m)))
			}
			figures.Rows = append(figures.Rows, row)
		}
		pairs := c.pairs()
		for _, arm := range s.Arms[1:] {
			for k := range pairs {
				if p := &pairs[k]; p.Arm == arm {
					changes.Rows = append(changes.Rows, []string{c.Name, arm, p.Title, p.Change(), p.verdict()})
				}
			}
		}
	}
	return []Table{figures, changes}
}

// classes prints the same as text.
func (s *Set) classes(b *strings.Builder) {
	for i, table := range s.classTables() {
		align := tabwriter.AlignRight
		if i > 0 {
			align = 0
		}
		if len(table.Rows) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s: %s\n\n", strings.ToLower(table.Title[:1])+table.Title[1:], table.Note)
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', align)
		for _, row := range append([][]string{table.Head}, table.Rows...) {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		_ = t.Flush() // a strings.Builder takes all
	}
}

// jsonClass is the comparison of a class.
type jsonClass struct {
	Name  string         `json:"name"`
	Arms  []jsonClassArm `json:"arms"`
	Pairs []jsonPair     `json:"pairs"`
}

type jsonClassArm struct {
	Name    string       `json:"name"`
	Figures []jsonFigure `json:"figures"`
}

func (s *Set) classesJSON() []jsonClass {
	out := []jsonClass{}
	for _, c := range s.Classes() {
		j := jsonClass{Name: c.Name, Pairs: jsonPairs(c.pairs())}
		for a, arm := range s.Arms {
			x := jsonClassArm{Name: arm}
			for _, m := range users([]ClassSet{c}) {
				k := gate.Known(m.metric)
				x.Figures = append(x.Figures, jsonFigure{k.Name, m.agg.String(), k.Unit(), number(c.Set.mean(a, m))})
			}
			j.Arms = append(j.Arms, x)
		}
		out = append(out, j)
	}
	return out
}
