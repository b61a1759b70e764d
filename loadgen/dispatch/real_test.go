package dispatch_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

func newReal(t *testing.T) *clock.Real {
	t.Helper()
	l, err := clock.NewReal(clock.Portable())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRealIsVirtual is invariant 6, and 5 as far as the dispatcher is concerned:
// the rows of a run do not depend on the loop, nor on which time it is run.
func TestRealIsVirtual(t *testing.T) {
	play := func(t *testing.T, l clock.Runner) []record.Request {
		f := newFake(l, func(seq uint64) script {
			return []script{quick, {Hang: true}, {First: 900 * time.Millisecond, Gap: 80 * time.Millisecond, Tokens: 9}, {Status: 429}}[seq%4]
		})
		r := prepare(t, l, every(13*ms, 50), fakeCanceler{f}, func(c *dispatch.Config) {
			end := c.Finished
			c.Finished = func() { end(); l.Stop() }
		}).play()
		if len(r.finished) != 1 {
			t.Fatalf("finished %v", r.finished)
		}
		return r.rows
	}
	want := play(t, clock.NewVirtual())
	if len(want) != 50 {
		t.Fatalf("%d rows", len(want))
	}
	if diff := cmp.Diff(want, play(t, clock.NewVirtual())); diff != "" {
		t.Errorf("second run (-first +second):\n%s", diff)
	}
	synctest.Test(t, func(t *testing.T) {
		if diff := cmp.Diff(want, play(t, newReal(t))); diff != "" {
			t.Errorf("rows (-virtual +real):\n%s", diff)
		}
	})
}

// threads is a target with a goroutine for each attempt, which sends a token every
// 5 ms and stops after n of them, or never, whatever happens to the run.
type threads struct {
	loop *clock.Real
	n    func(seq uint64) int // 0: never
	quit chan struct{}
	wg   sync.WaitGroup
}

func (x *threads) Start(r *target.Request, s target.Sink) {
	n := x.n(r.Seq)
	x.wg.Go(func() {
		s.Event(target.Event{At: x.loop.Stamp(), Kind: target.Dispatched})
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := 0; i < n || n == 0; i++ {
			select {
			case <-tick.C:
			case <-x.quit:
				return
			}
			s.Event(target.Event{At: x.loop.Stamp(), Kind: target.Token, Content: target.Text, N: 1})
		}
		at := x.loop.Stamp()
		s.Event(target.Event{At: at, Kind: target.Finished, Reason: "length"})
		s.Event(target.Event{At: at, Kind: target.Done})
		x.loop.Post(do(func(clock.Time) {
			s.Event(target.Event{At: at, Kind: target.End, Result: &target.Result{Status: 200}})
		}))
	})
}

// deaf is threads with a Cancel that nobody listens to.
type deaf struct{ *threads }

func (deaf) Cancel(*target.Request) {}

// TestDeafGoroutines: rows of attempts whose goroutines go on for ever are written
// without touching what those goroutines write. The race detector is the judge.
func TestDeafGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newReal(t)
		x := &threads{loop: l, quit: make(chan struct{}), n: func(seq uint64) int { return int(seq%3) * 4 }}
		r := prepare(t, l, every(10*ms, 30), deaf{x}, func(c *dispatch.Config) {
			end := c.Finished
			c.Finished = func() { end(); l.Stop() }
		}).play()
		if diff := cmp.Diff(map[string]int{"ok": 20, "censored": 10}, r.outcomes()); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(dispatch.Counters{Abandoned: 10}, r.Counters()); diff != "" {
			t.Errorf("counters (-want +got):\n%s", diff)
		}
		for _, row := range r.rows {
			if row.Outcome == record.Censored && (row.FirstToken.Known() || row.Chunks != record.Null32) {
				t.Errorf("the row of an abandoned request says %+v", row)
			}
		}
		close(x.quit)
		x.wg.Wait()
	})
}

// TestInterruptFromOutside enters the loop from another goroutine.
func TestInterruptFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newReal(t)
		r := prepare(t, l, every(10*ms, 1_000_000), fakeCanceler{newFake(l, always(quick))}, func(c *dispatch.Config) {
			end := c.Finished
			c.Finished = func() { end(); l.Stop() }
		})
		timer := time.AfterFunc(255*time.Millisecond, r.Interrupt)
		defer timer.Stop()
		r.play()
		if diff := cmp.Diff(map[string]int{"ok": 25}, r.outcomes()); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})
}
