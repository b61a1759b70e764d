package plot

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
)

// Scatter compares two figures of many things, one against the other, on equal
// logarithmic axes with the diagonal, where they are the same.
type Scatter struct {
	Title string
	// X and Y name the axes, with their unit.
	X, Y string
	// Band draws lines beside the diagonal, where Y is by so much more or less than
	// X: 0.25 is 25 %. 0: none.
	Band float64
	// Series are drawn in order, each with its own colour and shape; see Mark.
	Series []Series
}

// Series is one kind of points.
type Series struct {
	Name   string
	Mark   int // of the series; see Mark
	Points []Point
}

// Point is one thing. X and Y are more than 0.
type Point struct {
	X, Y  float64
	Label string // what it is, for readers who ask
	// Hollow draws the outline only.
	Hollow bool
}

// The chart's size and the frame of its axes, in the units of its view box.
const (
	width, height            = 400.0, 380.0
	left, right, top, bottom = 58.0, 388.0, 30.0, 330.0
)

// WriteSVG writes the chart as one svg element.
func (s *Scatter) WriteSVG(w io.Writer) error {
	a, err := s.axis()
	if err != nil {
		return fmt.Errorf("drawing %q: %w", s.Title, err)
	}
	var b strings.Builder
	n := 0
	for i := range s.Series {
		n += len(s.Series[i].Points)
	}
	fmt.Fprintf(&b, `<svg class="plot" viewBox="0 0 %g %g" role="img" aria-label="%s: %s against %s, %d points">`+"\n",
		width, height, html.EscapeString(s.Title), html.EscapeString(s.Y), html.EscapeString(s.X), n)
	fmt.Fprintf(&b, `<text class="title" x="%g" y="18">%s</text>`+"\n", left, html.EscapeString(s.Title))
	a.grid(&b)
	fmt.Fprintf(&b, `<text class="label" x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (left+right)/2, bottom+38, html.EscapeString(s.X))
	fmt.Fprintf(&b, `<text class="label" transform="translate(14 %g) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+bottom)/2, html.EscapeString(s.Y))
	a.line(&b, "same", 1)
	if s.Band > 0 {
		a.line(&b, "band", 1+s.Band)
		a.line(&b, "band", 1/(1+s.Band))
	}
	for i := range s.Series {
		s.Series[i].draw(&b, &a)
	}
	b.WriteString("</svg>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func (s *Series) draw(b *strings.Builder, a *axis) {
	for i := range s.Points {
		p := &s.Points[i]
		hollow := ""
		if p.Hollow {
			hollow = " hollow"
		}
		fmt.Fprintf(b, `<path class="mark s%d%s" transform="translate(%.1f %.1f)" d="%s"><title>%s: %s</title></path>`+"\n",
			s.Mark%colours, hollow, a.x(p.X), a.y(p.Y), shape(s.Mark), html.EscapeString(s.Name), html.EscapeString(p.Label))
	}
}

// axis maps values to places, the same for both directions.
type axis struct{ lo, hi float64 } // decimal logarithms

// axis finds the range of all points.
func (s *Scatter) axis() (axis, error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range s.Series {
		for _, p := range s.Series[i].Points {
			for _, v := range []float64{p.X, p.Y} {
				if !(v > 0) || math.IsInf(v, 0) {
					return axis{}, fmt.Errorf("%s is at %v, %v: a logarithmic axis needs numbers above 0", p.Label, p.X, p.Y)
				}
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if lo > hi {
		return axis{}, fmt.Errorf("no points")
	}
	// A margin, and room for single points.
	a := axis{math.Log10(lo), math.Log10(hi)}
	margin := max(0.06, 0.05*(a.hi-a.lo))
	a.lo, a.hi = a.lo-margin, a.hi+margin
	return a, nil
}

func (a *axis) at(v float64) float64 { return (math.Log10(v) - a.lo) / (a.hi - a.lo) }
func (a *axis) x(v float64) float64  { return left + a.at(v)*(right-left) }
func (a *axis) y(v float64) float64  { return bottom - a.at(v)*(bottom-top) }

// ticks are powers of ten, with their multiples by 2 and 5 where there are few.
func (a *axis) ticks() []float64 {
	steps := []float64{1}
	switch span := a.hi - a.lo; {
	case span < 0.5:
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}
	case span < 2.2:
		steps = []float64{1, 2, 5}
	}
	var out []float64
	for e := math.Floor(a.lo); e <= a.hi; e++ {
		for _, m := range steps {
			if v := m * math.Pow(10, e); math.Log10(v) >= a.lo && math.Log10(v) <= a.hi {
				out = append(out, v)
			}
		}
	}
	return out
}

func (a *axis) grid(b *strings.Builder) {
	for _, v := range a.ticks() {
		x, y := a.x(v), a.y(v)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %gV%gM%g %.1fH%g"/>`, x, top, bottom, left, y, right)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%g" text-anchor="middle">%s</text>`, x, bottom+16, short(v))
		fmt.Fprintf(b, `<text class="tick" x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, y+4, short(v))
	}
	fmt.Fprintf(b, `<rect class="frame" x="%g" y="%g" width="%g" height="%g"/>`+"\n", left, top, right-left, bottom-top)
}

// line draws y = factor x inside the frame.
func (a *axis) line(b *strings.Builder, class string, factor float64) {
	lo, hi := math.Pow(10, a.lo), math.Pow(10, a.hi)
	x0, x1 := max(lo, lo/factor), min(hi, hi/factor)
	if x0 >= x1 {
		return
	}
	fmt.Fprintf(b, `<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>`+"\n", class, a.x(x0), a.y(factor*x0), a.x(x1), a.y(factor*x1))
}

// short writes a tick with a unit of thousands.
func short(v float64) string { return apart(v, v) }

// apart writes a tick so that it differs from those that are a step from it.
func apart(v, step float64) string {
	unit, name := 1.0, ""
	switch {
	case v >= 1e9:
		unit, name = 1e9, "G"
	case v >= 1e6:
		unit, name = 1e6, "M"
	case v >= 1e3:
		unit, name = 1e3, "k"
	}
	digits := 3
	if a := math.Abs(v); a > 0 && step > 0 {
		digits = min(max(digits, 1+int(math.Floor(math.Log10(a)+1e-9))-int(math.Floor(math.Log10(step)+1e-9))), 15)
	}
	return strconv.FormatFloat(v/unit, 'g', digits, 64) + name
}
