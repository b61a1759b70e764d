package engine

import "goodput/loadgen/clock"

// stepLog holds the ends of the last steps, numbered from 1, and what decodes
// were charged up to them. Sequences that get a token in every step need not
// keep instants of their own: theirs are a part of the log.
type stepLog struct {
	base int64 // steps before the first one held
	ends []clock.Time
	ns   []int64 // running total of the time of decodes, in nanoseconds
}

// firstLog is the capacity that a log starts with.
const firstLog = 256

// full reports whether add would have to grow the log.
func (l *stepLog) full() bool { return len(l.ends) == cap(l.ends) && len(l.ends) >= firstLog }

func (l *stepLog) add(end clock.Time, decode int64) {
	if l.ends == nil {
		l.ends, l.ns = make([]clock.Time, 0, firstLog), make([]int64, 0, firstLog)
	}
	if n := len(l.ns); n > 0 {
		decode += l.ns[n-1]
	}
	l.ends, l.ns = append(l.ends, end), append(l.ns, decode)
}

// end is when step n ended.
func (l *stepLog) end(n int64) clock.Time { return l.ends[n-l.base-1] }

// between is the time of decodes from the end of step n to that of step m.
func (l *stepLog) between(n, m int64) int64 { return l.ns[m-l.base-1] - l.ns[n-l.base-1] }

// view is the ends of steps n to m, valid until the next add or forget.
func (l *stepLog) view(n, m int64) []clock.Time { return l.ends[n-l.base-1 : m-l.base] }

// forget drops the steps before n, and makes room for more than are left.
func (l *stepLog) forget(n int64) {
	drop := int(min(max(0, n-l.base-1), int64(len(l.ends))))
	left := len(l.ends) - drop
	ends, ns := l.ends[:0], l.ns[:0]
	if 2*left > cap(ends) {
		ends, ns = make([]clock.Time, 0, 4*left), make([]int64, 0, 4*left)
	}
	l.ends, l.ns = append(ends, l.ends[drop:]...), append(ns, l.ns[drop:]...)
	l.base += int64(drop)
}
