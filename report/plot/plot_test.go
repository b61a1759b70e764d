package plot_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/report/plot"
)

func Example() {
	s := plot.Scatter{
		Title: "TPOT", X: "measured, ms", Y: "predicted, ms", Band: 0.25,
		Series: []plot.Series{{Name: "lab", Points: []plot.Point{{X: 10, Y: 11, Label: "batch 8"}}}},
	}
	var b strings.Builder
	if err := s.WriteSVG(&b); err != nil {
		fmt.Println(err)
		return
	}
	first, _, _ := strings.Cut(b.String(), "\n")
	fmt.Println(first)
	// Output: <svg class="plot" viewBox="0 0 400 380" role="img" aria-label="TPOT: predicted, ms against measured, ms, 1 points">
}

// parse checks that the text is well-formed and returns its elements.
func parse(t interface{ Fatalf(string, ...any) }, text string) []xml.StartElement {
	d := xml.NewDecoder(strings.NewReader(text))
	var out []xml.StartElement
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, text)
		}
		if e, ok := tok.(xml.StartElement); ok {
			out = append(out, e.Copy())
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// TestScatterDrawsEveryPointInside: whatever the points and labels, the text is
// well-formed, has a mark for each, inside the frame, and the diagonal goes through
// what is equal.
func TestScatterDrawsEveryPointInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) float64 { return math.Pow(10, rapid.Float64Range(-6, 9).Draw(t, "log")) })
		s := plot.Scatter{Title: rapid.String().Draw(t, "title"), X: "x & y", Y: "<y>", Band: rapid.Float64Range(0, 2).Draw(t, "band")}
		n := 0
		for i := range rapid.IntRange(1, 12).Draw(t, "series") {
			ser := plot.Series{Name: `a "b" & <c>`, Mark: i}
			for range rapid.IntRange(1, 5).Draw(t, "points") {
				ser.Points = append(ser.Points, plot.Point{X: value.Draw(t, "x"), Y: value.Draw(t, "y"), Label: "<>&\"'", Hollow: n%2 == 0})
				n++
			}
			s.Series = append(s.Series, ser)
		}
		s.Title = strings.Map(func(r rune) rune { // what XML cannot hold
			if r < 0x20 || r == 0xfffe || r == 0xffff || r == 0xfffd {
				return -1
			}
			return r
		}, s.Title)
		var b strings.Builder
		if err := s.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		marks := 0
		for _, e := range parse(t, b.String()) {
			if !strings.HasPrefix(attr(e, "class"), "mark") {
				continue
			}
			marks++
			var x, y float64
			if _, err := fmt.Sscanf(attr(e, "transform"), "translate(%g %g)", &x, &y); err != nil {
				t.Fatal(err)
			}
			if x < 58 || x > 388 || y < 30 || y > 330 {
				t.Errorf("a mark at %v, %v is outside the frame", x, y)
			}
		}
		if marks != n {
			t.Errorf("%d marks of %d points", marks, n)
		}
	})
}

