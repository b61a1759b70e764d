package tui_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"goodput/report/tui"
)

// TestResizes: whatever sizes a terminal takes on, down to one cell and none, each screen
// fills it, or says in a line that it is too small.
func TestResizes(t *testing.T) {
	m := shown(80, 24, tui.Options{Colors: termenv.Ascii}, seeded())
	for i, size := range [][2]int{{0, 0}, {1, 1}, {39, 10}, {40, 9}, {40, 10}, {300, 10}, {40, 100}, {1, 60}, {220, 1}, {41, 11}, {500, 200}, {80, 24}} {
		m, _ = m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for at := range tui.OfRun() {
			m = press(m, fmt.Sprint((at+i)%len(tui.OfRun())+1))
			lines := strings.Split(m.View(), "\n")
			if size[0] < 40 || size[1] < 10 {
				if len(lines) != 1 || !strings.Contains(lines[0], "too small") {
					t.Fatalf("%v: %q", size, lines)
				}
				continue
			}
			if len(lines) != size[1] {
				t.Fatalf("%v: %d lines", size, len(lines))
			}
			for _, l := range lines {
				if w := ansi.StringWidth(l); w != size[0] {
					t.Fatalf("%v: %d cells in %q", size, w, l)
				}
			}
		}
	}
}
