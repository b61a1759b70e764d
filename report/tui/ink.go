package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

// ink is what a text is written with.
type ink int

const (
	plain ink = iota
	dim
	bold
	good
	warn
	bad
	accent
	chosen // the selected tab or row
	low    // P50
	mid    // P95
	high   // P99
	limit  // the SLO
	heat1  // few
	heat2
	heat3
	heat4
	heat5       // many
	numInks int = iota
)

// inks are the colours of a terminal; the zero value writes none. Nobody asks the terminal
// whether its ground is light or dark, for an answer may never come: of 256 colours there
// are those that can be read on both. With 16 they are the user's own.
type inks struct {
	on [numInks]string
}

// newInks returns what the profile can show.
func newInks(p termenv.Profile) *inks {
	var out inks
	if p == termenv.Ascii {
		return &out
	}
	fg := func(name string) string { return termenv.CSI + p.Color(name).Sequence(false) + "m" }
	out.on = [numInks]string{
		dim: termenv.CSI + termenv.FaintSeq + "m", bold: termenv.CSI + termenv.BoldSeq + "m", chosen: termenv.CSI + termenv.ReverseSeq + "m",
		good: fg("28"), warn: fg("136"), bad: fg("196"), accent: fg("30"), low: fg("33"), mid: fg("28"), high: fg("165"), limit: fg("196"),
		heat1: fg("67"), heat2: fg("31"), heat3: fg("136"), heat4: fg("166"), heat5: fg("196"),
	}
	if p == termenv.ANSI {
		for i, name := range map[ink]string{
			good: "2", warn: "3", bad: "1", accent: "6", low: "4", mid: "2", high: "5", limit: "1",
			heat1: "4", heat2: "6", heat3: "2", heat4: "3", heat5: "1",
		} {
			out.on[i] = fg(name)
		}
	}
	return &out
}

// write returns s in ink i.
func (k *inks) write(i ink, s string) string {
	if k.on[i] == "" || s == "" {
		return s
	}
	return k.on[i] + s + termenv.CSI + termenv.ResetSeq + "m"
}

// fit makes s exactly w cells wide. Where a character of two cells is cut there is a space.
func fit(s string, w int) string {
	n := ansi.StringWidth(s)
	if n > w {
		s = ansi.Truncate(s, w, "…")
		n = ansi.StringWidth(s)
	}
	return s + strings.Repeat(" ", max(0, w-n))
}

// right makes s at least w cells wide, with the space in front.
func right(s string, w int) string {
	return strings.Repeat(" ", max(0, w-ansi.StringWidth(s))) + s
}

// ends puts a to the left and b to the right of a line of w cells; a gives way.
func ends(a, b string, w int) string {
	n := ansi.StringWidth(b)
	if n >= w {
		return fit(b, w)
	}
	return fit(a, w-n) + b
}

// Clean makes text from elsewhere safe to show: no control characters.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, ansi.Strip(s))
}
