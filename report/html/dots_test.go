package html

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goodput/report/raster"
	"goodput/report/render"
)

// charts are those of all kinds of pages.
func charts(t *testing.T) []Figure {
	t.Helper()
	runs, err := Plots([]*render.Report{recorded(t, 400), recorded(t, 40)})
	if err != nil {
		t.Fatal(err)
	}
	sweeps, err := SweepPlots([]*render.Sweep{swept()})
	if err != nil {
		t.Fatal(err)
	}
	return append(runs, sweeps...)
}

// TestDots: each chart can be drawn as dots, in its proportions, and its lines and points
// are of their colours where the SVG has them.
func TestDots(t *testing.T) {
	const scale = 3
	drawnAs := regexp.MustCompile(`<path class="(?:line|mark) [ls](\d)[^"]*"(?: transform="translate\(([\d.]+) ([\d.]+)\) scale\(.7\)" d="[^"]*"| d="([ML\d. ]*)")`)
	colours := []color.RGBA{{0, 0x72, 0xb2, 255}, {0xb4, 0x5a, 0, 255}, {0, 0x79, 0x5a, 255}, {0xa8, 0x48, 0x8a, 255}}
	for _, f := range charts(t) {
		text := f.File()
		m, err := raster.Draw(text, scale)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		var w, h float64
		at := bytes.Index(text, []byte("viewBox"))
		if _, err := fmt.Sscanf(string(text[at:]), `viewBox="0 0 %g %g"`, &w, &h); err != nil {
			t.Fatal(err)
		}
		if got := m.Bounds(); got.Dx() != int(math.Ceil(w*scale)) || got.Dy() != int(math.Ceil(h*scale)) {
			t.Errorf("%s: %v for a chart of %g by %g", f.Name, got, w, h)
		}
		found, begun := map[string]bool{}, map[string]bool{}
		for _, p := range drawnAs.FindAllStringSubmatch(string(f.SVG), -1) {
			var k int
			if fmt.Sscan(p[1], &k); k >= len(colours) {
				continue
			}
			places := p[2] + " " + p[3] // of a point, or all along a line, which others may cover
			if p[4] != "" {
				places = strings.NewReplacer("M", " ", "L", " ").Replace(p[4])
			}
			for at := strings.Fields(places); len(at) > 1; at = at[2:] {
				var x, y float64
				fmt.Sscan(at[0], &x)
				fmt.Sscan(at[1], &y)
				begun[p[1]] = true
				found[p[1]] = found[p[1]] || like(m.RGBAAt(int(x*scale), int(y*scale)), colours[k])
			}
		}
		for _, k := range []string{"0", "1", "2", "3"} {
			if begun[k] && !found[k] {
				t.Errorf("%s: no line or point of colour %s is where it should be", f.Name, k)
			}
		}
		if strings.Contains(string(f.SVG), `class="line`) && len(begun) == 0 {
			t.Errorf("%s: nothing was looked for", f.Name)
		}
	}
}

// like tells the colours from each other and from the grid, through points that show a
// quarter of what is behind them.
func like(a, b color.RGBA) bool {
	d := 0
	for _, v := range [][2]uint8{{a.R, b.R}, {a.G, b.G}, {a.B, b.B}} {
		d += int(math.Abs(float64(v[0]) - float64(v[1])))
	}
	return d < 140
}

// asDots holds the pictures of charts against those of a browser, less their letters, which
// are of other fonts.
func asDots(b *browser) {
	t := b.t
	const scale = 2
	letters := regexp.MustCompile(`<text[^>]*>[^<]*</text>`)
	dir := t.TempDir()
	b.looks("screen", "light")
	for _, f := range charts(t) {
		text := letters.ReplaceAll(f.File(), nil)
		mine, err := raster.Draw(text, scale)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		size := mine.Bounds().Size()
		file := filepath.Join(dir, "chart.svg")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": size.X, "height": size.Y, "deviceScaleFactor": 1, "mobile": false}, nil)
		b.call("Page.navigate", map[string]any{"url": "file://" + file}, nil)
		for same := false; !same; {
			b.eval(`document.readyState == "complete" && document.documentElement.tagName == "svg"`, &same)
		}
		var shot struct{ Data string }
		b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
		data, err := base64.StdEncoding.DecodeString(shot.Data)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		mean, far := apart(mine, theirs)
		t.Logf("%s: %.3f apart on average, %.3f %% of the dots by more than a third", f.Name, mean, 100*far)
		if mean > 2 || far > 0.005 {
			t.Errorf("%s: the picture differs from the browser's by %.2f of 255 on average, and %.2f %% of its dots by more than a third", f.Name, mean, 100*far)
		}
	}
}

// apart is how far two pictures differ, of 255, and the share of dots that do by over 85.
func apart(a, b image.Image) (mean, far float64) {
	r := a.Bounds().Intersect(b.Bounds())
	for y := range r.Dy() {
		for x := range r.Dx() {
			p, q := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA), color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
			d := max(math.Abs(float64(p.R)-float64(q.R)), math.Abs(float64(p.G)-float64(q.G)), math.Abs(float64(p.B)-float64(q.B)))
			mean += d
			if d > 85 {
				far++
			}
		}
	}
	n := float64(r.Dx() * r.Dy())
	return mean / n, far / n
}
