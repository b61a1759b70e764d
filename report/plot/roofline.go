package plot

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Roofline shows what work reaches beside what the hardware could do at best: the
// rate of arithmetic over the arithmetic for each byte that is moved. Left of the
// ridge the memory is the limit, right of it the arithmetic (Williams, Waterman and
// Patterson, 2009).
type Roofline struct {
	// Peak is in FLOP/s, Bandwidth in bytes/s; both are more than 0.
	Peak, Bandwidth float64
	Work            []Work
}

// Work is one point. Both numbers are more than 0.
type Work struct {
	Name      string
	Intensity float64 // FLOP per byte
	Rate      float64 // FLOP/s
}

// Columns is the width of WriteText.
const Columns = 80

// The grid of the terminal's chart: labels left of it, one line below.
const (
	gridLeft    = 9
	gridColumns = Columns - gridLeft - 1
	gridRows    = 16
)

// MaxWork is the number of points that have a letter of their own.
const MaxWork = 26

// WriteText draws the chart in 80 columns of ASCII, a letter for each point, with
// a legend.
func (r *Roofline) WriteText(w io.Writer) error {
	if !(r.Peak > 0 && r.Bandwidth > 0) || math.IsInf(r.Peak, 0) || math.IsInf(r.Bandwidth, 0) {
		return fmt.Errorf("drawing a roofline: peak %v and bandwidth %v: need numbers above 0", r.Peak, r.Bandwidth)
	}
	if len(r.Work) > MaxWork {
		return fmt.Errorf("drawing a roofline: %d points: at most %d have a letter", len(r.Work), MaxWork)
	}
	for _, p := range r.Work {
		if !(p.Intensity > 0 && p.Rate > 0) || math.IsInf(p.Intensity, 0) || math.IsInf(p.Rate, 0) {
			return fmt.Errorf("drawing a roofline: %s is at %v FLOP/byte and %v FLOP/s: need numbers above 0", p.Name, p.Intensity, p.Rate)
		}
	}
	g := r.grid()
	g.roof(r)
	legend := g.work(r.Work)
	_, err := io.WriteString(w, g.String()+legend)
	return err
}

// grid is the chart's characters and what they stand for.
type grid struct {
	cells          [gridRows][gridColumns]byte
	x0, x1, y0, y1 float64 // decimal logarithms of intensity and rate at the edges
}

// grid spans whole decades around the ridge and all points.
func (r *Roofline) grid() *grid {
	ridge := r.Peak / r.Bandwidth
	g := &grid{x0: math.Log10(ridge), x1: math.Log10(ridge), y0: math.Log10(r.Peak), y1: math.Log10(r.Peak)}
	for _, p := range r.Work {
		x, y := math.Log10(p.Intensity), math.Log10(p.Rate)
		g.x0, g.x1, g.y0, g.y1 = min(g.x0, x), max(g.x1, x), min(g.y0, y), max(g.y1, y)
	}
	g.x0, g.x1 = math.Floor(g.x0-0.05), math.Ceil(g.x1+0.3)
	g.y0, g.y1 = math.Floor(g.y0-0.05), g.y1+0.2
	for i := range g.cells {
		for j := range g.cells[i] {
			g.cells[i][j] = ' '
		}
	}
	return g
}

func (g *grid) column(x float64) int {
	return int(math.Round((x - g.x0) / (g.x1 - g.x0) * (gridColumns - 1)))
}

func (g *grid) row(y float64) int {
	return int(math.Round((g.y1 - y) / (g.y1 - g.y0) * (gridRows - 1)))
}

// put writes one character, if it is inside.
func (g *grid) put(row, column int, c byte) {
	if row >= 0 && row < gridRows && column >= 0 && column < gridColumns {
		g.cells[row][column] = c
	}
}

// roof draws bandwidth and peak.
func (g *grid) roof(r *Roofline) {
	last := gridRows
	for j := range gridColumns {
		x := g.x0 + (g.x1-g.x0)*float64(j)/(gridColumns-1)
		y := math.Log10(r.Bandwidth) + x
		if y >= math.Log10(r.Peak) {
			g.put(g.row(math.Log10(r.Peak)), j, '-')
			continue
		}
		row := g.row(y)
		c := byte('/')
		if row == last {
			c = '.' // the slope is flatter than the characters
		}
		g.put(row, j, c)
		last = row
	}
}

// work draws the points and returns their legend.
func (g *grid) work(points []Work) string {
	var legend strings.Builder
	line := ""
	flush := func() {
		if line != "" {
			fmt.Fprintf(&legend, "%*s%s\n", gridLeft+1, "", line)
		}
		line = ""
	}
	for i, p := range points {
		letter := byte('a' + i)
		row, column := g.row(math.Log10(p.Rate)), g.column(math.Log10(p.Intensity))
		switch c := g.cells[row][column]; {
		case c >= 'a' && c <= 'z', c == '*':
			g.put(row, column, '*')
		default:
			g.put(row, column, letter)
		}
		entry := fmt.Sprintf("%c %s", letter, p.Name)
		if len(line)+len(entry)+3 > gridColumns {
			flush()
		}
		if line != "" {
			line += "   "
		}
		line += entry
	}
	for i := range g.cells {
		if strings.Contains(string(g.cells[i][:]), "*") {
			flush()
			line = "* several of them"
			break
		}
	}
	flush()
	return legend.String()
}

// String writes the grid with its axes.
func (g *grid) String() string {
	var b strings.Builder
	b.WriteString("FLOP/s\n")
	for i := range g.cells {
		fmt.Fprintf(&b, "%*s|%s\n", gridLeft, g.rowLabel(i), strings.TrimRight(string(g.cells[i][:]), " "))
	}
	axis := []byte(strings.Repeat("-", gridColumns))
	labels := []byte(strings.Repeat(" ", gridColumns+gridLeft+1))
	for e := math.Ceil(g.x0); e <= g.x1; e++ {
		column := g.column(e)
		axis[column] = '+'
		text := short(math.Pow(10, e))
		at := min(gridLeft+1+column-len(text)/2, len(labels)-len(text))
		copy(labels[at:], text)
	}
	unit := " FLOP/byte"
	out := strings.TrimRight(string(labels), " ")
	fmt.Fprintf(&b, "%*s+%s\n%s\n", gridLeft, "", axis, out)
	fmt.Fprintf(&b, "%*s\n", Columns, strings.TrimSpace(unit))
	return b.String()
}

// rowLabel names the row of a power of ten; other rows have none.
func (g *grid) rowLabel(row int) string {
	for e := math.Ceil(g.y0); e <= g.y1; e++ {
		if g.row(e) == row {
			return scaled(math.Pow(10, e)) + " "
		}
	}
	return ""
}

// scaled writes a rate with its prefix.
func scaled(v float64) string {
	for _, p := range []struct {
		factor float64
		name   string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= p.factor*0.9999 {
			return fmt.Sprintf("%.4g %s", v/p.factor, p.name)
		}
	}
	return fmt.Sprintf("%.3g", v)
}
