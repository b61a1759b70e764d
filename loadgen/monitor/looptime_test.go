package monitor_test

import (
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// wall is a clock that goes on by hand.
type wall struct{ at clock.Time }

func (w *wall) Stamp() clock.Time { return w.at }

// TestLagOfLoopTime: where rows are in the loop's own time, lag is how far the wall clock
// was past it when requests were handed over, and unknown without one; never the rows' 0.
func TestLagOfLoopTime(t *testing.T) {
	w := &wall{}
	for _, c := range []struct {
		name     string
		loopTime bool
		stamp    clock.Stamper
		n        int64
		p99      monitor.Nanos
		inRows   bool
	}{
		{"rows tell", false, nil, 4, 0, true},
		{"the wall clock", true, w, 4, monitor.Nanos(8 * ms), false},
		{"virtual time", true, nil, 0, monitor.Unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, f := monitor.New(0), monitor.NewFeed()
			if c.loopTime {
				m.LoopTime(c.stamp)
			}
			m.Tell(f)
			b := monitor.NewBoard(monitor.About{LoopTime: c.loopTime})
			for i := range 4 {
				at := clock.Time(i) * sec
				w.at = at + clock.Time(2*ms)*clock.Time(i+1)
				m.Started(at)
				r := row(record.OK, 0, int64(5*ms), 3)
				r.Tenant, r.LastToken = "a", clock.Time(6*ms)
				m.Ended(at+clock.Time(5*ms), r)
			}
			b.Drain(f)
			for _, filter := range []string{"", "tenant=nobody", ""} {
				p := b.Picture(m, 4*sec, monitor.Query{Window: time.Minute, Filter: monitor.ParseFilter(filter)})
				n, p99 := c.n, c.p99
				if filter != "" && c.inRows {
					n, p99 = 0, monitor.Unknown
				}
				if p.Lag.N != n || !near(p.Lag.P99, p99) {
					t.Errorf("filter %q: lag %+v, want %d and P99 %d", filter, p.Lag, n, p99)
				}
				if (len(p.Slowest) == 4) != (filter == "") {
					t.Errorf("filter %q: %d rows", filter, len(p.Slowest))
				}
				for _, x := range p.Slowest {
					if x.Lag.Known() != c.inRows {
						t.Errorf("filter %q: a row's lag is %d", filter, x.Lag)
					}
				}
			}
			if s := m.Snapshot(4 * sec); !near(monitor.Nanos(s.LagP99.Recent), c.p99) {
				t.Errorf("the line of progress says %d, want %d", s.LagP99.Recent, c.p99)
			}
		})
	}
}

// near allows for the buckets of the histogram.
func near(got, want monitor.Nanos) bool {
	if !got.Known() || !want.Known() {
		return got == want
	}
	return got-want <= want/50 && want-got <= want/50
}
