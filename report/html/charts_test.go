package html

import (
	"testing"
	"time"

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
