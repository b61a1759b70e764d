package clock_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

// waiters are the ways to wait: what the system offers, and what works anywhere.
var waiters = []struct {
	name string
	opts []clock.Option
}{
	{"default", nil},
	{"portable", []clock.Option{clock.Portable()}},
}

func TestSpeedIsChecked(t *testing.T) {
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := clock.NewReal(clock.Speed(x)); err == nil {
			t.Errorf("speed %v was accepted", x)
		}
	}
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReal(t, clock.Portable(), clock.Speed(2))
		if got := r.Stamp(); got.Known() {
			t.Errorf("stamp before the start is %v", got)
		}
		begin := clock.Wall()
		epoch := r.Start(time.Second)
		if got := epoch.Sub(begin); got != time.Second {
			t.Errorf("epoch is %v from the start, want the lead", got)
		}
		if again := r.Start(time.Hour); !again.Equal(epoch) {
			t.Errorf("a second start moved the epoch to %v", again)
		}
		if got := r.Stamp(); got != 0 {
			t.Errorf("stamp in the lead is %v", got)
		}
		var log []any
		r.At(0, clock.RankControl, do{0, func(clock.Time) { log = append(log, clock.Wall().Sub(begin), r.Stamp()) }})
		r.At(clock.Time(time.Second), clock.RankControl, do{0, func(clock.Time) {
			log = append(log, clock.Wall().Sub(begin), r.Stamp())
			r.Stop()
		}})
		r.Run()
		want := []any{time.Second, clock.Time(0), 1500 * time.Millisecond, clock.Time(time.Second)}
		if diff := cmp.Diff(want, log); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPostFiresAtItsStamp: an event posted between two timed ones fires between
// them, at the instant of posting.
func TestStartAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Wall().Round(0)
		for _, c := range []struct {
			name  string
			epoch time.Time
			good  bool
		}{{"ahead", now.Add(3 * time.Second), true}, {"now", now, true}, {"past", now.Add(-time.Nanosecond), false}} {
			r, err := clock.NewReal(clock.Portable())
			if err != nil {
				t.Fatal(err)
			}
			if err := r.StartAt(c.epoch); (err == nil) != c.good {
				t.Fatalf("%s: %v", c.name, err)
			}
			if !c.good {
				continue
			}
			if got := r.Start(0); !got.Equal(c.epoch) {
				t.Errorf("%s: the epoch is %v, want %v", c.name, got, c.epoch)
			}
			if err := r.StartAt(c.epoch); err == nil {
				t.Errorf("%s: a clock that runs was started again", c.name)
			}
		}
	})
}

func TestPostFiresAtItsStamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReal(t, clock.Portable())
		var log []clock.Time
		note := func(now clock.Time) { log = append(log, now) }
		r.At(clock.Time(time.Second), 0, do{0, note})
		r.At(clock.Time(3*time.Second), 0, do{0, func(now clock.Time) { note(now); r.Stop() }})
		done := make(chan bool)
		time.AfterFunc(2*time.Second, func() { r.Post(do{0, note}); close(done) })
		r.Run()
		<-done
		if diff := cmp.Diff([]clock.Time{1e9, 2e9, 3e9}, log); diff != "" {
			t.Error(diff)
		}
	})
}

// TestLateLoopKeepsTheOrder: a loop that is behind runs what was due before a post
// first, each event with the instant that was asked for.
func TestLateLoopKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReal(t, clock.Portable())
		var log []clock.Time
		note := func(now clock.Time) { log = append(log, now) }
		r.At(10, 0, do{0, func(now clock.Time) {
			note(now)
			<-time.After(time.Second) // a slow event
			r.Post(do{0, note})
		}})
		r.At(20, 0, do{0, note})
		r.At(clock.Time(time.Second)+11, 0, do{0, func(now clock.Time) { note(now); r.Stop() }})
		r.Run()
		if diff := cmp.Diff([]clock.Time{10, 20, 1e9 + 10, 1e9 + 11}, log); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRealWaitsForPosts(t *testing.T) {
	for _, w := range waiters {
		t.Run(w.name, func(t *testing.T) {
			r := newReal(t, w.opts...)
			ended := make(chan bool)
			go func() { r.Run(); close(ended) }()
			for i := range 100 { // most of them find the loop asleep
				fired := make(chan clock.Time)
				before := max(0, r.Stamp())
				r.Post(do{0, func(now clock.Time) { fired <- now }})
				if now := <-fired; now < before || now > r.Stamp() {
					t.Fatalf("post %d fired at %v, was posted after %v and seen at %v", i, now, before, r.Stamp())
				}
			}
			r.Stop()
			<-ended
		})
	}
}

