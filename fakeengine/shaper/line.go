package shaper

import (
	"slices"

	"goodput/loadgen/clock"
)

// place is a request in a line, with what orders it: smaller keys first, and equals as
// they came.
type place struct {
	r   *Request
	key int64
}

// line is a bounded queue before a number of places. The first in line goes on when a
// place is free.
type line struct {
	most, room int // requests behind it, and in line
	used       int
	wait       []place
	out        []*Request // were in line, and are to be refused
}

// enter puts r in line; false: there is no room.
func (l *line) enter(r *Request, key int64) bool {
	if len(l.wait) >= l.room && l.used >= l.most {
		return false
	}
	at, _ := slices.BinarySearchFunc(l.wait, key, func(p place, key int64) int {
		if p.key <= key {
			return -1
		}
		return 1
	})
	l.wait = slices.Insert(l.wait, at, place{r, key})
	return true
}

// next takes the first one whose turn it is.
func (l *line) next() (*Request, bool) {
	if l.used >= l.most || len(l.wait) == 0 {
		return nil, false
	}
	r := l.wait[0].r
	l.wait = slices.Delete(l.wait, 0, 1)
	l.used++
	return r, true
}

// refused takes one that is to be refused.
func (l *line) refused() (*Request, bool) {
	if len(l.out) == 0 {
		return nil, false
	}
	r := l.out[0]
	l.out = slices.Delete(l.out, 0, 1)
	return r, true
}

// Done implements Shaper.
func (l *line) Done(*Request, clock.Time) { l.used-- }

// Cancel implements Shaper.
func (l *line) Cancel(r *Request) {
	l.wait = slices.DeleteFunc(l.wait, func(p place) bool { return p.r == r })
	l.out = slices.DeleteFunc(l.out, func(o *Request) bool { return o == r })
}
