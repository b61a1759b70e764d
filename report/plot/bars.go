package plot

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Bars is a chart of horizontal bars, each of parts one after the other.
type Bars struct {
	Title string
	// X names the axis, with its unit.
	X    string
	Rows []Bar
}

// Bar is one row. Parts are in the order of the colours; their sum ends the bar. A
// part that is not above 0 is not drawn.
type Bar struct {
	Name  string
	Parts []float64
	// Names are those of the parts, for readers who ask; Text stands behind the bar.
	Names []string
	Text  string
}

const (
	barLeft, barRight = 96.0, 325.0
	barStep, barHigh  = 22.0, 15.0
	barTop            = 26.0
	barText           = 15 // runes that fit left of the bars
)

// WriteSVG writes the chart as one svg element, without its legend: see Mark.
func (c *Bars) WriteSVG(w io.Writer) error {
	most := 0.0
	for i := range c.Rows {
		sum := 0.0
		for _, v := range c.Rows[i].Parts {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("drawing %q: %s is %v: need a number", c.Title, c.Rows[i].Name, v)
			}
			sum += max(0, v)
		}
		most = max(most, sum)
	}
	if len(c.Rows) == 0 {
		return fmt.Errorf("drawing %q: no rows", c.Title)
	}
	x := span{Linear, 0, max(most, 1e-9), barLeft, barRight}
	bottom := barTop + barStep*float64(len(c.Rows))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="plot bars" viewBox="0 0 %g %g" role="img" aria-label="%s: %s of %d rows">`+"\n",
		width, bottom+36, html.EscapeString(c.Title), html.EscapeString(c.X), len(c.Rows))
	fmt.Fprintf(&b, `<text class="title" x="2" y="14">%s</text>`+"\n", html.EscapeString(c.Title))
	for _, t := range x.ticks(5) {
		at, _ := x.at(t.at)
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fV%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, at, barTop, bottom, at, bottom+14, t.text)
	}
	fmt.Fprintf(&b, `<text class="label" x="%g" y="%.1f" text-anchor="middle">%s</text>`+"\n", (barLeft+barRight)/2, bottom+30, html.EscapeString(c.X))
	for i := range c.Rows {
		c.Rows[i].draw(&b, &x, barTop+barStep*float64(i))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Bar) draw(b *strings.Builder, x *span, y float64) {
	name := []rune(r.Name)
	if len(name) > barText {
		name = append(name[:barText-1], '…')
	}
	fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f" text-anchor="end">%s</text>`, barLeft-5, y+13, html.EscapeString(string(name)))
	sum := 0.0
	for i, v := range r.Parts {
		if v <= 0 {
			continue
		}
		from, _ := x.at(sum)
		sum += v
		to, _ := x.at(sum)
		what := r.Name
		if i < len(r.Names) {
			what += ", " + r.Names[i]
		}
		fmt.Fprintf(b, `<rect class="mark %s" x="%.1f" y="%.1f" width="%.2f" height="%g"><title>%s: %s</title></rect>`,
			partClass(i), from, y+3, max(to-from, 0.3), barHigh, html.EscapeString(what), short(v))
	}
	end, _ := x.at(sum)
	fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f">%s</text>`+"\n", end+4, y+14, html.EscapeString(r.Text))
}

// Block is the colour of a bar's part as an svg element of its own, for legends.
func Block(part int) string {
	return fmt.Sprintf(`<svg class="legend" viewBox="-6 -6 12 12" aria-hidden="true"><path class="mark %s" d="M-5 -5H5V5H-5Z"/></svg>`, partClass(part))
}

// partClass is how a part looks: beyond the colours there are, they are used again, paler.
func partClass(part int) string {
	if part >= colours {
		return fmt.Sprintf("s%d again", part%colours)
	}
	return fmt.Sprintf("s%d", part)
}
