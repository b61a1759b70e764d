package shaper

import (
	"time"

	"goodput/loadgen/clock"
)

// deadline lets the request go on first whose deadline is next, which is slo after it was
// due (earliest deadline first). One whose deadline passes while it waits is refused:
// what it would take is of more use to others.
type deadline struct {
	named
	line
	slo time.Duration
}

var (
	_ Shaper = (*deadline)(nil)
	_ Waker  = (*deadline)(nil)
)

func deadlineEntry() entry {
	return entry{
		Info: Info{
			"deadline", "lets so many requests through, those with the next deadline first, and refuses those whose deadline has passed (llm-d flow control)",
			[]Param{inFlight(), queue(), {"slo", "2s", "time from the instant a request was due to its deadline"}},
		},
		build: func(a *args, _ uint64) Shaper {
			return &deadline{
				line: line{most: a.int("in-flight", 1, most), room: a.int("queue", 0, most)},
				slo:  a.duration("slo", time.Millisecond, 24*time.Hour), named: a.named(),
			}
		},
	}
}

// Offer implements Shaper.
func (d *deadline) Offer(r *Request, _ clock.Time) Decision {
	if !d.enter(r, int64(r.Due.Add(d.slo))) {
		return full(noRoom)
	}
	return Decision{Kind: Hold}
}

// Next implements Shaper.
func (d *deadline) Next(now clock.Time) (*Request, Decision, bool) {
	if len(d.wait) > 0 && d.wait[0].key < int64(now) {
		r := d.wait[0].r
		d.Cancel(r)
		return r, full("its deadline passed while it waited in front of the router"), true
	}
	r, ok := d.next()
	return r, Decision{}, ok
}

// Wake implements Waker.
func (d *deadline) Wake() clock.Time {
	if len(d.wait) == 0 {
		return clock.Never
	}
	return clock.Time(d.wait[0].key + 1)
}
