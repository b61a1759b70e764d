package engine

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"goodput/loadgen/clock"
)

// curve is the number of running and waiting sequences, once a second.
type curve struct{ running, waiting []float64 }

func (r *recording) curve(t testing.TB) curve {
	t.Helper()
	f, err := os.Open(filepath.Join(r.dir, "timeseries.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var c curve
	for i, row := range rows[1:] {
		var v [3]float64
		for k, field := range []int{0, 3, 4} {
			if v[k], err = strconv.ParseFloat(row[field], 64); err != nil {
				t.Fatal(err)
			}
		}
		if v[0] != float64(i+1) {
			t.Fatalf("row %d of the time series is of second %v", i+1, v[0])
		}
		c.running, c.waiting = append(c.running, v[1]), append(c.waiting, v[2])
	}
	return c
}

// difference is the mean distance of two curves, as a share of the first one's
// mean.
func difference(want, got []float64) float64 {
	var sum, diff float64
	for i := range want {
		sum += want[i]
		if i < len(got) {
			diff += math.Abs(got[i] - want[i])
		} else {
			diff += want[i]
		}
	}
	return diff / sum
}

// The numbers of running and waiting sequences, second by second, follow the
// recorded ones. The recording's clock starts at some instant of the first
// second.
func TestValidationCurves(t *testing.T) {
	for _, c := range []struct {
		name             string
		running, waiting float64
	}{
		{rtx4090, 0.05, 0.03},
		{rtxPro6000, 0.03, 0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadRecording(t, c.name)
			want := r.curve(t)
			var got curve
			r.replay(t, func(loop *clock.Virtual, e *Engine) {
				for i := range want.running {
					loop.At(clock.Time(i+1)*1000*ms, clock.RankArrival, call{0, func() {
						s := e.Stats()
						got.running, got.waiting = append(got.running, float64(s.Running)), append(got.waiting, float64(s.Waiting+s.Arriving))
					}})
				}
			})
			running, waiting := difference(want.running, got.running), difference(want.waiting, got.waiting)
			t.Logf("%d seconds: mean distance of running %.1f%%, of waiting %.1f%%", len(want.running), 100*running, 100*waiting)
			if running > c.running || waiting > c.waiting {
				t.Errorf("at most %.0f%% and %.0f%% are allowed", 100*c.running, 100*c.waiting)
			}
		})
	}
}
