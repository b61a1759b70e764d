package clock

import (
	"testing"

	"pgregory.net/rapid"
)

// watched is a thing with a deadline.
type watched struct {
	place Deadline
	due   Time
	told  bool
}

func (w *watched) Expire(uint64) { w.told = true }

// call is a function as an event.
type call func()

func (c call) Fire(Time)      { c() }
func (c call) Entity() uint64 { return 0 }

// advance runs f at each of the instants, after the deadlines of the same one.
func advance(l *Virtual, instants []Time, f func(i int)) {
	for i, at := range instants {
		l.At(at, RankSample, call(func() { f(i) }))
	}
	l.Run()
}

// Everything is told exactly at its deadline, whatever the order of adding and
// removing, and what was removed is neither told nor held.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewVirtual()
		var d Deadlines
		d.Init(l, 3)
		var live, over []*watched
		now := Time(1000)
		instants := make([]Time, rapid.IntRange(1, 60).Draw(t, "steps"))
		for i := range instants {
			now += Time(rapid.IntRange(0, 60).Draw(t, "time"))
			instants[i] = now
		}
		advance(l, instants, func(i int) {
			now := instants[i]
			kept := live[:0]
			for _, w := range live {
				if due := w.due <= now; w.told != due {
					t.Fatalf("at %v: due %v, told: %v", now, w.due, w.told)
				}
				if !w.told {
					kept = append(kept, w)
				}
			}
			live = kept
			switch {
			case rapid.Bool().Draw(t, "add"):
				// Late ones are due before others, or have been already.
				w := &watched{due: now + Time(rapid.SampledFrom([]int{100, 100, 100, 70, -100}).Draw(t, "in"))}
				d.Add(&w.place, w.due, w)
				if w.due > now {
					live = append(live, w)
				}
			case len(live) > 0 && rapid.Bool().Draw(t, "remove"):
				i := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				d.Remove(&live[i].place)
				d.Remove(&live[i].place) // a second time changes nothing
				over = append(over, live[i])
				live = append(live[:i], live[i+1:]...)
			}
		})
		for _, w := range over {
			if w.told {
				t.Fatalf("a removed one was told")
			}
		}
		if !d.Empty() {
			t.Fatal("the loop has run out of events, and some are still watched")
		}
	})
}

// However many come and go in order, the loop holds one event.
func TestDeadlinesAreOneEventOfTheLoop(t *testing.T) {
	l := NewVirtual()
	var d Deadlines
	d.Init(l, 0)
	for i := range 10_000 {
		w := &watched{}
		d.Add(&w.place, Time(1e15+i), w)
		if i%3 != 0 {
			d.Remove(&w.place)
		}
	}
	n := 0
	for t := d.root.next; t != &d.root; t = t.next {
		n++
	}
	if events := len(l.queue.items); events != 1 || n != 3334 {
		t.Errorf("the loop holds %d events for %d deadlines", events, n)
	}
}
