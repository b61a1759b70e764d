package plot_test

import (
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/report/plot"
)

func ExampleRoofline() {
	r := plot.Roofline{Peak: 989e12, Bandwidth: 3.35e12, Work: []plot.Work{
		{"batch 1", 1, 2.2e12}, {"batch 64", 60, 120e12}, {"a prompt", 2000, 640e12},
	}}
	if err := r.WriteText(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// FLOP/s
	//          |
	//      1 P |                                               /----------------------
	//          |                                            /..            c
	//          |                                         /..
	//          |                                      /..
	//          |                                   /..b
	//    100 T |                                /..
	//          |                             /..
	//          |                          /..
	//          |                       /..
	//     10 T |                    /..
	//          |                 /..
	//          |              /..
	//          |           /..a
	//          |         /.
	//      1 T |      /..
	//          ++-------------+-------------+------------+-------------+-------------+
	//          0.1            1            10           100           1k           10k
	//                                                                        FLOP/byte
	//           a batch 1   b batch 64   c a prompt
}

// TestRooflineFits: whatever the work, 80 columns of ASCII hold it, with a letter
// for each point or a star, and nothing above the roof but what is faster than it.
func TestRooflineFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := func(name string, lo, hi float64) float64 {
			return math.Pow(10, rapid.Float64Range(lo, hi).Draw(t, name))
		}
		r := plot.Roofline{Peak: value("peak", 9, 16), Bandwidth: value("bandwidth", 8, 14)}
		for range rapid.IntRange(0, plot.MaxWork).Draw(t, "points") {
			r.Work = append(r.Work, plot.Work{Name: "batch 4096", Intensity: value("intensity", -3, 5), Rate: value("rate", 3, 16)})
		}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		chart, legend, _ := strings.Cut(b.String(), "FLOP/byte")
		for _, line := range strings.Split(b.String(), "\n") {
			if len(line) > plot.Columns {
				t.Errorf("%d columns: %q", len(line), line)
			}
		}
		for _, c := range b.String() {
			if c > 126 {
				t.Errorf("not ASCII: %q", c)
			}
		}
		if len(r.Work) > 0 && strings.Count(legend, "batch 4096") != len(r.Work) {
			t.Errorf("%d points, legend %s", len(r.Work), legend)
		}
		for i := range r.Work {
			letter := string(rune('a' + i))
			if !strings.Contains(chart, letter) && !strings.Contains(chart, "*") {
				t.Errorf("point %s is not in\n%s", letter, chart)
			}
		}
	})
}

func TestRooflineRefuses(t *testing.T) {
	for name, r := range map[string]plot.Roofline{
		"no peak":      {Bandwidth: 1},
		"no bandwidth": {Peak: 1},
		"no work":      {Peak: 1, Bandwidth: 1, Work: []plot.Work{{"x", 0, 1}}},
		"NaN":          {Peak: 1, Bandwidth: 1, Work: []plot.Work{{"x", 1, math.NaN()}}},
		"too many":     {Peak: 1, Bandwidth: 1, Work: make([]plot.Work, plot.MaxWork+1)},
	} {
		if err := r.WriteText(io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
