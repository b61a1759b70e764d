package html

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"testing"
	"time"

	"goodput/report/plot"
	"goodput/report/query"
	"goodput/report/render"
)

// TestKVCourse: a bin without a sample is a gap, and a run without any says so.
func TestKVCourse(t *testing.T) {
	r := render.Report{Figures: &query.Figures{}}
	r.Timeline = query.Timeline{Width: time.Second, Bins: make([]query.Bin, 3)}
	if out, unknown := kvCourse(&r); out != nil || len(unknown) != 1 {
		t.Errorf("%v, unknown %q", out, unknown)
	}
	r.Engines.KVCourse = []query.Level{{Mean: 0.5, Min: 0.25, Max: 0.75, N: 4}, {}}
	out, unknown := kvCourse(&r)
	if len(out) != 1 || len(unknown) != 0 {
		t.Fatalf("%v, unknown %q", out, unknown)
	}
	l := out[0].lines[0]
	if l.X[0] != 0.5 || l.Y[0] != 50 || l.Low[0] != 25 || l.High[0] != 75 || known(l.Y[1:]) {
		t.Errorf("%+v", l)
	}
}

// TestSampled: samples every third bin are one line; where two of them are missing is a
// gap.
func TestSampled(t *testing.T) {
	l := plot.Line{Name: "a", Mark: 2}
	for i := range 20 {
		v := math.NaN()
		if (i%3 == 0 || i == 19) && i != 9 && i != 12 {
			v = float64(i)
		}
		l.X, l.Y, l.Low, l.High = append(l.X, float64(i)), append(l.Y, v), append(l.Low, v), append(l.High, v)
	}
	out := sampled(l)
	if got := fmt.Sprint(out.X, out.Y); got != "[0 3 6 14 15 18 19] [0 3 6 NaN 15 18 19]" {
		t.Errorf("got %s", got)
	}
	if len(out.Low) != len(out.X) || len(out.High) != len(out.X) || out.Name != "a" || out.Mark != 2 {
		t.Errorf("%+v", out)
	}
}

// TestRates: bins that hold too few requests are joined, and nothing is lost by it.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		bins, each int64
		want       int
	}{{100, 20, 100}, {100, 2, 20}, {100, 0, 100}, {13, 1, 13}} {
		line := query.Timeline{Width: time.Second / 2, Bins: make([]query.Bin, c.bins)}
		for i := range line.Bins {
			line.Bins[i] = query.Bin{Due: c.each, OK: c.each, Failed: 1}
		}
		s := rates(&line)
		if len(s.lines[0].X) != c.want {
			t.Errorf("%d bins of %d: %d points, want %d", c.bins, c.each, len(s.lines[0].X), c.want)
		}
		for i := range s.lines[0].X {
			if s.lines[0].Y[i] != float64(2*c.each) || s.lines[2].Y[i] != 2 {
				t.Errorf("%d bins of %d: due %v/s, failed %v/s", c.bins, c.each, s.lines[0].Y[i], s.lines[2].Y[i])
			}
		}
	}
}

// TestPartsThatAreNone: what took no time takes no colour, and is in the table all the same.
func TestPartsThatAreNone(t *testing.T) {
	s := query.Spent{N: 40, SlowN: 4, E2E: 30e6, SlowE2E: 60e6, Parts: []query.Part{
		{Name: "lag"}, {Name: "queue", Slow: 20e6}, {Name: "decode", Mean: 30e6, Slow: 40e6}, {Name: "d_tail", Mean: -1e6, Slow: -1e6},
	}}
	f, err := parts("way", "Way", "", &s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range f.Legend {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, " "); got != "queue decode" || len(f.Table.Rows) != 4 {
		t.Errorf("the legend has %q, the table %d rows", got, len(f.Table.Rows))
	}
	if f.Legend[1].Mark != template.HTML(plot.Block(1)) || !strings.Contains(string(f.SVG), `class="mark s1"`) {
		t.Errorf("decode is not of the second colour: %s", f.SVG)
	}
}
