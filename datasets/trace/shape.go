package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// Shaping changes how a trace is replayed, in the order of the fields.
type Shaping struct {
	// Slice picks rows: "A:B" with two durations since the first row, or with two
	// row numbers from 0; A is included, B is not, and either may be left out. "":
	// all rows.
	Slice string
	// Jitter delays each row by a time drawn uniformly below it, to spread rows
	// whose times were rounded down; 0: none.
	Jitter time.Duration
	// Speed divides all times; 0 and 1 leave them.
	Speed float64
	// Len is the number of items, for which the rows are repeated as often as needed,
	// one mean gap after the last; 0: each row once. A repeated row has content of
	// its own, shared within its repetition as the rows share theirs.
	Len  int
	Seed uint64
}

// Shaped is a trace, shaped.
type Shaped struct {
	base   *Table
	text   string
	rows   []int32
	at     []time.Duration
	period time.Duration // between the starts of two repetitions
	n      int
}

var _ datasets.Set = (*Shaped)(nil)

// Shape applies o to t. It fails for a slice without rows, and for what needs times
// where there are none.
func Shape(t *Table, o Shaping) (*Shaped, error) {
	s := &Shaped{base: t, text: t.String()}
	if err := s.slice(o.Slice); err != nil {
		return nil, err
	}
	if !t.Timed() && (o.Jitter != 0 || o.Speed != 0 && o.Speed != 1) {
		return nil, errors.New("the trace holds no times that could be changed")
	}
	if o.Jitter < 0 || o.Speed < 0 || math.IsNaN(o.Speed) || math.IsInf(o.Speed, 0) {
		return nil, fmt.Errorf("jitter %v, speed %v: neither can be negative or endless", o.Jitter, o.Speed)
	}
	if o.Jitter > 0 {
		s.jitter(o)
	}
	if o.Speed > 0 && o.Speed != 1 {
		s.text += fmt.Sprintf(", speed %v", o.Speed)
		for i, at := range s.at {
			scaled := float64(at) / o.Speed
			if scaled > 1<<62 {
				return nil, fmt.Errorf("speed %v puts rows more than a century away", o.Speed)
			}
			s.at[i] = time.Duration(scaled)
		}
	}
	return s, s.repeat(o.Len)
}

// repeat sets the number of items.
func (s *Shaped) repeat(n int) error {
	rows := len(s.rows)
	if s.n = rows; n > 0 {
		s.n = n
	}
	if s.n <= rows || !s.base.Timed() {
		return nil
	}
	span := s.at[rows-1]
	if span == 0 {
		return errors.New("the rows are all at one instant: repeating them would put all repetitions there too")
	}
	s.period = span + span/time.Duration(rows-1)
	if loops := (s.n - 1) / rows; time.Duration(loops) > math.MaxInt64/2/s.period {
		return fmt.Errorf("%d repetitions would go on for more than a century", loops)
	}
	s.text += fmt.Sprintf(", repeated to %d", s.n)
	return nil
}

// slice picks rows.
func (s *Shaped) slice(text string) error {
	from, to, err := s.bounds(text)
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		s.rows = append(s.rows, int32(i))
		if s.base.Timed() {
			s.at = append(s.at, s.base.at[i]-s.base.at[from])
		}
	}
	if text != "" {
		s.text += ", slice " + text
	}
	return nil
}

// bounds are the rows that a slice's text means.
func (s *Shaped) bounds(text string) (from, to int, err error) {
	n := s.base.Len()
	if text == "" {
		return 0, n, nil
	}
	a, b, ok := strings.Cut(text, ":")
	if !ok || a == "" && b == "" {
		return 0, 0, fmt.Errorf("%q is no slice: write A:B, with durations such as 5m:10m or row numbers such as 0:1000", text)
	}
	from, okA := s.bound(a, 0)
	to, okB := s.bound(b, n)
	if !okA || !okB {
		what := "durations or row numbers"
		if !s.base.Timed() {
			what = "row numbers, as the trace holds no times"
		}
		return 0, 0, fmt.Errorf("%q is no slice: use %s, none below 0", text, what)
	}
	if to = min(to, n); from >= to {
		return 0, 0, fmt.Errorf("%q holds none of the trace's %d rows", text, n)
	}
	return from, to, nil
}

// bound is the first row at or after a bound.
func (s *Shaped) bound(text string, absent int) (row int, ok bool) {
	if text == "" {
		return absent, true
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || !s.base.Timed() {
		return 0, false
	}
	return sort.Search(s.base.Len(), func(i int) bool { return s.base.at[i] >= d }), true
}

// jitter delays rows and sorts them anew.
func (s *Shaped) jitter(o Shaping) {
	s.text += fmt.Sprintf(", jitter uniform:%v", o.Jitter)
	draws := rng.Of(o.Seed, "trace jitter")
	order := make([]int, len(s.rows))
	late := make([]time.Duration, len(s.rows))
	for i, row := range s.rows {
		own := draws.Stream(uint64(row))
		late[i] = s.at[i] + time.Duration(own.Float64()*float64(o.Jitter))
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(max(-1, min(1, late[a]-late[b]))) })
	rows := make([]int32, len(order))
	for i, from := range order {
		rows[i] = s.rows[from]
		s.at[i] = late[from] - late[order[0]]
	}
	s.rows = rows
}

// Len is the number of items.
func (s *Shaped) Len() int { return s.n }

// Timed reports whether the trace has times.
func (s *Shaped) Timed() bool { return s.base.Timed() }

func (s *Shaped) String() string { return s.text }

// PrefixesUnknown is that of the trace.
func (s *Shaped) PrefixesUnknown() bool { return s.base.PrefixesUnknown() }

// Trace is what is shaped.
func (s *Shaped) Trace() *Table { return s.base }

// Item fills dst with item i.
func (s *Shaped) Item(i int, dst *datasets.Item) {
	loop, j := i/len(s.rows), i%len(s.rows)
	s.base.Item(int(s.rows[j]), dst)
	if s.base.Timed() {
		dst.At = s.at[j] + time.Duration(loop)*s.period
	}
	if loop == 0 {
		return
	}
	// An odd multiple of the loop's number moves each key to another place.
	shift := uint64(loop) * 0x9e3779b97f4a7c15
	for k := range dst.Prompt {
		dst.Prompt[k].Key += shift
	}
	dst.OutKey += shift
	if dst.Prefix != 0 {
		dst.Prefix = (dst.Prefix + shift) | 1
	}
	if dst.Session != 0 {
		dst.Session += uint64(loop) * uint64(s.base.Sessions())
	}
}
