package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// column is a heading and its width; to the left if left.
type column struct {
	name string
	w    int
	left bool
}

// table lays out cells under headings, as many columns as fit into w.
type table struct {
	cols []column
	inks *inks
	w    int
}

func (t *table) head() string {
	names := make([]string, len(t.cols))
	for i, c := range t.cols {
		names[i] = c.name
	}
	return t.inks.write(dim, t.row(names))
}

func (t *table) row(cells []string) string {
	var b strings.Builder
	b.WriteString(" ")
	used := 1
	for i, c := range t.cols {
		if used+c.w > t.w {
			break
		}
		cell := cells[i]
		if ansi.StringWidth(cell) > c.w {
			cell = fit(cell, c.w)
		}
		if c.left {
			b.WriteString(fit(cell, c.w))
		} else {
			b.WriteString(right(cell, c.w))
		}
		b.WriteString("  ")
		used += c.w + 2
	}
	return strings.TrimRight(b.String(), " ")
}
