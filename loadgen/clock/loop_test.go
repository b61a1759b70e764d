package clock_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
)

// do is an event made of a function.
type do struct {
	entity uint64
	f      func(now clock.Time)
}

func (e do) Fire(now clock.Time) { e.f(now) }
func (e do) Entity() uint64      { return e.entity }

// eachLoop runs f on Virtual, and on Real in a bubble.
func eachLoop(t *testing.T, f func(t *testing.T, l clock.Runner)) {
	t.Run("virtual", func(t *testing.T) { f(t, clock.NewVirtual()) })
	t.Run("real", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { f(t, newReal(t, clock.Portable())) })
	})
}

func newReal(t testing.TB, opts ...clock.Option) *clock.Real {
	t.Helper()
	r, err := clock.NewReal(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// step is one event of a script: when it fires, it adds its children, at offsets
// from that instant that may lie in the past, or posts them.
type step struct {
	id       uint64
	after    time.Duration
	rank     clock.Rank
	posted   bool
	children []step
}

func steps(depth int) *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		s := step{
			id:     rapid.Uint64Range(0, 4).Draw(t, "id"),
			after:  time.Duration(rapid.Int64Range(-2, 6).Draw(t, "after")) * time.Millisecond / 2,
			rank:   clock.Rank(rapid.IntRange(0, int(clock.RankSample)).Draw(t, "rank")),
			posted: rapid.Bool().Draw(t, "posted"),
		}
		if depth > 0 {
			s.children = steps(depth-1).Draw(t, "children")
		}
		return s
	}), 0, 5)
}

type entry struct {
	ID              uint64
	Fired, Now, Saw clock.Time
}

// play runs a script to its end and returns what happened. Saw is the stamp in
// units of the loop; it is left out if exact is false.
func play(l interface {
	clock.Runner
	clock.Stamper
}, script []step, exact bool,
) []entry {
	var log []entry
	var add func(from clock.Time, s []step)
	add = func(from clock.Time, s []step) {
		for _, s := range s {
			e := do{s.id, func(now clock.Time) {
				x := entry{ID: s.id, Fired: now, Now: l.Now()}
				if exact {
					x.Saw = l.Stamp()
				}
				log = append(log, x)
				add(now, s.children)
			}}
			if s.posted && from > 0 {
				l.Post(e)
			} else {
				l.At(from.Add(s.after), s.rank, e)
			}
		}
	}
	add(0, script)
	l.At(clock.Time(time.Second), clock.RankSample, do{0, func(clock.Time) { l.Stop() }})
	l.Run()
	return log
}

