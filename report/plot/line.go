package plot

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// Scale maps values to an axis.
type Scale uint8

// The scales. Tail is that of quantiles from 0 to below 1: each of 0, 0.9, 0.99 and so
// on is as far from the next.
const (
	Linear Scale = iota
	Log
	Tail
)

// Lines is a chart of lines over a common axis.
type Lines struct {
	Title string
	// X and Y name the axes, with their unit.
	X, Y           string
	XScale, YScale Scale
	// From and To bound the x axis; equal: the range of the data.
	From, To float64
	// Height is that of the chart in units of its width of 400; 0: 220.
	Height float64
	Lines  []Line
	// Rules are vertical lines, such as where a window begins.
	Rules []Rule
}

// Line is one series. X ascends. A NaN in Y is unknown, and leaves a gap.
type Line struct {
	Name string
	Mark int // its colour and dash
	X, Y []float64
	// Low and High, if any, are drawn as a band.
	Low, High []float64
	// Dots marks each point. Loose draws the marks alone: a line between points of
	// different runs would look like a course that nothing took.
	Dots, Loose bool
}

// Key is how the line looks, as an svg element of its own, for legends.
func (l *Line) Key() string {
	if l.Loose {
		return Mark(l.Mark)
	}
	return swatch(l.Mark)
}

// Rule is a vertical line with a name.
type Rule struct {
	At   float64
	Name string
}

// lineFrame is where the axes are.
type lineFrame struct{ x, y span }

// span maps values of one axis to places.
type span struct {
	scale    Scale
	lo, hi   float64 // on the scale
	from, to float64 // places
}

// on is a value on the scale; ok is false for one that it can't show.
func (s Scale) on(v float64) (x float64, ok bool) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, false
	case s == Log:
		return math.Log10(v), v > 0
	case s == Tail:
		return -math.Log10(1 - v), v >= 0 && v < 1
	}
	return v, true
}

func (s *span) at(v float64) (place float64, ok bool) {
	x, ok := s.scale.on(v)
	return s.from + (x-s.lo)/(s.hi-s.lo)*(s.to-s.from), ok
}

func (s *span) take(v float64) {
	if x, ok := s.scale.on(v); ok {
		s.lo, s.hi = min(s.lo, x), max(s.hi, x)
	}
}

// settle makes room where all values are one, and lets linear axes of amounts begin
// at 0.
func (s *span) settle(fromZero bool) {
	if s.scale == Linear && fromZero {
		s.lo, s.hi = min(0, s.lo), s.hi+0.05*math.Abs(s.hi)
	}
	if s.scale == Tail && fromZero {
		s.lo = min(0, s.lo) // its lowest tick
	}
	if s.hi-s.lo < 1e-12*max(1, math.Abs(s.hi)) {
		s.lo, s.hi = s.lo-0.5, s.hi+0.5
		if s.scale == Linear && s.lo < 0 && fromZero {
			s.lo, s.hi = 0, 1
		}
	}
}

const lineRight = 392.0

func (c *Lines) frame() (lineFrame, error) {
	height := c.height()
	f := lineFrame{
		span{c.XScale, math.Inf(1), math.Inf(-1), left, lineRight},
		span{c.YScale, math.Inf(1), math.Inf(-1), height - 38, 28},
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		if len(l.X) != len(l.Y) || len(l.Low) != len(l.High) || len(l.Low) != 0 && len(l.Low) != len(l.X) {
			return f, fmt.Errorf("line %q has %d, %d, %d and %d values", l.Name, len(l.X), len(l.Y), len(l.Low), len(l.High))
		}
		for k := range l.X {
			if _, ok := c.YScale.on(l.Y[k]); !ok {
				continue
			}
			f.x.take(l.X[k])
			f.y.take(l.Y[k])
			if l.Low != nil {
				f.y.take(l.Low[k])
				f.y.take(l.High[k])
			}
		}
	}
	if f.y.lo > f.y.hi {
		return f, fmt.Errorf("no points")
	}
	if c.From != c.To {
		f.x.lo, f.x.hi = c.From, c.To
	}
	f.x.settle(false)
	f.y.settle(true)
	return f, nil
}

func (c *Lines) height() float64 {
	if c.Height > 0 {
		return c.Height
	}
	return 220
}

