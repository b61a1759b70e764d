package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"goodput/report/gate"
	"goodput/report/render"
)

// Table is a part of the comparison for people. The first cell of a row names it.
type Table struct {
	Title, Note string
	Head        []string
	Rows        [][]string
}

// Tables are the parts that there are: the figures of the arms, those of their pools, what differs, the same of
// the classes of the load, the knees, what a router costs, and what a canary would have said.
func (s *Set) Tables() []Table {
	out := append([]Table{s.figures(), s.pool(), s.changes()}, s.classTables()...)
	out = append(out, s.kneeTable(), s.costTable())
	if s.Split != nil {
		out = append(out, s.Split.table(s))
	}
	return slices.DeleteFunc(out, func(t Table) bool { return len(t.Rows) == 0 })
}

// Paired is s with those seeds alone that all arms have run, so that Check holds unless
// there are none.
func (s *Set) Paired() *Set {
	out := &Set{Dir: s.Dir, Arms: s.Arms, Trials: make([][]*Trial, len(s.Arms)), Knees: s.Knees, Split: s.Split}
	for i, seed := range s.Seeds {
		if slices.ContainsFunc(s.Trials, func(row []*Trial) bool { return row[i] == nil }) {
			continue
		}
		out.Seeds = append(out.Seeds, seed)
		for a := range s.Arms {
			out.Trials[a] = append(out.Trials[a], s.Trials[a][i])
		}
	}
	return out
}

// Markdown writes the tables of the comparison, and which runs do not count.
func (s *Set) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %d arms, %d seeds\n\n", s.Dir, len(s.Arms), len(s.Seeds))
	var invalid strings.Builder
	s.invalid(&invalid)
	for line := range strings.Lines(invalid.String()) {
		fmt.Fprintf(&b, "**%s**\n\n", strings.TrimSpace(line))
	}
	for _, t := range s.Tables() {
		fmt.Fprintf(&b, "#### %s\n\n%s\n\n", t.Title, t.Note)
		for i, row := range append([][]string{t.Head}, t.Rows...) {
			for _, cell := range row {
				fmt.Fprintf(&b, "| %s ", strings.NewReplacer("|", `\|`, "*", `\*`).Replace(cell))
			}
			b.WriteString("|\n")
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// figures has a row for each arm, of what users see.
func (s *Set) figures() Table {
	shown, _ := s.shown()
	return s.means(shown, Table{Title: "Arms", Note: fmt.Sprintf("Means over %d seeds, with the same arrivals and prompts in all arms.", len(s.Seeds))})
}

// pool is the same of what answers.
func (s *Set) pool() Table {
	_, shown := s.shown()
	if len(shown) == 0 {
		return Table{}
	}
	return s.means(shown, Table{
		Title: "Pool",
		Note: "imbalance: requests of the replica that had most, over the mean of all. skew: by how many requests in flight the fullest replica was ahead of the emptiest, " +
			"as each request found it, on average; peak skew: at the most. herding: how many times as often a request went where the one before it went " +
			"as if each were drawn by itself (1: chance, 0: in turn). staleness: mean age of the engines' reports that the rule went by. sends: how often a request was sent on by what is on the way and tries again, and most sends: the most of it.",
	})
}

func (s *Set) means(shown []*measure, t Table) Table {
	t.Head = []string{"arm"}
	for _, m := range shown {
		t.Head = append(t.Head, m.title)
	}
	for a, name := range s.Arms {
		row := []string{name}
		for _, m := range shown {
			row = append(row, gate.Known(m.metric).Format(s.mean(a, m)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// changes has a row for each arm but the first, and each figure.
func (s *Set) changes() Table {
	t := Table{Title: "Against " + s.Arms[0] + ", paired by seed", Note: s.changesNote(), Head: []string{"arm", "figure", "difference", "verdict"}}
	pairs := s.Pairs()
	for _, name := range s.Arms[1:] {
		for i := range pairs {
			if p := &pairs[i]; p.Arm == name {
				t.Rows = append(t.Rows, []string{name, p.Title, p.Change(), p.verdict()})
			}
		}
	}
	return t
}

func (s *Set) changesNote() string {
	if len(s.Seeds) == 1 {
		return "one seed has no interval: use --seeds 5"
	}
	note := fmt.Sprintf("95 %% interval over %d seeds; * differs at 5 %%", len(s.Seeds))
	if len(s.Arms) > 2 {
		note += fmt.Sprintf(" with %d arms compared (Holm)", len(s.Arms)-1)
	}
	return note
}

func (s *Set) kneeTable() (t Table) {
	for a, name := range s.Arms {
		if k := s.kneeOf(a); k != nil {
			t.Title, t.Note, t.Head = "Knee of "+k.SLO, render.IntervalLabel(k.N)+" (95 %)", []string{"arm", "knee"}
			t.Rows = append(t.Rows, []string{name, k.Text()})
		}
	}
	return t
}

func (s *Set) costTable() Table {
	t := Table{
		Title: "Router cost, ms", Note: fmt.Sprintf("Through the router less %s, 95 %% interval over seeds; d_: client less server.", DirectArm),
		Head: []string{"arm", "figure", "through it", DirectArm, "cost"},
	}
	for _, c := range s.Costs() {
		t.Rows = append(t.Rows, c.cells())
	}
	return t
}

// cells are the row of a table.
func (c *Cost) cells() []string {
	cost := fmt.Sprintf("%+.3f", c.Value/1e6)
	if !math.IsNaN(c.Lo) {
		cost += fmt.Sprintf(" [%+.3f, %+.3f]", c.Lo/1e6, c.Hi/1e6)
	}
	return []string{c.Arm, c.Metric + " " + c.Agg, fmt.Sprintf("%.3f", c.Via/1e6), fmt.Sprintf("%.3f", c.Direct/1e6), cost}
}

func (x *Split) table(s *Set) Table {
	t := Table{
		Title: "Split by " + x.By, Head: []string{s.Arms[1], "in the split", "each with all of the load"},
		Note: "The same load in one run, a half of it to each arm before the same engines: both halves wait in the same queues and share caches.",
	}
	for _, r := range x.rows(s.Pairs()) {
		t.Rows = append(t.Rows, []string{r.split.Title, r.split.Change(), r.alone.Change()})
	}
	return t
}
