package plot_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"goodput/report/plot"
)

// svg draws, and fails unless the result is well-formed.
func svg(t *testing.T, draw func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Errorf("a place that is no number:\n%s", b.String())
	}
	return b.String()
}

func TestLinesLeaveGaps(t *testing.T) {
	for name, scales := range map[string][2]plot.Scale{
		"linear": {plot.Linear, plot.Linear}, "log": {plot.Linear, plot.Log}, "tail": {plot.Linear, plot.Tail},
	} {
		t.Run(name, func(t *testing.T) {
			c := plot.Lines{Title: "a <b>", X: "s", Y: "ms", XScale: scales[0], YScale: scales[1], Lines: []plot.Line{{
				Name: `x & "y"`, X: []float64{0, 1, 2, 3, 4}, Y: []float64{0.1, 0.2, math.NaN(), 0.4, 0.5},
			}}, Rules: []plot.Rule{{At: 2, Name: "w<"}}}
			out := svg(t, c.WriteSVG)
			i := strings.Index(out, `class="line`)
			if path := out[i : i+strings.Index(out[i:], ">")]; strings.Count(path, "M") != 2 || strings.Count(path, "L") != 2 {
				t.Errorf("want two stretches of two points: %s", path)
			}
			if strings.Contains(out, "<b>") {
				t.Error("text is not escaped")
			}
		})
	}
}

// A tail axis puts P90, P99 and P99.9 at equal distances.
func TestTailAxis(t *testing.T) {
	c := plot.Lines{Title: "t", X: "s", Y: "q", YScale: plot.Tail, Lines: []plot.Line{{Name: "a", X: []float64{1, 2, 3, 4}, Y: []float64{0, 0.9, 0.99, 0.999}}}}
	out := svg(t, c.WriteSVG)
	i := strings.Index(out, ` d="M`+"58.0")
	if i < 0 {
		t.Fatalf("no line in %s", out)
	}
	for _, want := range []string{"P50", "P90", "P99", "P99.9"} {
		if !strings.Contains(out, ">"+want+"<") {
			t.Errorf("no %s", want)
		}
	}
	if !strings.Contains(out, "58.0 182.0L169.3 130.7L280.7 79.3L392.0 28.0") {
		t.Errorf("not equally spaced: %s", out)
	}
}

// However narrow the range, an axis has values that differ.
func TestAxesHaveAScale(t *testing.T) {
	for _, scale := range []plot.Scale{plot.Linear, plot.Log} {
		for _, y := range [][2]float64{{37, 44}, {980, 1040}, {1, 1.001}, {41, 59}, {10.4, 10.41}, {2600, 4900}, {0.3, 3000}, {1e6, 1.002e6}} {
			c := plot.Lines{Title: "t", X: "s", Y: "ms", YScale: scale, XScale: scale, Lines: []plot.Line{{Name: "a", X: []float64{y[0], y[1]}, Y: []float64{y[0], y[1]}}}}
			out := svg(t, c.WriteSVG)
			for axis, anchor := range map[string]string{"x": "middle", "y": "end"} {
				seen := map[string]bool{}
				for _, part := range strings.Split(out, `<text class="tick"`)[1:] {
					if head, text, _ := strings.Cut(part, ">"); strings.Contains(head, `"`+anchor+`"`) {
						text, _, _ = strings.Cut(text, "<")
						if seen[text] {
							t.Errorf("scale %d, %v, axis %s: two ticks %s", scale, y, axis, text)
						}
						seen[text] = true
					}
				}
				if len(seen) < 3 || len(seen) > 14 {
					t.Errorf("scale %d, %v: the %s axis has the ticks %v", scale, y, axis, seen)
				}
			}
		}
	}
}

func TestLoosePointsAreNotJoined(t *testing.T) {
	c := plot.Lines{Title: "t", X: "s", Y: "ms", Lines: []plot.Line{{Name: "a", Loose: true, X: []float64{1, 1.01, 2}, Y: []float64{3, 9, 4}}}}
	if out := svg(t, c.WriteSVG); strings.Contains(out, `class="line`) || strings.Count(out, `class="mark`) != 3 {
		t.Errorf("want three marks and no line:\n%s", out)
	}
	if key := c.Lines[0].Key(); strings.Contains(key, `class="line`) || !strings.Contains(key, `class="mark`) {
		t.Errorf("a legend of %s", key)
	}
}

func TestLinesRefuseWhatTheyCannotDraw(t *testing.T) {
	for name, lines := range map[string][]plot.Line{
		"nothing":         nil,
		"only unknown":    {{Name: "a", X: []float64{1}, Y: []float64{math.NaN()}}},
		"unequal lengths": {{Name: "a", X: []float64{1, 2}, Y: []float64{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := (&plot.Lines{Title: "t", Lines: lines}).WriteSVG(io.Discard); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestBars(t *testing.T) {
	c := plot.Bars{Title: "a", X: "ms", Rows: []plot.Bar{
		{Name: "one with a long <name>", Parts: []float64{1, 0, 3}, Names: []string{"x", "y", "z"}, Text: "4"},
		{Name: "none", Parts: []float64{0, 0, 0}},
	}}
	if out := svg(t, c.WriteSVG); strings.Count(out, "<rect") != 2 || !strings.Contains(out, ", z: 3") {
		t.Errorf("want two parts:\n%s", out)
	}
	c.Rows[0].Parts[0] = math.NaN()
	if err := c.WriteSVG(io.Discard); err == nil {
		t.Error("a part that is no number is drawn")
	}
}
