package record

import "goodput/loadgen/clock"

// timeline is what rows say of the steps of one server: when each ended, and how
// long after the one before, in the microseconds of token_gaps_us. Requests that
// run at the same time take part in the same steps, so that the gaps of most rows
// are a stretch of the timeline but for the few steps since the last row. Storing
// and counting them costs as much as those.
//
// Steps are numbered in the order in which rows tell of them. Nothing depends on
// the order of rows or on their times being sensible: a row whose gaps are not
// those of the steps keeps its own.
type timeline struct {
	base int     // number of the first step that is kept
	end  []int64 // of each step, in microseconds
	gap  []int32

	// uses has, at each step and behind the last, by how much more rows are to be
	// counted than at the step before. Only those in [from, to] are not 0.
	uses     []int32
	from, to int

	// shown are rows of the page that is being written, by the last of their steps;
	// the later of two that share a step is enough.
	shown []shown
}

// shown is a row in a page: its steps from at, n of them, are the values of the
// page from pos.
type shown struct{ at, n, pos int }

// stretch is a part of a row's gaps: n steps of line from number at, or, if line
// is nil, n gaps of the row's own.
type stretch struct {
	line  *timeline
	at, n int
}

// timelines has one timeline for each server.
type timelines struct {
	of      map[string]*timeline
	all     []*timeline
	longest int // gaps of a row so far
	// counter takes what is to be counted of steps before they are forgotten. nil:
	// nothing is.
	counter func(us int32, n int64)

	rows      [][]stretch // the places of each row that was placed last
	stretches []stretch
	row       []stretch
}

// maxTimelines bounds the memory if each row names another server.
const maxTimelines = 1 << 12

func newTimelines() *timelines { return &timelines{of: map[string]*timeline{}} }

// place finds the gaps of each of rows in the timelines, and adds what is new to
// them. The result, rows, is valid until the next call.
func (l *timelines) place(rows []Request) {
	l.trim()
	l.stretches, l.rows = l.stretches[:0], l.rows[:0]
	for i := range rows {
		r := &rows[i]
		n := len(l.stretches)
		if line := l.line(r.Replica); line != nil && r.FirstToken.Known() {
			l.row = line.place(l.row[:0], roundMicros(r.FirstToken), r.TokenGapsUS)
			l.stretches = append(l.stretches, l.row...)
		} else if len(r.TokenGapsUS) > 0 {
			l.stretches = append(l.stretches, stretch{n: len(r.TokenGapsUS)})
		}
		l.longest = max(l.longest, len(r.TokenGapsUS))
		l.rows = append(l.rows, l.stretches[n:len(l.stretches):len(l.stretches)])
	}
}

func (l *timelines) line(server string) *timeline {
	line, ok := l.of[server]
	if !ok && len(l.all) < maxTimelines {
		line = &timeline{uses: []int32{0}}
		l.of[server] = line
		l.all = append(l.all, line)
	}
	return line
}

// trim forgets old steps, once there are many more than a row has.
func (l *timelines) trim() {
	keep := 2*l.longest + 1024
	for _, line := range l.all {
		if len(line.gap) > 2*keep {
			line.count(l.counter)
			line.forget(len(line.gap) - keep)
		}
	}
}

// turn begins another page.
func (l *timelines) turn() {
	for _, line := range l.all {
		line.shown = line.shown[:0]
	}
}

// roundMicros rounds to the nearest microsecond, as the gaps are.
func roundMicros(t clock.Time) int64 { return (int64(t) + 500) / 1000 }

// begin is when the step at index i began.
func (t *timeline) begin(i int) int64 { return t.end[i] - int64(t.gap[i]) }

// place appends to dst where the gaps are, of which the first begins at the
// instant at.
func (t *timeline) place(dst []stretch, at int64, gaps []int32) []stretch {
	i := t.find(at)
	for len(gaps) > 0 {
		for i < len(t.gap) && t.begin(i) < at {
			i++
		}
		switch last := len(t.gap) - 1; {
		case i <= last && t.begin(i) == at:
			n := common(t.gap[i:], gaps)
			if n == 0 {
				break
			}
			dst = join(dst, stretch{t, t.base + i, n})
			i += n
			at, gaps = t.end[i-1], gaps[n:]
			if i > last && len(gaps) > 0 {
				return t.extend(dst, at, gaps)
			}
			continue
		case last < 0 || i > last && at >= t.end[last]:
			return t.extend(dst, at, gaps)
		}
		dst = join(dst, stretch{n: 1})
		at, gaps = at+int64(gaps[0]), gaps[1:]
	}
	return dst
}

// extend adds gaps to the end.
func (t *timeline) extend(dst []stretch, at int64, gaps []int32) []stretch {
	dst = join(dst, stretch{t, t.base + len(t.gap), len(gaps)})
	for _, g := range gaps {
		at += int64(g)
		t.end = append(t.end, at)
		t.uses = append(t.uses, 0)
	}
	t.gap = append(t.gap, gaps...)
	return dst
}

// join appends s to dst, in one with the last if it goes on from there.
func join(dst []stretch, s stretch) []stretch {
	if n := len(dst) - 1; n >= 0 && dst[n].line == s.line && (s.line == nil || dst[n].at+dst[n].n == s.at) {
		dst[n].n += s.n
		return dst
	}
	return append(dst, s)
}

// find is the index of the first step that begins at the given instant or later.
// It is near the end, where rows that end now have their gaps.
func (t *timeline) find(at int64) int {
	low, high := len(t.gap), len(t.gap)
	for step := 32; low > 0 && t.begin(low-1) >= at; step *= 2 {
		high = low - 1
		low = max(0, low-step)
		if t.begin(low) < at {
			break
		}
	}
	for low < high {
		if mid := (low + high) / 2; t.begin(mid) < at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// common is how many numbers a and b begin with that are the same.
func common(a, b []int32) int {
	const block = 64 // compared as one piece of memory
	n, i := min(len(a), len(b)), 0
	for i+block <= n && *(*[block]int32)(a[i:]) == *(*[block]int32)(b[i:]) {
		i += block
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// use has n steps from number at counted once more.
func (t *timeline) use(at, n int) {
	at -= t.base
	if t.from == t.to {
		t.from, t.to = at, at+n
	}
	t.from, t.to = min(t.from, at), max(t.to, at+n)
	t.uses[at]++
	t.uses[at+n]--
}

// count counts what is to be counted, and then nothing is.
func (t *timeline) count(f func(us int32, n int64)) {
	n := int64(0)
	for i := t.from; i < t.to; i++ {
		n += int64(t.uses[i])
		t.uses[i] = 0
		if n > 0 {
			f(t.gap[i], n)
		}
	}
	t.uses[t.to] = 0
	t.from, t.to = 0, 0
}

// forget drops the first n steps, of which nothing is to be counted.
func (t *timeline) forget(n int) {
	t.base += n
	t.end = append(t.end[:0], t.end[n:]...)
	t.gap = append(t.gap[:0], t.gap[n:]...)
	t.uses = t.uses[:len(t.gap)+1]
}
