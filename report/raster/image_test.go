package raster

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"testing"
)

// chart is an svg element of 100 by 60 units on white with a style sheet and some content.
func chart(content string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 100 60"><style>
:root { --paper:#ffffff; --s0:#0072b2; } @media screen { :root { --s0:#ffffff; } svg .s0 { fill:none; } }
svg.plot { font:20px sans-serif; } svg.plot text { fill:var(--s0); } svg .s0, svg .s9 { fill:var(--s0); stroke:none; }
svg .line { fill:none; stroke:#ff0000; stroke-width:4; } svg .thin { stroke-width:2; } svg .d1 { stroke-dasharray:10 5; } svg .pale { fill-opacity:.5; }
</style><rect width="100%" height="100%" style="fill:var(--paper)"/>` + content + `</svg>`)
}

var (
	white = color.RGBA{255, 255, 255, 255}
	blue  = color.RGBA{0, 0x72, 0xb2, 255}
	red   = color.RGBA{255, 0, 0, 255}
)

func drawn(t *testing.T, content string) *image.RGBA {
	t.Helper()
	m, err := Draw(chart(content), 2)
	if err != nil {
		t.Fatal(err)
	}
	if m.Bounds() != image.Rect(0, 0, 200, 120) {
		t.Fatalf("the picture is %v", m.Bounds())
	}
	return m
}

// What is at single places, in units of the chart, after something was drawn.
func TestDraw(t *testing.T) {
	half := color.RGBA{127, 184, 216, 255}
	for name, c := range map[string]struct {
		content string
		want    map[point]color.RGBA
	}{
		"nothing":   {"", map[point]color.RGBA{{50, 30}: white}},
		"rectangle": {`<rect class="s0" x="10" y="20" width="30" height="5"/>`, map[point]color.RGBA{{11, 21}: blue, {39, 24}: blue, {9, 22}: white, {25, 19}: white, {25, 26}: white}},
		"triangle":  {`<path class="s9" d="M10 10H50V50Z"/>`, map[point]color.RGBA{{45, 15}: blue, {15, 45}: white}},
		"circle":    {`<path class="s0" d="M30 30A10 10 0 1 0 50 30A10 10 0 1 0 30 30Z"/>`, map[point]color.RGBA{{40, 30}: blue, {40, 21.5}: blue, {40, 38}: blue, {32, 22}: white, {40, 19}: white}},
		"short arc": {`<path class="s0" d="M50 20A10 10 0 0 1 60 30L50 30Z"/>`, map[point]color.RGBA{{56, 24}: blue, {58.5, 21.5}: white}},
		"half":      {`<rect class="s0 pale" x="10" y="20" width="30" height="5"/>`, map[point]color.RGBA{{20, 22}: half}},
		"over half": {strings.Repeat(`<rect class="s0 pale" x="10" y="20" width="30" height="5"/>`, 9), map[point]color.RGBA{{20, 22}: blue}},
		"line":      {`<path class="line" d="M10 30H90"/>`, map[point]color.RGBA{{50, 30}: red, {50, 31.5}: red, {50, 33}: white, {50, 27}: white, {8, 30}: white}},
		"thin line": {`<path class="line thin" d="M10 30H90"/>`, map[point]color.RGBA{{50, 30}: red, {50, 31.5}: white}},
		"bent back": {`<path class="line" d="M10 30H90H10M50 10V50V10"/>`, map[point]color.RGBA{{50, 30}: red, {20, 30}: red, {50, 45}: red}},
		"corner":    {`<path class="line" d="M10 30H50V50"/>`, map[point]color.RGBA{{51, 29.5}: red, {50, 45}: red, {30, 45}: white}},
		"closed":    {`<path class="line" d="M10 10H50V50Z"/>`, map[point]color.RGBA{{30, 30}: red, {45, 15}: white}},
		"dashes":    {`<path class="line d1" d="M10 30H30V58"/>`, map[point]color.RGBA{{15, 30}: red, {22, 30}: white, {27, 30}: red, {30, 33}: red, {30, 37}: white, {30, 44}: red}},
		"too many":  {`<path class="line" style="stroke-dasharray:.001 .001" d="M10 30H90"/>`, map[point]color.RGBA{{50, 30}: red}},
		"moved":     {`<g transform="translate(50 30)"><path class="s0" transform="scale(2) rotate(90)" d="M0 0H5V5H0Z"/></g>`, map[point]color.RGBA{{45, 35}: blue, {55, 35}: white, {41, 39}: blue, {39, 35}: white}},
		"outside":   {`<rect class="s0" x="-500" y="-500" width="510" height="2000"/>`, map[point]color.RGBA{{5, 30}: blue, {5, 59}: blue, {12, 30}: white}},
		"own style": {`<rect class="s0" style="fill:#ff0000" x="10" y="20" width="30" height="5"/>`, map[point]color.RGBA{{20, 22}: red}},
		"title":     {`<rect class="s0" x="10" y="20" width="30" height="5"><title>what it is</title></rect>`, map[point]color.RGBA{{20, 22}: blue}},
	} {
		m := drawn(t, c.content)
		for at, want := range c.want {
			if got := m.RGBAAt(int(2*at.x), int(2*at.y)); !near(got, want, 2) {
				t.Errorf("%s: at %v is %v, want %v", name, at, got, want)
			}
		}
	}
}

func near(a, b color.RGBA, by float64) bool {
	for _, d := range [][2]uint8{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}, {a.A, b.A}} {
		if math.Abs(float64(d[0])-float64(d[1])) > by {
			return false
		}
	}
	return true
}

// ink is what of a picture is not white: where it is, in units of the chart, and how many
// dots.
func ink(m *image.RGBA) (box image.Rectangle, dots int) {
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			if m.RGBAAt(x, y) != white {
				box = box.Union(image.Rect(x/2, y/2, x/2+1, y/2+1))
				dots++
			}
		}
	}
	return box, dots
}

// Text stands on its place, to the side of it that its anchor says, and reads upwards where
// it is turned.
func TestText(t *testing.T) {
	for name, c := range map[string]struct {
		attributes string
		within     image.Rectangle
	}{
		"start":  {`x="10" y="40"`, image.Rect(10, 25, 55, 41)},
		"middle": {`x="50" y="40" text-anchor="middle"`, image.Rect(28, 25, 72, 41)},
		"end":    {`x="90" y="40" text-anchor="end"`, image.Rect(45, 25, 91, 41)},
		"turned": {`transform="translate(50 50) rotate(-90)"`, image.Rect(35, 5, 51, 50)},
		"small":  {`x="10" y="40" style="font-size:10px"`, image.Rect(10, 32, 33, 41)},
	} {
		box, dots := ink(drawn(t, fmt.Sprintf(`<text %s>H&amp;M</text>`, c.attributes)))
		if !box.In(c.within) || dots < 100 {
			t.Errorf("%s: %d dots in %v, want them in %v", name, dots, box, c.within)
		}
	}
	_, thin := ink(drawn(t, `<text x="10" y="40">Mi</text>`))
	_, bold := ink(drawn(t, `<text x="10" y="40" style="font-weight:600">Mi</text>`))
	if bold <= thin {
		t.Errorf("bold letters have %d dots, others %d", bold, thin)
	}
	if _, dots := ink(drawn(t, `<text x="10" y="40">■ – … 測</text>`)); dots < 100 {
		t.Errorf("signs have %d dots", dots)
	}
}

// Nothing is left out in silence.
func TestDrawRefuses(t *testing.T) {
	for name, c := range map[string]struct{ svg, want string }{
		"no svg":            {`<p/>`, "p is not the one svg element"},
		"nothing":           {``, "no svg element"},
		"two":               {`<a>` + string(chart("")) + `</a>`, "a is not the one"},
		"cut":               {string(chart("")[:400]), "unexpected EOF"},
		"no size":           {`<svg/>`, "viewBox"},
		"too large":         {`<svg viewBox="0 0 90000 90000"/>`, "at most"},
		"NaN":               {`<svg viewBox="0 0 NaN 10"/>`, "viewBox"},
		"element":           {string(chart(`<circle r="3"/>`)), "circle: no such element is known"},
		"command":           {string(chart(`<path d="M0 0C1 1 2 2 3 3"/>`)), "no command C is known"},
		"relative command":  {string(chart(`<path d="M0 0l1 1"/>`)), "no command l is known"},
		"does not begin":    {string(chart(`<path d="L0 0"/>`)), "does not begin with M"},
		"number":            {string(chart(`<path d="M0 zero"/>`)), "is no number"},
		"too far":           {string(chart(`<path d="M0 1e5"/>`)), "is no number from"},
		"too far, scaled":   {string(chart(`<path transform="scale(1000)" d="M0 0H5000"/>`)), "too far away"},
		"transform":         {string(chart(`<path transform="skewX(3)" d="M0 0"/>`)), "use translate, scale or rotate"},
		"transform's end":   {string(chart(`<path transform="scale(3" d="M0 0"/>`)), "does not end"},
		"colour":            {string(chart(`<rect style="fill:teal" width="3" height="3"/>`)), `"teal" is no colour`},
		"variable":          {string(chart(`<rect style="fill:var(--s7)" width="3" height="3"/>`)), "is no colour"},
		"opacity":           {string(chart(`<rect style="fill-opacity:2" width="3" height="3"/>`)), "no number from 0 to 1"},
		"rectangle":         {string(chart(`<rect width="wide" height="3"/>`)), "width"},
		"sheet without end": {`<svg viewBox="0 0 9 9"><style>svg { fill:none</style></svg>`, "does not end"},
	} {
		if _, err := Draw([]byte(c.svg), 2); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

// FuzzDraw: whatever is read, there is a picture as large as was asked for, or an error.
func FuzzDraw(f *testing.F) {
	f.Add([]byte(`<svg viewBox="0 0 9 9"><path transform="translate(3 4) scale(.7)" d="M0 0L3 4A5 5 0 0 1 9 9Z"><title>t</title></path></svg>`))
	f.Add([]byte(`<svg viewBox="0 0 9 9"><g><text x="3" y="9" text-anchor="end" style="fill:#010203">é■</text></g></svg>`))
	f.Add([]byte(`<svg viewBox="0 0 9 9"><style>@media print { a { b:c } } .x{stroke:#000000;stroke-dasharray:0 1 2}</style><path class="x" d="M0 0H9V9Z"/></svg>`))
	f.Fuzz(func(t *testing.T, svg []byte) {
		if len(svg) > 2000 {
			t.Skip("larger than is of use")
		}
		m, err := Draw(svg, 0.5)
		if (m == nil) != (err != nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if err == nil && m.Bounds().Dx()*m.Bounds().Dy() > mostDots {
			t.Fatalf("a picture of %v", m.Bounds())
		}
	})
}
