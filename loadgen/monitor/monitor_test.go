package monitor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

const (
	ms  = clock.Time(time.Millisecond)
	sec = clock.Time(time.Second)
)

// row is a request with the given lag and TTFT in nanoseconds.
func row(o record.Outcome, lag, ttft int64, tokens int32) *record.Request {
	r := new(record.Request)
	r.Reset()
	r.Intended, r.Dispatched = 0, clock.Time(lag)
	if ttft != record.Null {
		r.FirstToken = clock.Time(ttft)
	}
	r.Outcome, r.OutputTokens = o, tokens
	return r
}

func TestNothingYet(t *testing.T) {
	null := monitor.Quantile{Recent: record.Null, Overall: record.Null}
	want := monitor.Snapshot{Elapsed: 3 * sec, Total: 10, TTFTP95: null, LagP99: null}
	if diff := cmp.Diff(want, monitor.New(10).Snapshot(3*sec)); diff != "" {
		t.Error(diff)
	}
}

func TestCounts(t *testing.T) {
	m := monitor.New(0)
	for i := range 7 {
		m.Started(clock.Time(i) * ms)
	}
	m.Ended(8*ms, row(record.OK, 0, 100, 5))
	m.Ended(9*ms, row(record.OK, 0, 100, record.Null32))
	m.Ended(10*ms, row(record.HTTP429, 0, record.Null, record.Null32))
	m.Ended(11*ms, row(record.Reset, 0, record.Null, 2))
	m.Ended(12*ms, row(record.Censored, 0, record.Null, 0))
	s := m.Snapshot(clock.Never)
	got := []int64{int64(s.Elapsed), s.Total, s.Sent, s.InFlight, s.Completed(), s.Errors(), s.Outcomes[record.HTTP429], s.Outcomes[record.Censored], s.OutputTokens, s.UnknownTokens}
	want := []int64{int64(12 * ms), 0, 7, 2, 2, 2, 1, 1, 7, 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := m.Snapshot(5 * ms); s.Elapsed != 12*ms {
		t.Errorf("time went back to %v", s.Elapsed)
	}
}

// TestQuantiles compares with the exact nearest rank.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := monitor.New(0)
		ttft := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64), 1, 300).Draw(t, "ttft")
		if rapid.Bool().Draw(t, "small") {
			for i := range ttft {
				ttft[i] %= 5000
			}
		}
		for _, v := range ttft {
			m.Ended(0, row(record.OK, v/2, v, 1))
		}
		slices.Sort(ttft)
		exact := func(q float64) float64 { return float64(ttft[int(math.Ceil(q*float64(len(ttft))-1e-9))-1]) }
		s := m.Snapshot(0)
		for _, c := range []struct{ got, want float64 }{
			{float64(s.TTFTP95.Overall), exact(0.95)},
			{float64(s.TTFTP95.Recent), exact(0.95)},
			{float64(s.LagP99.Overall), math.Floor(exact(0.99) / 2)},
		} {
			if math.Abs(c.got-c.want) > c.want/60 {
				t.Fatalf("quantile is %g, exactly %g", c.got, c.want)
			}
		}
	})
}

func TestWindow(t *testing.T) {
	m := monitor.New(0)
	m.Ended(500*ms, row(record.OK, 0, int64(50*ms), 1))
	m.Ended(5*sec, row(record.OK, 0, int64(10*ms), 1))
	cases := []struct {
		name string
		at   clock.Time
		want clock.Time // of the window's P95; Never: empty
	}{
		{"both", 9999 * ms, 50 * ms},
		{"the first one left", 10 * sec, 10 * ms},
		{"the second is the last", 14999 * ms, 10 * ms},
		{"empty", 15 * sec, clock.Never},
		{"long after", 3600 * sec, clock.Never},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := m.Snapshot(c.at)
			near := func(got int64, want clock.Time) bool {
				if !want.Known() {
					return got == record.Null
				}
				return math.Abs(float64(got)/float64(want)-1) < 1.0/60
			}
			if !near(s.TTFTP95.Recent, c.want) {
				t.Errorf("P95 of the window is %d, want %v", s.TTFTP95.Recent, c.want)
			}
			if !near(s.TTFTP95.Overall, 50*ms) {
				t.Errorf("P95 of the run is %d", s.TTFTP95.Overall)
			}
		})
	}
	t.Run("a slot is used again", func(t *testing.T) {
		m.Ended(25*sec, row(record.OK, 0, int64(ms), 1))
		if s := m.Snapshot(clock.Never); s.TTFTP95.Recent > int64(2*ms) {
			t.Errorf("P95 of the window is %d: older requests are in it", s.TTFTP95.Recent)
		}
	})
}

// TestReadersDoNotDisturb (invariant 12): with readers on other goroutines every
// update still counts. It is of most use under the race detector.
func TestReadersDoNotDisturb(t *testing.T) {
	m := monitor.New(0)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if s := m.Snapshot(clock.Never); s.InFlight < 0 || s.InFlight > 1 {
					t.Errorf("in flight: %d", s.InFlight)
					return
				}
			}
		})
	}
	r := row(record.OK, 1, 2, 3)
	const n = 5_000
	for i := range n {
		m.Started(clock.Time(i) * ms)
		m.Ended(clock.Time(i)*ms, r)
	}
	close(done)
	wg.Wait()
	if s := m.Snapshot(clock.Never); s.Sent != n || s.Completed() != n || s.OutputTokens != 3*n {
		t.Errorf("updates were lost: %+v", s)
	}
}

func TestAllocatesNothing(t *testing.T) {
	m := monitor.New(0)
	r := row(record.OK, 1, 2, 3)
	now := clock.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		now += 300 * ms
		m.Started(now)
		m.Ended(now, r)
		m.Snapshot(now)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	b.ReportAllocs()
	m := monitor.New(0)
	r := row(record.OK, 1, 2, 3)
	now := clock.Time(0)
	for b.Loop() {
		now += ms
		m.Started(now)
		m.Ended(now, r)
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint("after ", n), func(b *testing.B) {
			b.ReportAllocs()
			m := monitor.New(0)
			p := rand.New(rand.NewPCG(1, 2))
			for i := range n {
				m.Ended(clock.Time(i)*ms, row(record.OK, p.Int64N(1e6), p.Int64N(1e9), 3))
			}
			for b.Loop() {
				m.Snapshot(clock.Never)
			}
		})
	}
}

func ExampleMonitor() {
	m := monitor.New(2)
	m.Started(0)
	m.Started(500 * ms)
	m.Ended(900*ms, row(record.OK, 0, int64(200*ms), 16))
	s := m.Snapshot(clock.Never)
	fmt.Printf("%v: %d of %d sent, %d in flight, %d completed, TTFT P95 %v\n",
		s.Elapsed, s.Sent, s.Total, s.InFlight, s.Completed(), time.Duration(s.TTFTP95.Recent).Round(10*time.Millisecond))
	// Output: 900ms: 2 of 2 sent, 1 in flight, 1 completed, TTFT P95 200ms
}
