package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// capped runs n arrivals, one every 10 ms, against answers of 35 ms.
func capped(t *testing.T, n, most int, on dispatch.OnCap) *run {
	t.Helper()
	l := clock.NewVirtual()
	f := newFake(l, always(script{First: 35 * time.Millisecond, Tokens: 1}))
	return prepare(t, l, every(10*ms, n), f, func(c *dispatch.Config) { c.MaxConcurrency, c.OnCap = most, on }).play()
}

// A queue keeps the intended instants and tells the wait from lateness.
func TestCapQueues(t *testing.T) {
	r := capped(t, 4, 2, dispatch.Queue)
	type times struct{ Intended, Dispatched, Permitted, FirstToken clock.Time }
	var got []times
	for i := range r.rows {
		row := &r.rows[i]
		got = append(got, times{row.Intended, row.Dispatched, row.Permitted, row.FirstToken})
	}
	want := []times{
		{10 * ms, 10 * ms, 10 * ms, 45 * ms},
		{20 * ms, 20 * ms, 20 * ms, 55 * ms},
		{30 * ms, 30 * ms, 45 * ms, 80 * ms},
		{40 * ms, 40 * ms, 55 * ms, 90 * ms},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(dispatch.Capped{Queued: 2, Longest: 2}, r.Capped()); diff != "" {
		t.Errorf("account -want +got:\n%s", diff)
	}
}

// A request without a place is dropped, with a row that tells so and nothing sent.
func TestCapDrops(t *testing.T) {
	r := capped(t, 4, 2, dispatch.Drop)
	var dropped []int64
	for i := range r.rows {
		if row := &r.rows[i]; row.Outcome == record.DroppedCap {
			dropped = append(dropped, row.Seq)
			if row.Dispatched.Known() || row.Intended != clock.Time(row.Seq+1)*10*ms || row.PlannedPromptTokens == record.Null32 {
				t.Errorf("row %d: dispatched %v, intended %v", row.Seq, row.Dispatched, row.Intended)
			}
		}
	}
	if diff := cmp.Diff([]int64{2, 3}, dropped); diff != "" {
		t.Errorf("dropped -want +got:\n%s", diff)
	}
	if c := r.Counts(); c.Dropped() != 2 || c.Completed() != 2 || c.Scheduled != 4 || r.Capped().Dropped != 2 {
		t.Errorf("counts %+v, %+v", c, r.Capped())
	}
}

// TestCapped is invariants 1 and 3 under a cap: whatever the answers, the choice and the
// end, no more are in flight than allowed, all keep their intended instant, each has one
// row, and those that wait are sent first come, first served.
func TestCapped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := clock.NewVirtual()
		n, most := rapid.IntRange(1, 40).Draw(rt, "n"), rapid.IntRange(1, 5).Draw(rt, "most")
		scripts := make([]script, n)
		for i := range scripts {
			scripts[i] = script{
				First:  time.Duration(rapid.IntRange(0, 60).Draw(rt, "first")) * time.Millisecond,
				Tokens: rapid.IntRange(0, 2).Draw(rt, "tokens"),
				Hang:   rapid.IntRange(0, 9).Draw(rt, "hang") == 0,
			}
		}
		f := newFake(l, func(seq uint64) script { return scripts[seq] })
		var order []uint64
		f.started = func(r *target.Request) {
			order = append(order, r.Seq)
			if len(f.live) >= most {
				rt.Fatalf("%d in flight beside request %d", len(f.live), r.Seq)
			}
		}
		on := dispatch.OnCap(rapid.IntRange(0, 1).Draw(rt, "on cap"))
		r := prepare(t, l, every(10*ms, n), fakeCanceler{f}, func(c *dispatch.Config) {
			c.MaxConcurrency, c.OnCap, c.Drain = most, on, 100*time.Millisecond
		})
		if rapid.Bool().Draw(rt, "interrupt") {
			at := clock.Time(rapid.IntRange(1, 500).Draw(rt, "at")) * ms
			l.At(at, clock.RankControl, do(func(clock.Time) { r.Interrupt() }))
		}
		r.play()
		c := r.Counts()
		if c.InFlight != 0 || c.Scheduled != int64(len(r.rows)) || c.Completed()+c.Failed()+c.Dropped()+c.Censored() != c.Scheduled {
			rt.Fatalf("%d rows, counts %+v", len(r.rows), c)
		}
		if !r.Interrupted() && c.Scheduled != int64(n) {
			rt.Fatalf("%d of %d have a row", c.Scheduled, n)
		}
		seen := map[int64]bool{}
		for i := range r.rows {
			row := &r.rows[i]
			if seen[row.Seq] || row.Intended != clock.Time(row.Seq+1)*10*ms {
				rt.Fatalf("row of %d: intended %v", row.Seq, row.Intended)
			}
			seen[row.Seq] = true
			if row.Dispatched.Known() && (row.Dispatched != row.Intended || row.Permitted < row.Dispatched) {
				rt.Fatalf("row of %d: dispatched %v, permitted %v", row.Seq, row.Dispatched, row.Permitted)
			}
		}
		for i := 1; i < len(order); i++ {
			if order[i] < order[i-1] {
				rt.Fatalf("sent in the order %v", order)
			}
		}
	})
}

// A closed loop keeps as many in flight as asked for, each due when another ends.
func TestClosedLoop(t *testing.T) {
	for name, c := range map[string]struct {
		closed dispatch.Closed
		want   []clock.Time // intended
	}{
		"number":            {dispatch.Closed{Concurrency: 2, N: 5}, []clock.Time{0, 0, 35 * ms, 35 * ms, 70 * ms}},
		"time":              {dispatch.Closed{Concurrency: 2, Until: 36 * time.Millisecond}, []clock.Time{0, 0, 35 * ms, 35 * ms}},
		"fewer than places": {dispatch.Closed{Concurrency: 9, N: 2}, []clock.Time{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l := clock.NewVirtual()
			f := newFake(l, always(script{First: 35 * time.Millisecond, Tokens: 1}))
			most := 0
			f.started = func(*target.Request) { most = max(most, len(f.live)+1) }
			r := prepare(t, l, every(ms, 3), f, func(x *dispatch.Config) { x.Closed, x.Source = &c.closed, nil }).play()
			var got []clock.Time
			for i := range r.rows {
				got = append(got, r.rows[i].Intended)
				if r.rows[i].Seq != int64(i) || r.rows[i].Dispatched != r.rows[i].Intended {
					t.Errorf("row %d is %+v", i, r.rows[i])
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("intended -want +got:\n%s", diff)
			}
			if most != min(2, len(c.want)) {
				t.Errorf("%d in flight", most)
			}
		})
	}
}

// Answers within Start do not nest.
func TestClosedLoopAtOnce(t *testing.T) {
	l := clock.NewVirtual()
	r := prepare(t, l, every(ms, 3), newFake(l, always(script{})), func(c *dispatch.Config) {
		c.Closed = &dispatch.Closed{Concurrency: 1, N: 20_000}
	}).play()
	if len(r.rows) != 20_000 {
		t.Errorf("%d rows", len(r.rows))
	}
}