// WriteSVG writes the chart as one svg element, without its legend: see Line.Key.
func (c *Lines) WriteSVG(w io.Writer) error {
	f, err := c.frame()
	if err != nil {
		return fmt.Errorf("drawing %q: %w", c.Title, err)
	}
	var b strings.Builder
	var names []string
	for i := range c.Lines {
		names = append(names, c.Lines[i].Name)
	}
	fmt.Fprintf(&b, `<svg class="plot lines" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n", width, c.height(),
		html.EscapeString(fmt.Sprintf("%s: %s over %s; %s", c.Title, c.Y, c.X, strings.Join(names, ", "))))
	fmt.Fprintf(&b, `<text class="title" x="2" y="14">%s</text>`+"\n", html.EscapeString(c.Title))
	f.grid(&b)
	fmt.Fprintf(&b, `<text class="label" x="%g" y="%.1f" text-anchor="middle">%s</text>`+"\n", (left+lineRight)/2, f.y.from+32, html.EscapeString(c.X))
	fmt.Fprintf(&b, `<text class="label" transform="translate(12 %.1f) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (f.y.from+f.y.to)/2, html.EscapeString(c.Y))
	for _, r := range c.Rules {
		if x, ok := f.x.at(r.At); ok && x >= left-0.5 && x <= lineRight+0.5 {
			anchor, at := "start", x+3
			if x > (left+lineRight)/2 {
				anchor, at = "end", x-3
			}
			fmt.Fprintf(&b, `<path class="band" d="M%.1f %.1fV%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, f.y.from, f.y.to-4, at, f.y.to-1, anchor, html.EscapeString(r.Name))
		}
	}
	for i := range c.Lines {
		c.Lines[i].draw(&b, &f)
	}
	b.WriteString("</svg>\n")
	_, err = io.WriteString(w, b.String())
	return err
}

func (l *Line) draw(b *strings.Builder, f *lineFrame) {
	l.area(b, f)
	var path strings.Builder
	pen := byte('M')
	for k := range l.X {
		x, ok1 := f.x.at(l.X[k])
		y, ok2 := f.y.at(l.Y[k])
		if !ok1 || !ok2 {
			pen = 'M'
			continue
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", pen, x, y)
		if l.Dots || l.Loose || pen == 'M' && (k+1 == len(l.X) || math.IsNaN(l.Y[k+1])) { // a point alone has no line
			fmt.Fprintf(b, `<path class="mark s%d" transform="translate(%.1f %.1f) scale(.7)" d="%s"/>`, l.Mark%colours, x, y, shape(l.Mark))
		}
		pen = 'L'
	}
	if l.Loose {
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, `<path class="line l%d d%d" d="%s"><title>%s</title></path>`+"\n", l.Mark%colours, l.Mark%4, path.String(), html.EscapeString(l.Name))
}

// area draws the band, in the stretches in which it is known.
func (l *Line) area(b *strings.Builder, f *lineFrame) {
	var up, down []string
	flush := func() {
		if len(up) > 1 {
			fmt.Fprintf(b, `<path class="area s%d" d="M%sL%sZ"/>`+"\n", l.Mark%colours, strings.Join(up, "L"), strings.Join(down, "L"))
		}
		up, down = nil, nil
	}
	for k := range l.Low {
		x, ok := f.x.at(l.X[k])
		low, ok1 := f.y.at(l.Low[k])
		high, ok2 := f.y.at(l.High[k])
		if !ok || !ok1 || !ok2 {
			flush()
			continue
		}
		up = append(up, fmt.Sprintf("%.1f %.1f", x, high))
		down = append([]string{fmt.Sprintf("%.1f %.1f", x, low)}, down...)
	}
	flush()
}

// swatch is the stroke of a line as an svg element of its own.
func swatch(mark int) string {
	return fmt.Sprintf(`<svg class="legend stroke" viewBox="0 0 26 14" aria-hidden="true"><path class="line sample l%d d%d" d="M0 8H26"/></svg>`, mark%colours, mark%4)
}

// tick is a place on an axis with its text.
type tick struct {
	at   float64
	text string
}

func (f *lineFrame) grid(b *strings.Builder) {
	for _, t := range f.x.ticks(7) {
		x, _ := f.x.at(t.at)
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fV%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, f.y.from, f.y.to, x, f.y.from+14, t.text)
	}
	for _, t := range f.y.ticks(max(3, int((f.y.from-f.y.to)/26))) {
		y, _ := f.y.at(t.at)
		fmt.Fprintf(b, `<path class="grid" d="M%g %.1fH%g"/><text class="tick" x="%g" y="%.1f" text-anchor="end">%s</text>`, left, y, lineRight, left-5, y+4, t.text)
	}
	fmt.Fprintf(b, `<path class="frame" d="M%g %.1fV%.1fH%g"/>`+"\n", left, f.y.to, f.y.from, lineRight)
}

// ticks are at most about most of them, at round values.
func (s *span) ticks(most int) []tick {
	var out []tick
	switch s.scale {
	case Tail:
		for i, v := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999} {
			if x, _ := s.scale.on(v); x <= s.hi {
				out = append(out, tick{v, []string{"0", "P50", "P90", "P99", "P99.9", "P99.99", "", ""}[i]})
			}
		}
		return out
	case Log:
		a := axis{s.lo, s.hi}
		for _, v := range a.ticks() {
			out = append(out, tick{v, short(v)})
		}
		if len(out) < 3 { // of so narrow a span the logarithms are all but even
			return even(math.Pow(10, s.lo), math.Pow(10, s.hi), most)
		}
		for len(out) > most+3 {
			out = everyOther(out)
		}
		return out
	}
	return even(s.lo, s.hi, most)
}

// even are ticks from lo to hi at steps of 1, 2 or 5 times a power of ten, at most about
// most of them, with as many digits as tell them apart.
func even(lo, hi float64, most int) []tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(most))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= float64(most) {
			step *= m
			break
		}
	}
	var out []tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step; i++ {
		out = append(out, tick{i*step + 0, apart(i*step+0, step)}) // + 0: not -0
	}
	return out
}

func everyOther(in []tick) []tick {
	var out []tick
	for i := 0; i < len(in); i += 2 {
		out = append(out, in[i])
	}
	return out
}
