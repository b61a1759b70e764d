package openai

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

func fakeAttempt(intended clock.Time) *attempt {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &attempt{req: &target.Request{Intended: intended}, ctx: ctx, cancel: cancel}
}

// Every live attempt is given up exactly at its deadline, whatever the order of
// starting and ending, and an ended attempt is not held.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const after = 100
		l := newLoop()
		var d deadlines
		d.init(l, target.CauseTotalTimeout, after)
		var live, over []*attempt
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch {
			case rapid.Bool().Draw(t, "start"):
				early := rapid.SampledFrom([]int{0, 0, 0, 30, 200}).Draw(t, "late by")
				a := fakeAttempt(l.now - clock.Time(early))
				d.add(&a.total, a)
				live = append(live, a)
			case len(live) > 0 && rapid.Bool().Draw(t, "end"):
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				d.remove(&live[i].total)
				over = append(over, live[i])
				live = append(live[:i], live[i+1:]...)
			}
			l.advance(l.now + clock.Time(rapid.IntRange(0, 60).Draw(t, "time")))
			kept := live[:0]
			for _, a := range live {
				due := a.req.Intended+after <= l.now
				if gone := a.ctx.Err() != nil; gone != due {
					t.Fatalf("at %v: intended %v, given up: %v", l.now, a.req.Intended, gone)
				}
				if !due {
					kept = append(kept, a)
				}
			}
			live = kept
		}
		for _, a := range over {
			if a.ctx.Err() != nil {
				t.Fatalf("an ended attempt was given up")
			}
		}
		n := 0
		for e := d.root.next; e != &d.root; e = e.next {
			n++
		}
		if n != len(live) {
			t.Fatalf("%d attempts are held, %d are live", n, len(live))
		}
	})
}

// However many attempts come and go in order, the loop holds one event.
func TestDeadlinesAreOneEventOfTheLoop(t *testing.T) {
	l := newLoop()
	var d deadlines
	d.init(l, target.CauseTotalTimeout, 6*time.Hour)
	for i := range 10_000 {
		a := fakeAttempt(clock.Time(i))
		d.add(&a.total, a)
		if i%3 != 0 {
			d.remove(&a.total)
		}
	}
	if len(l.timed) != 1 {
		t.Errorf("the loop holds %d events", len(l.timed))
	}
}