// TestStopEndsALongWait would hang for an hour otherwise.
func TestStopEndsALongWait(t *testing.T) {
	for _, w := range waiters {
		t.Run(w.name, func(t *testing.T) {
			r := newReal(t, w.opts...)
			r.At(clock.Time(time.Hour), 0, do{0, func(clock.Time) { t.Error("fired") }})
			r.At(math.MaxInt64, 0, do{0, func(clock.Time) { t.Error("fired") }})
			ended := make(chan bool)
			go func() { r.Run(); close(ended) }()
			running := make(chan bool)
			r.Post(do{0, func(clock.Time) { close(running) }})
			<-running
			r.Stop()
			<-ended
		})
	}
}

// metronome fires every gap and notes how late the loop was.
type metronome struct {
	loop *clock.Real
	gap  time.Duration
	lag  []time.Duration
}

func (m *metronome) Entity() uint64 { return 0 }

func (m *metronome) Fire(now clock.Time) {
	m.lag = append(m.lag, m.loop.Stamp().Sub(now))
	if len(m.lag) == cap(m.lag) {
		m.loop.Stop()
		return
	}
	m.loop.At(now.Add(m.gap), clock.RankArrival, m)
}

func TestNothingFiresEarly(t *testing.T) {
	for _, w := range waiters {
		for _, speed := range []float64{1, 0.7, 1000} {
			t.Run(fmt.Sprintf("%s at speed %v", w.name, speed), func(t *testing.T) {
				r := newReal(t, append([]clock.Option{clock.Speed(speed)}, w.opts...)...)
				m := &metronome{loop: r, gap: time.Duration(123_457 * speed), lag: make([]time.Duration, 0, 200)}
				r.At(0, clock.RankArrival, m)
				r.Run()
				if least := slices.Min(m.lag); least < 0 {
					t.Errorf("fired %v early", -least)
				}
			})
		}
	}
}

// BenchmarkLag reports how late timed events fire on an idle machine, in
// microseconds. It says nothing of the time per operation: that is the gap.
func BenchmarkLag(b *testing.B) {
	for _, w := range waiters {
		for _, gap := range []time.Duration{330 * time.Microsecond, 7700 * time.Microsecond} {
			b.Run(fmt.Sprintf("%s/%v", w.name, gap), func(b *testing.B) {
				b.ReportAllocs()
				r := newReal(b, w.opts...)
				m := &metronome{loop: r, gap: gap, lag: make([]time.Duration, 0, b.N)}
				r.At(0, clock.RankArrival, m)
				r.Run()
				slices.Sort(m.lag)
				for _, q := range []float64{0.5, 0.99, 1} {
					lag := m.lag[int(q*float64(len(m.lag)-1))]
					b.ReportMetric(float64(lag.Nanoseconds())/1e3, fmt.Sprintf("us-p%v", 100*q))
				}
			})
		}
	}
}

// BenchmarkPost is a round trip: from Post by another goroutine to the event and
// back, with a loop that has gone to sleep in between.
func BenchmarkPost(b *testing.B) {
	for _, w := range waiters {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			r := newReal(b, w.opts...)
			go r.Run()
			defer r.Stop()
			fired := make(chan bool)
			e := &signal{fired}
			for b.Loop() {
				r.Post(e)
				<-fired
			}
		})
	}
}

type signal struct{ fired chan bool }

func (s *signal) Fire(clock.Time) { s.fired <- true }
func (s *signal) Entity() uint64  { return 0 }

func BenchmarkStamp(b *testing.B) {
	r := newReal(b)
	r.Start(0)
	b.ReportAllocs()
	for b.Loop() {
		r.Stamp()
	}
}

func ExampleReal() {
	loop, err := clock.NewReal(clock.Speed(1000))
	if err != nil {
		panic(err)
	}
	loop.At(clock.Time(time.Second), clock.RankDeadline, do{0, func(now clock.Time) {
		fmt.Println("a second of the loop has passed at", now)
		loop.Stop()
	}})
	loop.Run()
	// Output: a second of the loop has passed at 1s
}
