package clock

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sleeper waits on a thread of its own in clock_nanosleep, and spins for the last part.
// Nothing can wake it, so no loop that is posted to can use it.
type sleeper struct {
	spin time.Duration
	due  time.Time
}

var _ waiter = (*sleeper)(nil)

func (s *sleeper) arm(d time.Duration) { s.due = time.Now().Add(d) }

func (s *sleeper) wait() {
	if d := time.Until(s.due) - s.spin; d > 0 {
		t := unix.NsecToTimespec(int64(d))
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil) // cut short, it spins longer
	}
	for time.Until(s.due) > 0 {
	}
}

func (s *sleeper) wake()  {}
func (s *sleeper) close() {}

// ticks notes how late the loop takes up events of a constant rate.
type ticks struct {
	loop *Real
	gap  time.Duration
	left int
	lag  []float64 // microseconds
}

func (m *ticks) Entity() uint64 { return 0 }

func (m *ticks) Fire(now Time) {
	m.lag = append(m.lag, float64(m.loop.Stamp().Sub(now))/1e3)
	if m.left--; m.left == 0 {
		m.loop.Stop()
		return
	}
	m.loop.At(now.Add(m.gap), RankArrival, m)
}

// BenchmarkPacer compares ways to wait at a constant rate, in turns, so that a busy
// machine disturbs all alike: the coefficient of variation of the gaps, and the lag in
// microseconds. The time per operation is that of the schedule.
func BenchmarkPacer(b *testing.B) {
	ways := []struct {
		name   string
		locked bool
		make   func() (waiter, error)
	}{
		{"timerfd", false, newWaiter},
		{"nanosleep+spin", true, func() (waiter, error) { return &sleeper{spin: 50 * time.Microsecond}, nil }},
		{"timer", false, newTimerWaiter},
	}
	for _, rate := range []int{500, 2000} {
		b.Run(fmt.Sprintf("%d per s", rate), func(b *testing.B) {
			gap := time.Second / time.Duration(rate)
			lags, gaps := make([][]float64, len(ways)), make([][]float64, len(ways))
			for b.Loop() {
				for i, w := range ways {
					lag := pace(b, gap, rate/10, w.locked, w.make)
					for k := range lag[1:] {
						gaps[i] = append(gaps[i], float64(gap)/1e3+lag[k+1]-lag[k])
					}
					lags[i] = append(lags[i], lag...)
				}
			}
			for i, w := range ways {
				slices.Sort(lags[i])
				at := func(q float64) float64 { return lags[i][int(q*float64(len(lags[i])-1))] }
				b.ReportMetric(at(0.5), w.name+"-us-p50")
				b.ReportMetric(at(0.99), w.name+"-us-p99")
				b.ReportMetric(variation(gaps[i]), w.name+"-cv")
			}
		})
	}
}

// pace runs n events and returns their lags.
func pace(b *testing.B, gap time.Duration, n int, locked bool, newWaiter func() (waiter, error)) []float64 {
	b.Helper()
	r, err := NewReal(func(o *options) { o.newWaiter = newWaiter })
	if err != nil {
		b.Fatal(err)
	}
	m := &ticks{loop: r, gap: gap, left: n}
	r.At(Time(gap), RankArrival, m)
	if locked {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
	}
	r.Run()
	return m.lag
}

// variation is the standard deviation over the mean.
func variation(x []float64) float64 {
	mean, v := 0.0, 0.0
	for _, y := range x {
		mean += y / float64(len(x))
	}
	for _, y := range x {
		v += (y - mean) * (y - mean) / float64(len(x))
	}
	return math.Sqrt(v) / mean
}
