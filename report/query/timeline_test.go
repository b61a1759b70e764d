package query

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// The timeline is that of the rows, however often its bins were joined: counts by
// instant, the number in flight at the end of each bin, TTFT within a bucket.
func TestTimelineIsThatOfTheRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(rt, "rows")
		stretch := clock.Time(rapid.SampledFrom([]int64{1e5, 1e7, 3e9}).Draw(rt, "scale"))
		var rows []record.Request
		for i := range n {
			var r record.Request
			r.Reset()
			r.Seq, r.Final = int64(i), true
			r.Intended = clock.Time(rapid.IntRange(0, 400).Draw(rt, "due")) * stretch
			r.Dispatched = r.Intended + 3*stretch
			r.FirstToken = r.Dispatched + 7*stretch
			r.Closed = r.FirstToken + clock.Time(rapid.IntRange(0, 50).Draw(rt, "tail"))*stretch
			r.Replica = fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "replica"))
			if rapid.Bool().Draw(rt, "failed") {
				r.Outcome = record.Reset
			}
			rows = append(rows, r)
		}
		var lines timeline
		var pool replicas
		for i := range rows {
			lines.add(&rows[i], pool.number(rows[i].Replica))
		}
		for i := range pool.all {
			pool.all[i].N = 1
		}
		f := &Figures{Timeline: lines.finish(), Replicas: pool.finish(&lines)}
		tl := &f.Timeline
		if len(tl.Bins) > 256 || tl.Width <= 0 {
			rt.Fatalf("%d bins of %v", len(tl.Bins), tl.Width)
		}
		for i := range tl.Bins {
			checkBin(rt, f, rows, i)
		}
	})
}

func checkBin(t *rapid.T, f *Figures, rows []record.Request, i int) {
	width := clock.Time(f.Timeline.Width)
	from, to := clock.Time(i)*width, clock.Time(i+1)*width
	in := func(at clock.Time) bool { return at >= from && at < to }
	var want Bin
	var ttft []int64
	flight := map[string]int64{}
	for k := range rows {
		r := &rows[k]
		if r.Dispatched < to && r.Closed >= to {
			want.InFlight++
			flight[r.Replica]++
		}
		if in(r.Dispatched) {
			want.Sent++
		}
		if in(r.Closed) && r.Outcome == record.OK {
			want.OK++
		} else if in(r.Closed) {
			want.Failed++
		}
		if in(r.Intended) {
			want.Due++
			if r.Outcome == record.OK {
				ttft = append(ttft, r.TTFT())
			}
		}
	}
	got := f.Timeline.Bins[i]
	if got.Due != want.Due || got.Sent != want.Sent || got.OK != want.OK || got.Failed != want.Failed || got.InFlight != want.InFlight {
		t.Fatalf("bin %d of %v: %+v, want %+v", i, f.Timeline.Width, got, want)
	}
	for _, r := range f.Replicas {
		if r.InFlight[i] != flight[r.Name] {
			t.Fatalf("bin %d: replica %s has %d in flight, want %d", i, r.Name, r.InFlight[i], flight[r.Name])
		}
	}
	if got.TTFT.N != int64(len(ttft)) {
		t.Fatalf("bin %d: %d TTFTs, want %d", i, got.TTFT.N, len(ttft))
	}
	if len(ttft) > 0 {
		slices.Sort(ttft)
		for q, v := range map[float64]float64{0.5: got.TTFT.P50, 0.95: got.TTFT.P95} {
			exact := float64(ttft[int(math.Ceil(q*float64(len(ttft))))-1])
			if v < exact || v > exact*(1+1.0/16) {
				t.Fatalf("bin %d: P%v is %v, exactly %v", i, 100*q, v, exact)
			}
		}
		if got.TTFT.Min != float64(ttft[0]) || got.TTFT.Max != float64(ttft[len(ttft)-1]) {
			t.Fatalf("bin %d: from %v to %v, want %v", i, got.TTFT.Min, got.TTFT.Max, ttft)
		}
	}
}
