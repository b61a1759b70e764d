package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// sent is a request as the target saw it.
type sent struct {
	Seq uint64
	At  clock.Time
}

// warm runs n warm-up arrivals every 10 ms, and 3 that count every 5 ms.
func warm(t *testing.T, n int, answer script, edit func(*dispatch.Config)) (*run, []sent) {
	t.Helper()
	l := clock.NewVirtual()
	var got []sent
	f := newFake(l, always(answer))
	f.started = func(r *target.Request) { got = append(got, sent{r.Seq, r.Intended}) }
	source := schedule.Warm(every(10*ms, n), 100, every(5*ms, 3))
	return prepare(t, l, source, f, edit).play(), got
}

func TestWarmUpOfATime(t *testing.T) {
	r, got := warm(t, 4, script{First: 100 * time.Millisecond, Tokens: 1}, func(c *dispatch.Config) { c.Warmup = 50 * time.Millisecond })
	var at []clock.Time
	for _, s := range got {
		at = append(at, s.At)
	}
	// The load goes on through the end of the warm-up: nothing waits for its answers.
	if diff := cmp.Diff([]clock.Time{10 * ms, 20 * ms, 30 * ms, 40 * ms, 55 * ms, 60 * ms, 65 * ms}, at); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if from, to := r.Window(); from != 50*ms || to != 65*ms {
		t.Errorf("the window goes from %v to %v", from, to)
	}
	if rate, ok := r.Offered(); !ok || rate != 200 {
		t.Errorf("offered %v, %v", rate, ok)
	}
	for i := range r.rows {
		row := &r.rows[i]
		if want := row.Seq >= schedule.FirstWarm; (row.Phase == record.Warmup) != want {
			t.Errorf("request %d is of phase %v", row.Seq, row.Phase)
		}
	}
	if c := r.Counts(); c.Scheduled != 7 || c.Completed() != 7 {
		t.Errorf("counts are %+v", c)
	}
}

// A warm-up of a number has ended before the window opens, however long it takes; the
// requests that count are the same as without it, from then on.
func TestWarmUpOfANumber(t *testing.T) {
	for name, c := range map[string]struct {
		n      int
		answer script
		opens  clock.Time
	}{
		"quick":         {2, quick, 27 * ms},
		"slow":          {2, script{First: time.Second, Tokens: 1}, 1020 * ms},
		"at once":       {2, script{}, 20 * ms},
		"failing":       {2, script{First: time.Millisecond, Status: 500}, 21 * ms},
		"one":           {1, quick, 17 * ms},
		"none":          {0, quick, 0},
		"one at a time": {1, script{First: 3 * time.Millisecond, Tokens: 1}, 13 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			r, got := warm(t, c.n, c.answer, func(c *dispatch.Config) { c.AwaitWarmup = true })
			if len(got) != c.n+3 {
				t.Fatalf("sent %v", got)
			}
			for i, s := range got[c.n:] {
				if want := c.opens + clock.Time(i+1)*5*ms; s.Seq != uint64(i) || s.At != want {
					t.Errorf("request %d was due at %v, want %v", s.Seq, s.At, want)
				}
			}
			if n, failed := r.Warmups(); n != int64(c.n) || (failed > 0) != (c.answer.Tokens == 0 && c.n > 0) {
				t.Errorf("%d warm-ups, %d failed", n, failed)
			}
			if from, to := r.Window(); from != c.opens || to != c.opens+15*ms {
				t.Errorf("the window goes from %v to %v", from, to)
			}
		})
	}
}

// An interrupt during the warm-up ends the run without a window.
func TestInterruptedWarmUp(t *testing.T) {
	l := clock.NewVirtual()
	r := prepare(t, l, schedule.Warm(every(10*ms, 2), 100, every(5*ms, 3)), newFake(l, always(script{First: time.Second, Tokens: 1})),
		func(c *dispatch.Config) { c.AwaitWarmup, c.Drain = true, 2*time.Second })
	l.At(25*ms, clock.RankControl, do(func(clock.Time) { r.Interrupt() }))
	r.play()
	if len(r.rows) != 2 || len(r.finished) != 1 {
		t.Errorf("%d rows, finished %v", len(r.rows), r.finished)
	}
	if from, _ := r.Window(); from.Known() {
		t.Errorf("a window opened at %v", from)
	}
}
