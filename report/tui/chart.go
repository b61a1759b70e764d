package tui

import (
	"math"
	"strings"

	"goodput/loadgen/monitor"
)

// curve is one line of a chart: NaN where nothing is known. Points are spread evenly
// over x from 0 to 1 by their place in time.
type curve struct {
	ink ink
	x   []float64
	y   []float64
}

// chart draws lines with dots of Braille, two by four in each cell, above an axis from
// 0 to top.
type chart struct {
	w, h  int
	dots  []byte
	color []ink
}

func newChart(w, h int) *chart {
	return &chart{w: w, h: h, dots: make([]byte, w*h), color: make([]ink, w*h)}
}

// bit is the dot of Braille at a column (0, 1) and a row (0 to 3, from above).
func bit(x, y int) byte {
	return [2][4]byte{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}[x][y]
}

func (c *chart) dot(x, y int, i ink) {
	if x < 0 || y < 0 || x >= 2*c.w || y >= 4*c.h {
		return
	}
	at := y/4*c.w + x/2
	c.dots[at] |= bit(x%2, y%4)
	c.color[at] = i
}

// draw adds a line; values above top are drawn at the top.
func (c *chart) draw(l curve, top float64) {
	lastX, lastY := -1, 0
	for i, v := range l.y {
		if math.IsNaN(v) {
			lastX = -1
			continue
		}
		x := int(math.Round(l.x[i] * float64(2*c.w-1)))
		y := int(math.Round((1 - min(max(v/top, 0), 1)) * float64(4*c.h-1)))
		if lastX < 0 {
			lastX, lastY = x, y
		}
		c.segment(lastX, lastY, x, y, l.ink)
		lastX, lastY = x, y
	}
}

// segment joins two dots by a line of steps.
func (c *chart) segment(x0, y0, x1, y1 int, i ink) {
	n := max(x1-x0, y1-y0, y0-y1, 1)
	for k := 0; k <= n; k++ {
		c.dot(x0+(x1-x0)*k/n, y0+(y1-y0)*k/n, i)
	}
}

// lines returns the chart's rows; level, if it is from 0 to 1, is a line across, drawn
// where no dots are.
func (c *chart) lines(k *inks, level float64) []string {
	across := -1
	if level >= 0 && level <= 1 {
		across = min(int((1-level)*float64(c.h)), c.h-1)
	}
	out := make([]string, c.h)
	for y := range out {
		var b strings.Builder
		for x := 0; x < c.w; {
			i, from := c.cell(x, y, across), x
			var run strings.Builder
			for x < c.w && c.cell(x, y, across) == i {
				switch d := c.dots[y*c.w+x]; {
				case d != 0:
					run.WriteRune(rune(0x2800) + rune(d))
				case y == across:
					run.WriteRune('╌')
				default:
					run.WriteByte(' ')
				}
				x++
			}
			if x == from {
				break
			}
			b.WriteString(k.write(i, run.String()))
		}
		out[y] = b.String()
	}
	return out
}

// cell is the ink of a cell.
func (c *chart) cell(x, y, across int) ink {
	switch {
	case c.dots[y*c.w+x] != 0:
		return c.color[y*c.w+x]
	case y == across:
		return limit
	}
	return plain
}

// niceTop is the end of an axis: the next of 1, 1.5, 2, 3, 5 and 7 times a power of ten.
func niceTop(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	if v > math.MaxFloat64/100 { // there is no next one
		return math.MaxFloat64
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.5, 2, 3, 5, 7} {
		if v <= m*unit*(1+1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

// latencies draws quantiles over the window, and what is promised.
func latencies(k *inks, p *monitor.Picture, of func(*monitor.Points) *monitor.Quantiles, promise monitor.Nanos, w, h int) []string {
	curves := [3]curve{{ink: low}, {ink: mid}, {ink: high}}
	top := 0.0
	start, width := shown(p)
	for i := range p.Series {
		pt := &p.Series[i]
		q := of(pt)
		x := min(max((float64(pt.At)+0.5e9-start)/width, 0), 1)
		for j, v := range []monitor.Nanos{q.P50, q.P95, q.P99} {
			y := math.NaN()
			if v.Known() {
				y = float64(v)
				top = max(top, y)
			}
			curves[j].x, curves[j].y = append(curves[j].x, x), append(curves[j].y, y)
		}
	}
	// The promise is worth a place in the chart unless all is far below it.
	if promise.Known() && (top == 0 || float64(promise) < 4*top) {
		top = max(top, float64(promise)*1.05)
	}
	top = niceTop(top)
	level := -1.0
	if promise.Known() {
		level = float64(promise) / top
	}
	return plotted(k, curves[:], top, level, w, h, func(v float64) string { return span(monitor.Nanos(v)) })
}

// plotted draws curves from 0 to top beside an axis with labels, with a line across at
// level, a share of top; below 0: none.
func plotted(k *inks, curves []curve, top, level float64, w, h int, text func(float64) string) []string {
	const axis = 9
	if h < 2 || w < axis+10 {
		return nil
	}
	c := newChart(w-axis, h)
	for i := range curves {
		c.draw(curves[i], top)
	}
	out := c.lines(k, level)
	for y := range out {
		label := ""
		switch y {
		case 0:
			label = text(top)
		case h - 1:
			label = "0"
		case h / 2:
			if h >= 5 {
				label = text(top / 2) // the row's middle, or its upper end
			}
		}
		out[y] = k.write(dim, right(label, axis-2)+" │") + out[y]
	}
	return out
}

// bar is a level from 0 to 1, w cells long.
func bar(x float64, w int) string {
	x = min(max(x, 0), 1)
	if math.IsNaN(x) {
		x = 0
	}
	eighths := int(math.Round(x * float64(8*w)))
	s := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[eighths%8])
	}
	return fit(s, w)
}

// shown is the start and the width of what charts show, in nanoseconds: the window, or
// the run as far as it is if that is shorter.
func shown(p *monitor.Picture) (start, width float64) {
	start = max(float64(p.Elapsed-p.Window), 0)
	return start, max(float64(p.Elapsed)-start, 1e9)
}
