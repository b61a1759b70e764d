package tui_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/muesli/termenv"

	"goodput/report/tui"
)

// luminance is that of a colour with parts from 0 to 1, relative to white (WCAG 2.2).
func luminance(rgb [3]float64) float64 {
	sum := 0.0
	for i, v := range rgb {
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += v * [3]float64{0.2126, 0.7152, 0.0722}[i]
	}
	return sum
}

// contrast is that of text on a ground, from 1 to 21 (WCAG 2.2).
func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// cube is one of the colours that all terminals with 256 have in common.
func cube(t *testing.T, n int) [3]float64 {
	t.Helper()
	if n < 16 || n > 231 {
		t.Fatalf("colour %d is the user's own, or a grey", n)
	}
	level := func(v int) float64 { return [6]float64{0, 95, 135, 175, 215, 255}[v] / 255 }
	return [3]float64{level((n - 16) / 36), level((n - 16) / 6 % 6), level((n - 16) % 6)}
}

// TestGrounds: whatever is written in a colour can be read on a light and on a dark ground,
// without anybody asking which it is. WCAG wants a contrast of 3 for graphics and large
// text.
func TestGrounds(t *testing.T) {
	grounds := map[string][3]float64{
		"white": {1, 1, 1}, "black": {}, "Solarized light": {253. / 255, 246. / 255, 227. / 255}, "dark grey": {30. / 255, 30. / 255, 30. / 255},
	}
	fg := regexp.MustCompile(`\x1b\[38;(5;(\d+)|[^5][^m]*)m`)
	basic := regexp.MustCompile(`\x1b\[(3[0-7]|9[0-7])m`)
	for _, colors := range []termenv.Profile{termenv.ANSI256, termenv.TrueColor} {
		seen := map[int]bool{}
		var frames []string
		for i := range tui.OfRun() {
			frames = append(frames, shown(120, 40, tui.Options{Colors: colors}, seeded(), fmt.Sprint(i+1)).View())
		}
		for _, x := range []struct {
			screen tui.Screen
			lab    laboratory
		}{{tui.Knee, searching()}, {tui.Compare, comparing()}} {
			o := options(x.screen)
			o.Colors = colors
			frames = append(frames, looked(220, 60, x.lab, o).View())
		}
		for _, v := range frames {
			if s := basic.FindString(v); s != "" {
				t.Errorf("%v: %q is a colour of the user's, on whose ground nobody knows how it looks", colors.Name(), s)
			}
			for _, m := range fg.FindAllStringSubmatch(v, -1) {
				n, err := strconv.Atoi(m[2])
				if err != nil {
					t.Fatalf("%q is none of the 256 colours", m[0])
				}
				seen[n] = true
			}
		}
		if len(seen) < 8 {
			t.Errorf("%v: only the colours %v were seen", colors.Name(), seen)
		}
		for n := range seen {
			for name, ground := range grounds {
				if c := contrast(cube(t, n), ground); c < 3 {
					t.Errorf("colour %d on %s has a contrast of %.1f", n, name, c)
				}
			}
		}
	}
}

// TestSixteenColors: with 16 colours all are the user's own, and none needs more.
func TestSixteenColors(t *testing.T) {
	for i := range tui.OfRun() {
		v := shown(120, 40, tui.Options{Colors: termenv.ANSI}, seeded(), fmt.Sprint(i+1)).View()
		if s := regexp.MustCompile(`\x1b\[[34]8;[^m]*m`).FindString(v); s != "" {
			t.Errorf("screen %d: %q", i+1, s)
		}
	}
}