// TestRealIsVirtual is invariant 6: the same script leaves the same log on both
// loops.
func TestRealIsVirtual(t *testing.T) {
	for _, speed := range []float64{1, 10, 0.3} {
		t.Run(fmt.Sprint("speed ", speed), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				script := steps(3).Draw(rt, "script")
				exact := speed == 1
				want := play(clock.NewVirtual(), script, exact)
				var got []entry
				synctest.Test(t, func(t *testing.T) {
					got = play(newReal(t, clock.Portable(), clock.Speed(speed)), script, exact)
				})
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatal(diff)
				}
			})
		})
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	eachLoop(t, func(t *testing.T, l clock.Runner) {
		var log []clock.Time
		note := func(now clock.Time) { log = append(log, now) }
		l.At(10, clock.RankStep, do{1, func(now clock.Time) {
			note(now)
			l.At(5, clock.RankControl, do{2, note})
			l.At(clock.Never, clock.RankControl, do{3, note})
			l.At(11, clock.RankControl, do{4, func(now clock.Time) { note(now); l.Stop() }})
		}})
		l.Run()
		if diff := cmp.Diff([]clock.Time{10, 10, 10, 11}, log); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRanksOfOneInstant(t *testing.T) {
	eachLoop(t, func(t *testing.T, l clock.Runner) {
		var log []string
		note := func(s string) do { return do{0, func(clock.Time) { log = append(log, s) }} }
		l.At(7, clock.RankSample, note("sample"))
		l.At(7, clock.RankDeadline, note("deadline"))
		l.At(7, clock.RankStep, note("step"))
		l.At(7, clock.RankTransit, note("transit"))
		l.At(7, clock.RankArrival, note("arrival"))
		l.At(7, clock.RankControl, note("control"))
		l.At(8, clock.RankControl, do{0, func(clock.Time) { l.Stop() }})
		l.Run()
		if diff := cmp.Diff([]string{"control", "arrival", "transit", "step", "deadline", "sample"}, log); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStop(t *testing.T) {
	eachLoop(t, func(t *testing.T, l clock.Runner) {
		fired := 0
		l.At(1, 0, do{1, func(clock.Time) { fired++; l.Stop() }})
		l.At(1, 0, do{2, func(clock.Time) { fired++ }})
		l.Run()
		l.Run()
		if fired != 1 {
			t.Errorf("%d events fired, want those before Stop", fired)
		}
	})
}

func TestStopBeforeRun(t *testing.T) {
	eachLoop(t, func(t *testing.T, l clock.Runner) {
		l.At(0, 0, do{1, func(clock.Time) { t.Error("fired") }})
		l.Stop()
		l.Run()
	})
}

func TestPostBeforeRunFiresAtTheEpoch(t *testing.T) {
	eachLoop(t, func(t *testing.T, l clock.Runner) {
		at := clock.Never
		l.Post(do{1, func(now clock.Time) { at = now; l.Stop() }})
		l.Run()
		if at != 0 {
			t.Errorf("fired at %v", at)
		}
	})
}

// TestPostsFromManyGoroutines is for the race detector, and counts.
func TestPostsFromManyGoroutines(t *testing.T) {
	const posters, each = 8, 200
	run := func(t *testing.T, l clock.Runner) {
		var wg sync.WaitGroup
		got, last := make([]int, posters), clock.Time(0)
		left := posters * each
		var tick func(clock.Time)
		tick = func(now clock.Time) { // keeps the heap filled until all came
			if left > 0 {
				l.At(now.Add(time.Microsecond), clock.RankSample, do{0, tick})
			} else {
				l.Stop()
			}
		}
		l.At(0, clock.RankSample, do{0, tick})
		for p := range posters {
			wg.Go(func() {
				for i := range each {
					l.Post(do{uint64(p), func(now clock.Time) {
						if now < last {
							t.Errorf("time went back from %v to %v", last, now)
						}
						if got[p] != i {
							t.Errorf("post %d of goroutine %d came after %d others", i, p, got[p])
						}
						last = now
						got[p]++
						left--
					}})
				}
			})
		}
		l.Run()
		wg.Wait()
		if left != 0 {
			t.Errorf("%d posts are missing", left)
		}
	}
	t.Run("virtual", func(t *testing.T) { run(t, clock.NewVirtual()) })
	t.Run("portable", func(t *testing.T) { run(t, newReal(t, clock.Portable())) })
	t.Run("default", func(t *testing.T) { run(t, newReal(t)) })
}

func TestVirtualRunsAgain(t *testing.T) {
	v := clock.NewVirtual()
	var log []clock.Time
	note := func(now clock.Time) { log = append(log, now) }
	v.At(5, 0, do{0, note})
	v.Run()
	v.At(3, 0, do{0, note})
	v.Post(do{0, note})
	v.Run()
	if diff := cmp.Diff([]clock.Time{5, 5, 5}, log); diff != "" {
		t.Error(diff)
	}
}

func TestVirtualAllocatesNothing(t *testing.T) {
	v := clock.NewVirtual()
	e := &hop{loop: v}
	if n := testing.AllocsPerRun(1000, func() {
		e.left = 3
		v.At(v.Now()+1, clock.RankStep, e)
		v.Run()
	}); n != 0 {
		t.Errorf("%v allocations for three events", n)
	}
}

// hop is an event that adds itself again until it has fired left times.
type hop struct {
	loop clock.Loop
	left int
}

func (h *hop) Entity() uint64 { return 0 }

func (h *hop) Fire(now clock.Time) {
	if h.left--; h.left > 0 {
		h.loop.At(now+1, clock.RankStep, h)
	}
}

func BenchmarkVirtual(b *testing.B) {
	v := clock.NewVirtual()
	b.ReportAllocs()
	e := &hop{loop: v, left: b.N}
	v.At(0, clock.RankStep, e)
	v.Run()
}

func ExampleVirtual() {
	loop := clock.NewVirtual()
	say := func(entity uint64, s string) do {
		return do{entity, func(now clock.Time) { fmt.Println(now, s) }}
	}
	loop.At(clock.Time(2*time.Second), clock.RankStep, say(0, "step ends"))
	loop.At(clock.Time(2*time.Second), clock.RankArrival, say(8, "request 8 arrives"))
	loop.At(clock.Time(2*time.Second), clock.RankArrival, say(7, "request 7 arrives"))
	loop.At(0, clock.RankControl, say(0, "start"))
	loop.Run()
	// Output:
	// 0s start
	// 2s request 7 arrives
	// 2s request 8 arrives
	// 2s step ends
}

// TestPassed: whatever an event asks, a place in the order counts as passed if and
// only if an event that stands there from the start has fired.
func TestPassed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type place struct {
			at     clock.Time
			rank   clock.Rank
			entity uint64
		}
		v := clock.NewVirtual()
		fired := map[place]bool{}
		var places []place
		check := func() {
			for _, p := range places {
				if got := v.Passed(p.at, p.rank, p.entity); got != fired[p] {
					rt.Fatalf("at %v, %+v: passed %v, fired %v", v.Now(), p, got, fired[p])
				}
			}
		}
		for range rapid.IntRange(1, 20).Draw(rt, "places") {
			p := place{
				clock.Time(rapid.IntRange(0, 3).Draw(rt, "at")), clock.Rank(rapid.IntRange(0, 5).Draw(rt, "rank")),
				2 * rapid.Uint64Range(0, 2).Draw(rt, "entity"),
			}
			if _, ok := fired[p]; ok {
				continue
			}
			fired[p] = false
			places = append(places, p)
			back := rapid.Bool().Draw(rt, "adds one before it")
			v.At(p.at, p.rank, do{p.entity, func(now clock.Time) {
				check()
				fired[p] = true
				if back {
					v.At(now, clock.RankControl, do{1, func(clock.Time) { check() }})
				}
			}})
		}
		check()
		v.Run()
	})
}