func TestScatterRefuses(t *testing.T) {
	for name, p := range map[string][]plot.Point{
		"nothing": nil, "zero": {{X: 0, Y: 1}}, "negative": {{X: 1, Y: -1}}, "NaN": {{X: math.NaN(), Y: 1}}, "infinite": {{X: 1, Y: math.Inf(1)}},
	} {
		s := plot.Scatter{Title: name, Series: []plot.Series{{Points: p}}}
		if err := s.WriteSVG(io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestMarksDiffer: two series never share both colour and shape, and no two of the
// first eight share either.
func TestMarksDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range 64 {
		m := plot.Mark(i)
		if j, twice := seen[m]; twice {
			t.Errorf("series %d looks like %d", i, j)
		}
		seen[m] = i
		parse(t, m)
	}
}

func TestTicksStandApart(t *testing.T) {
	for _, hi := range []float64{1.01, 1.5, 3, 30, 300, 1e5, 1e9} {
		s := plot.Scatter{Title: "t", Series: []plot.Series{{Points: []plot.Point{{X: 1, Y: hi}}}}}
		var b strings.Builder
		if err := s.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		ticks := 0
		last := -1.0
		for _, e := range parse(t, b.String()) {
			if attr(e, "class") != "tick" || attr(e, "text-anchor") != "middle" {
				continue
			}
			var x float64
			if _, err := fmt.Sscan(attr(e, "x"), &x); err != nil {
				t.Fatal(err)
			}
			if last >= 0 && x-last < 12 {
				t.Errorf("up to %v: two ticks %v apart", hi, x-last)
			}
			last = x
			ticks++
		}
		if ticks < 2 || ticks > 14 {
			t.Errorf("up to %v: %d ticks", hi, ticks)
		}
	}
}

// More parts than colours look different all the same, in the bar and in the legend.
func TestPartsOfABarLookDifferent(t *testing.T) {
	c := plot.Bars{Title: "t", X: "ms", Rows: []plot.Bar{{Name: "all", Parts: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}}}
	var b strings.Builder
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	seen, i := map[string]bool{}, 0
	for _, e := range parse(t, b.String()) {
		class := attr(e, "class")
		if !strings.HasPrefix(class, "mark ") {
			continue
		}
		if seen[class] {
			t.Errorf("part %d looks like one before: %s", i, class)
		}
		if !strings.Contains(plot.Block(i), `"`+class+`"`) {
			t.Errorf("part %d is %s, and its mark in the legend %s", i, class, plot.Block(i))
		}
		seen[class] = true
		i++
	}
	if i != 11 {
		t.Errorf("%d parts are drawn", i)
	}
}

// TestColoursDiffer: no two colours of series are near each other, light or dark, nor one near
// the ground, for people of any of the two common kinds of colour blindness as well.
func TestColoursDiffer(t *testing.T) {
	schemes := regexp.MustCompile(`:root \{ (--s0:[^}]*)\}`).FindAllStringSubmatch(plot.Style, -1)
	if len(schemes) != 2 {
		t.Fatalf("%d sets of colours", len(schemes))
	}
	// Viénot, Brettel and Mollon (1999), on linear RGB: none, protanopia, deuteranopia.
	eyes := [][9]float64{
		{1, 0, 0, 0, 1, 0, 0, 0, 1},
		{0.11238, 0.88762, 0, 0.11238, 0.88762, 0, 0.00401, -0.00401, 1},
		{0.29275, 0.70725, 0, 0.29275, 0.70725, 0, -0.02234, 0.02234, 1},
	}
	for i, scheme := range schemes {
		var all []string
		for _, c := range regexp.MustCompile(`#([0-9a-f]{6})`).FindAllStringSubmatch(scheme[1], -1) {
			all = append(all, c[1])
		}
		if len(all) != 8 {
			t.Fatalf("%d colours", len(all))
		}
		ground := []string{"ffffff", "14181c"}[i]
		for k, eye := range eyes {
			for a := range all {
				if d := apart(all[a], ground, eye); d < 25 {
					t.Errorf("scheme %d, eye %d: colour %d is %.0f from the ground", i, k, a, d)
				}
				for b := range a {
					least := 20.0
					if k > 0 {
						least = 6 // lines differ in their dashes, too, and marks in their shapes
					}
					if d := apart(all[a], all[b], eye); d < least {
						t.Errorf("scheme %d, eye %d: colours %d and %d are %.0f apart", i, k, b, a, d)
					}
				}
			}
		}
	}
}

// apart is how far two colours are apart to an eye, in CIELAB (1976).
func apart(a, b string, eye [9]float64) float64 {
	x, y := lab(a, eye), lab(b, eye)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(hex string, eye [9]float64) [3]float64 {
	var c [3]float64
	for i := range c {
		v, _ := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if c[i] = float64(v) / 255; c[i] <= 0.04045 {
			c[i] /= 12.92
		} else {
			c[i] = math.Pow((c[i]+0.055)/1.055, 2.4)
		}
	}
	r, g, b := eye[0]*c[0]+eye[1]*c[1]+eye[2]*c[2], eye[3]*c[0]+eye[4]*c[1]+eye[5]*c[2], eye[6]*c[0]+eye[7]*c[1]+eye[8]*c[2]
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x, y, z := f((0.4124*r+0.3576*g+0.1805*b)/0.9505), f(0.2126*r+0.7152*g+0.0722*b), f((0.0193*r+0.1192*g+0.9505*b)/1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
