package html

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"goodput/report/plot"
)

// Figure is a chart with what belongs to it.
type Figure struct {
	// Name is that of a file without its extension, Title what stands above the chart.
	Name    string
	Title   string
	SVG     template.HTML
	Legend  []legend
	Caption string
	Table   table
}

type legend struct {
	Mark template.HTML
	Name string
	part int // its colour
}

// File is the chart as a file of its own, with its legend.
func (f *Figure) File() []byte {
	text := string(f.SVG)
	var w, h float64
	head := strings.Index(text, `viewBox="`)
	end := strings.Index(text, ">")
	if n, err := fmt.Sscanf(text[head:], `viewBox="0 0 %g %g"`, &w, &h); n != 2 || err != nil || end < head {
		return []byte(text) // not one of ours
	}
	rows, under := f.legend(w, h)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %g %g" width="%g" role="img">`+"\n", w, under, 2*w)
	fmt.Fprintf(&b, "<style>%s%s</style>\n", colours, plot.Style)
	b.WriteString(`<rect width="100%" height="100%" style="fill:var(--paper)"/>` + "\n")
	b.WriteString(text[end+1 : strings.LastIndex(text, "</svg>")])
	b.WriteString(rows + "</svg>\n")
	return []byte(b.String())
}

// legend is drawn below a chart of so much width and height, in as many rows as it takes;
// under is where it ends. How wide a letter is depends on the reader's font: it is taken to
// be wider than most.
func (f *Figure) legend(w, h float64) (rows string, under float64) {
	const margin, row, letter, gap = 8.0, 15.0, 6.4, 12.0
	if len(f.Legend) == 0 {
		return "", h + 2
	}
	var b strings.Builder
	x, y := margin, h+8
	for _, l := range f.Legend {
		mark := string(l.Mark)
		wide, right, up := 18.0, 6.0, 1.0 // of a mark around its middle
		if strings.Contains(mark, "sample") {
			wide, right, up = 30, 0, 8 // of a line to the right of and below its origin
		}
		long := wide + letter*float64(utf8.RuneCountInString(l.Name))
		if x > margin && x+long > w {
			x, y = margin, y+row
		}
		fmt.Fprintf(&b, `<g transform="translate(%g %g)">%s</g><text class="legend-text" x="%g" y="%g">%s</text>`+"\n",
			x+right, y-up, mark[strings.Index(mark, ">")+1:strings.LastIndex(mark, "</svg>")], x+wide, y+3, html.EscapeString(l.Name))
		x += long + gap
	}
	return b.String(), y + row - 5
}

// colours are those of the page.
const colours = `
:root { --ink:#1d2329; --paper:#ffffff; --faint:#d8dde2; }
@media (prefers-color-scheme: dark) { :root { --ink:#e4e8ec; --paper:#14181c; --faint:#353d45; } }
`

// table is the numbers of a chart, or a table of its own. The first cell of a row
// names it.
type table struct {
	Title, Note string
	Of          string // the title of its chart, if it is of one
	Head        []string
	Rows        [][]string
}

// Words reports whether column i is of words, and so reads from the left.
func (t *table) Words(i int) bool {
	words := false
	for _, row := range t.Rows {
		if i >= len(row) || row[i] == "" {
			continue
		}
		switch r, _ := utf8.DecodeRuneInString(row[i]); {
		case unicode.IsLetter(r), strings.HasPrefix(row[i], "* "):
			words = true
		case unicode.IsDigit(r):
			return false
		}
	}
	return words
}

// mostRows of a chart's table are on the page; paperRows are on paper without having been
// opened, and paperColumns of a table beside another.
const (
	mostRows     = 260
	paperRows    = 24
	paperColumns = 5
)

// Label is what a screen reader calls the table.
func (t *table) Label() string {
	if t.Title == "" {
		return "numbers of " + t.Of
	}
	return t.Title
}

// Long is a table that would fill paper with what nobody asked for.
func (t *table) Long() bool { return len(t.Rows) > paperRows }

// Wide is a table that half a sheet of paper does not hold, and that is printed.
func (t *table) Wide() bool { return !t.Long() && len(t.Head) > paperColumns }

func (t *table) add(cells ...string) {
	if len(t.Rows) < mostRows {
		t.Rows = append(t.Rows, cells)
	}
}

// draw makes a figure of a chart.
func draw(name, title, caption string, chart func(io.Writer) error) (Figure, error) {
	var b strings.Builder
	if err := chart(&b); err != nil {
		return Figure{}, err
	}
	return Figure{Name: name, Title: title, Caption: caption, SVG: template.HTML(b.String()), Table: table{Of: title}}, nil
}

// lines makes a figure of lines, its legend and its table: a row for each x.
func lines(name, caption string, c *plot.Lines) (Figure, error) {
	f, err := draw(name, c.Title, caption, c.WriteSVG)
	if err != nil {
		return f, err
	}
	f.Table.Head = []string{c.X}
	for i := range c.Lines {
		l := &c.Lines[i]
		if len(c.Lines) > 1 {
			f.Legend = append(f.Legend, legend{template.HTML(l.Key()), l.Name, l.Mark})
		}
		f.Table.Head = append(f.Table.Head, l.Name)
	}
	if !sameX(c.Lines) { // one below the other
		f.Table.Head = []string{"line", c.X, c.Y}
		for i := range c.Lines {
			l := &c.Lines[i]
			for k := range l.X {
				f.Table.add(l.Name, number(l.X[k]), number(l.Y[k]))
			}
		}
		return f, nil
	}
	for k := range c.Lines[0].X {
		row := []string{number(c.Lines[0].X[k])}
		for i := range c.Lines {
			row = append(row, number(c.Lines[i].Y[k]))
		}
		f.Table.add(row...)
	}
	return f, nil
}

func sameX(all []plot.Line) bool {
	for i := range all {
		if len(all[i].X) != len(all[0].X) {
			return false
		}
		for k, x := range all[i].X {
			if x != all[0].X[k] {
				return false
			}
		}
	}
	return true
}

// number writes four digits without an exponent; what is unknown is a dash.
func number(v float64) string {
	if v != v {
		return "–"
	}
	if math.Abs(v) >= 1e4 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
