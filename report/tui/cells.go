package tui

import "strings"

// cell is one character of a drawing.
type cell struct {
	ink  ink
	rune rune
}

// grid returns the cells of a chart, to draw marks into.
func (c *chart) grid() [][]cell {
	out := make([][]cell, c.h)
	for y := range out {
		out[y] = make([]cell, c.w)
		for x := range out[y] {
			out[y][x] = cell{plain, ' '}
			if d := c.dots[y*c.w+x]; d != 0 {
				out[y][x] = cell{c.color[y*c.w+x], rune(0x2800) + rune(d)}
			}
		}
	}
	return out
}

// written is a row of cells as text.
func written(k *inks, row []cell) string {
	var b strings.Builder
	for x := 0; x < len(row); {
		i := row[x].ink
		var run strings.Builder
		for ; x < len(row) && row[x].ink == i; x++ {
			run.WriteRune(row[x].rune)
		}
		b.WriteString(k.write(i, run.String()))
	}
	return b.String()
}
