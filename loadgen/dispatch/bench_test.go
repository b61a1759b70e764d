package dispatch_test

import (
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// pulse is n arrivals, one each millisecond.
type pulse struct{ next, n uint64 }

func (p *pulse) Next() (schedule.Arrival, bool) {
	if p.next == p.n {
		return schedule.Arrival{}, false
	}
	a := schedule.Arrival{Seq: p.next, At: clock.Time(p.next) * ms, Item: p.next % 1000}
	p.next++
	return a, true
}

// load runs n requests through a fresh dispatcher, about ten in flight at a time.
func load(tb testing.TB, n uint64, tg func(clock.Loop) target.Target) {
	l := clock.NewVirtual()
	rows := uint64(0)
	d, err := dispatch.New(dispatch.Config{
		Loop: l, Source: &pulse{n: n}, Set: items(1000), Target: tg(l), Drain: time.Second,
		Record: func(*record.Request) { rows++ }, Finished: l.Stop, Monitor: monitor.New(int64(n)),
	})
	if err != nil {
		tb.Fatal(err)
	}
	d.Begin()
	l.Run()
	if rows != n {
		tb.Fatalf("%d rows of %d", rows, n)
	}
}

func onLoop(l clock.Loop) target.Target {
	return newFake(l, always(script{First: 8 * time.Millisecond, Gap: time.Millisecond, Tokens: 3}))
}

// null answers within Start.
type null struct{ l clock.Loop }

var answered = target.Result{Status: 200}

func (t null) Start(_ *target.Request, s target.Sink) {
	now := t.l.Now()
	s.Event(target.Event{At: now, Kind: target.Token, Content: target.Text, N: 1})
	s.Event(target.Event{At: now, Kind: target.Finished, Reason: "length"})
	s.Event(target.Event{At: now, Kind: target.Done})
	s.Event(target.Event{At: now, Kind: target.End, Result: &answered})
}

// TestRequestsAllocateNothing compares runs of two lengths: what does not cancel
// out is the price of a request. Slabs of sinks and texts come to less than one
// allocation in a hundred requests.
func TestRequestsAllocateNothing(t *testing.T) {
	const n = 20_000
	short := testing.AllocsPerRun(1, func() { load(t, n, onLoop) })
	long := testing.AllocsPerRun(1, func() { load(t, 2*n, onLoop) })
	if per := (long - short) / n; per > 0.01 {
		t.Errorf("%.4f allocations per request", per)
	}
}

func BenchmarkRequest(b *testing.B) {
	b.Run("null", func(b *testing.B) {
		b.ReportAllocs()
		load(b, uint64(b.N), func(l clock.Loop) target.Target { return null{l} })
	})
	b.Run("on the loop", func(b *testing.B) {
		b.ReportAllocs()
		load(b, uint64(b.N), onLoop)
	})
}
