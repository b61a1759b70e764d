package autoscale_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/autoscale"
	"goodput/loadgen/clock"
)

// plant is a host whose replicas show what a test wants, and hold requests by number.
type plant struct {
	loop  clock.Loop
	level map[int]float64
	busy  map[int]int
	idle  bool
	lines []string
}

func (p *plant) note(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf("%v ", p.loop.Now())+fmt.Sprintf(format, args...))
}
func (p *plant) Report(i int, _ autoscale.Signal) float64 { return p.level[i] }
func (p *plant) Busy(i int) bool                          { return p.busy[i] > 0 }
func (p *plant) Idle() bool                               { return p.idle }
func (p *plant) Boot(i int)                               { p.note("boot %d", i) }
func (p *plant) Admit(i int, up bool)                     { p.note("%d takes requests: %v", i, up) }

type do func()

func (d do) Fire(clock.Time) { d() }
func (do) Entity() uint64    { return 0 }

func cfg() autoscale.Config {
	return autoscale.Config{Signal: autoscale.Queue, Target: 5, Min: 1, Max: 4, Every: 10 * time.Second, ColdStart: 25 * time.Second, CoolDown: 30 * time.Second}
}

// TestScaler plays a queue that grows and ends. One replica with 12 requests waiting at a
// target of 5 asks for 3; the starting ones count when more are considered; fewer are kept
// only when the last 30 s wanted no more.
func TestScaler(t *testing.T) {
	loop := clock.NewVirtual()
	p := &plant{loop: loop, level: map[int]float64{0: 12}, busy: map[int]int{0: 12, 2: 1}}
	s, err := autoscale.New(cfg(), 1, loop, p)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration, f func()) { loop.At(clock.Time(d), clock.RankArrival, do(f)) }
	s.Start()
	at(0, func() { s.Wake(0) })
	at(41*time.Second, func() { p.level = map[int]float64{0: 3} })
	at(85*time.Second, func() {
		p.busy[2] = 0
		s.Released(2)
		p.idle = true
	})
	loop.Run()
	want := []string{
		"0s 1 takes requests: false", "0s 2 takes requests: false", "0s 3 takes requests: false",
		"35s boot 1", "35s 1 takes requests: true",
		"35s boot 2", "35s 2 takes requests: true",
		// 12 waited for the last time at 40 s.
		"1m20s 2 takes requests: false", "1m20s 1 takes requests: false",
	}
	if diff := cmp.Diff(want, p.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var history []string
	for _, e := range s.History() {
		history = append(history, fmt.Sprintf("%v %d %s", e.At, e.Replica, e.What))
	}
	want = []string{
		"10s 1 starts", "10s 2 starts", "35s 1 serves", "35s 2 serves",
		"1m20s 2 drains", "1m20s 1 drains", "1m20s 1 is gone", "1m25s 2 is gone",
	}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	// 90 s of the first one, 70 s and 75 s of the others.
	if got := s.Used(clock.Time(90 * time.Second)); got != 235*time.Second {
		t.Errorf("used %v, want 3m55s", got)
	}
}

// TestScalerSleeps: without requests nothing is evaluated, so that a virtual loop ends;
// what would have been is made up for by the next request.
func TestScalerSleeps(t *testing.T) {
	loop := clock.NewVirtual()
	p := &plant{loop: loop, idle: true}
	s, err := autoscale.New(cfg(), 3, loop, p)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	loop.At(clock.Time(time.Hour), clock.RankArrival, do(func() { s.Wake(loop.Now()) }))
	loop.Run()
	if now := loop.Now(); now > clock.Time(time.Hour+10*time.Second) {
		t.Errorf("the loop went on to %v", now)
	}
	var gone int
	for _, e := range s.History() {
		if e.What == "is gone" {
			if gone++; e.At != clock.Time(40*time.Second) {
				t.Errorf("replica %d went at %v, want at the first evaluation after the cool-down", e.Replica, e.At)
			}
		}
	}
	if gone != 2 || s.Serving(1) || !s.Serving(0) {
		t.Errorf("%d went: %+v", gone, s.History())
	}
}

// TestScalerStaysInBounds: at every instant there are min to max replicas, those that
// drain aside, and the time used is that of the replicas that were there.
func TestScalerStaysInBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		loop := clock.NewVirtual()
		c := cfg()
		c.Min = rapid.IntRange(1, 3).Draw(rt, "min")
		c.Max = c.Min + rapid.IntRange(0, 5).Draw(rt, "more")
		c.ColdStart = time.Duration(rapid.IntRange(0, 60).Draw(rt, "cold start")) * time.Second
		c.CoolDown = time.Duration(rapid.IntRange(0, 60).Draw(rt, "cool down")) * time.Second
		p := &plant{loop: loop, level: map[int]float64{}, busy: map[int]int{}}
		s, err := autoscale.New(c, rapid.IntRange(c.Min, c.Max).Draw(rt, "start"), loop, p)
		if err != nil {
			rt.Fatal(err)
		}
		s.Start()
		s.Wake(0)
		var sum time.Duration
		for i := range 300 {
			loop.At(clock.Time(i)*clock.Time(time.Second), clock.RankSample, do(func() {
				n := 0
				for k := range c.Max {
					if s.Serving(k) {
						n++
					}
					if rapid.IntRange(0, 9).Draw(rt, "change") == 0 {
						p.level[k], p.busy[k] = float64(rapid.IntRange(0, 30).Draw(rt, "level")), rapid.IntRange(0, 1).Draw(rt, "busy")
						s.Released(k)
					}
				}
				if n < 1 || n > c.Max {
					rt.Fatalf("%v: %d serve of %d to %d", loop.Now(), n, c.Min, c.Max)
				}
				if used := s.Used(loop.Now()); used < sum {
					rt.Fatalf("%v: used %v after %v", loop.Now(), used, sum)
				} else {
					sum = used
				}
				p.idle = i == 299
			}))
		}
		loop.Run()
		if least := time.Duration(c.Min) * 299 * time.Second; sum < least {
			rt.Fatalf("used %v, less than %v", sum, least)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	loop := clock.NewVirtual()
	for name, f := range map[string]func() error{
		"no loop":  func() error { _, err := autoscale.New(cfg(), 1, nil, &plant{}); return err },
		"too many": func() error { _, err := autoscale.New(cfg(), 5, loop, &plant{}); return err },
		"none":     func() error { _, err := autoscale.New(cfg(), 0, loop, &plant{}); return err },
		"no max": func() error {
			c := cfg()
			c.Max = 0
			_, err := autoscale.New(c, 1, loop, &plant{})
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
