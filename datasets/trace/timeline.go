package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/rng"
)

// timeline is a choice of the entries of a trace, which are rows or sessions, with
// their instants.
type timeline struct {
	text   string
	what   string // name of an entry, in the plural
	timed  bool
	index  []int32         // of the chosen entries
	at     []time.Duration // since the first; not timed: empty
	period time.Duration   // between the starts of two repetitions
	n      int             // entries, repetitions among them
}

// newTimeline takes all of n entries, with their times if at is not empty.
func newTimeline(text, what string, n int, at []time.Duration) timeline {
	l := timeline{text: text, what: what, timed: len(at) > 0, index: make([]int32, n), at: slices.Clone(at), n: n}
	for i := range l.index {
		l.index[i] = int32(i)
	}
	return l
}

// Len is the number of entries.
func (l *timeline) Len() int { return l.n }

// Timed reports whether the entries have times.
func (l *timeline) Timed() bool { return l.timed }

// String names the trace and what was done to it.
func (l *timeline) String() string { return l.text }

// place returns the repetition that item i is of, and its entry.
func (l *timeline) place(i int) (loop, entry int) {
	return i / len(l.index), int(l.index[i%len(l.index)])
}

// At is the time of item i, counted from the first.
func (l *timeline) At(i int) time.Duration {
	return l.at[i%len(l.index)] + time.Duration(i/len(l.index))*l.period
}

// shiftOf moves the content keys of a repetition to others: an odd multiple of its
// number.
func shiftOf(loop int) uint64 { return uint64(loop) * 0x9e3779b97f4a7c15 }

func (l *timeline) shape(o Shaping) error {
	if err := l.slice(o.Slice); err != nil {
		return err
	}
	if !l.timed && (o.Jitter != 0 || o.Speed != 0 && o.Speed != 1) {
		return fmt.Errorf("the trace holds no times of %s that could be changed", l.what)
	}
	if o.Jitter < 0 || o.Speed < 0 || math.IsNaN(o.Speed) || math.IsInf(o.Speed, 0) {
		return fmt.Errorf("jitter %v, speed %v: neither can be negative or endless", o.Jitter, o.Speed)
	}
	if o.Jitter > 0 {
		l.jitter(o)
	}
	if o.Speed > 0 && o.Speed != 1 {
		l.text += fmt.Sprintf(", speed %v", o.Speed)
		for i, at := range l.at {
			scaled := float64(at) / o.Speed
			if scaled > 1<<62 {
				return fmt.Errorf("speed %v puts %s more than a century away", o.Speed, l.what)
			}
			l.at[i] = time.Duration(scaled)
		}
	}
	return l.repeat(o.Len)
}

// repeat sets the number of items.
func (l *timeline) repeat(n int) error {
	entries := len(l.index)
	if l.n = entries; n > 0 {
		l.n = n
	}
	if l.n <= entries {
		return nil
	}
	l.text += fmt.Sprintf(", repeated to %d", l.n)
	if !l.timed {
		return nil
	}
	span := l.at[entries-1]
	if span == 0 {
		return errors.New("the " + l.what + " are all at one instant: repeating them would put all repetitions there too")
	}
	l.period = span + span/time.Duration(entries-1)
	if loops := (l.n - 1) / entries; time.Duration(loops) > math.MaxInt64/2/l.period {
		return fmt.Errorf("%d repetitions would go on for more than a century", loops)
	}
	return nil
}

// slice picks entries.
func (l *timeline) slice(text string) error {
	from, to, err := l.bounds(text)
	if err != nil {
		return err
	}
	l.index = l.index[from:to]
	if l.timed {
		l.at = l.at[from:to]
		first := l.at[0]
		for i := range l.at {
			l.at[i] -= first
		}
	}
	if text != "" {
		l.text += ", slice " + text
	}
	return nil
}

// bounds are the entries that a slice's text means.
func (l *timeline) bounds(text string) (from, to int, err error) {
	n := len(l.index)
	if text == "" {
		return 0, n, nil
	}
	a, b, ok := strings.Cut(text, ":")
	if !ok || a == "" && b == "" {
		return 0, 0, fmt.Errorf("%q is no slice: write A:B, with durations such as 5m:10m or numbers of %s such as 0:1000", text, l.what)
	}
	from, okA := l.bound(a, 0)
	to, okB := l.bound(b, n)
	if !okA || !okB {
		what := "durations or numbers of " + l.what
		if !l.timed {
			what = "numbers of " + l.what + ", as the trace holds no times of them"
		}
		return 0, 0, fmt.Errorf("%q is no slice: use %s, none below 0", text, what)
	}
	if to = min(to, n); from >= to {
		return 0, 0, fmt.Errorf("%q holds none of the trace's %d %s", text, n, l.what)
	}
	return from, to, nil
}

// bound is the first entry at or after a bound.
func (l *timeline) bound(text string, absent int) (entry int, ok bool) {
	if text == "" {
		return absent, true
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || !l.timed {
		return 0, false
	}
	return sort.Search(len(l.at), func(i int) bool { return l.at[i] >= d }), true
}

// jitter delays entries and sorts them anew.
func (l *timeline) jitter(o Shaping) {
	l.text += fmt.Sprintf(", jitter uniform:%v", o.Jitter)
	draws := rng.Of(o.Seed, "trace jitter")
	order := make([]int, len(l.index))
	late := make([]time.Duration, len(l.index))
	for i, entry := range l.index {
		own := draws.Stream(uint64(entry))
		late[i] = l.at[i] + time.Duration(own.Float64()*float64(o.Jitter))
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(late[a], late[b]) })
	index := make([]int32, len(order))
	for i, from := range order {
		index[i] = l.index[from]
		l.at[i] = late[from] - late[order[0]]
	}
	l.index = index
}
