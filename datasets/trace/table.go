package trace

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"time"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// Table is a trace in memory. It is immutable and safe for concurrent use.
//
// Content that the file does not identify is drawn by the row's number; a span
// that more than one row holds is not Private, whether the rows name it or keep it.
type Table struct {
	format  Format
	path    string
	seed    uint64
	traits  Traits
	skipped Skipped

	at      []time.Duration // since the first; empty: not timed
	in, out []int32
	ends    []int    // row i has spans[ends[i-1]:ends[i]]; none: unidentified
	spans   []uint32 // indices into keys and shared
	tokens  []int32  // of each span
	keys    []uint64 // content key of each distinct span, in order of appearance
	shared  []bool   // whether more than one row has the key

	threads *threads     // nil: no row belongs to a session
	planned *plannedRows // nil: rows are not planned

	rows, answers, starts rng.Family
}

var (
	_ datasets.Set        = (*Table)(nil)
	_ datasets.SessionSet = (*Table)(nil)
)

// Len is the number of rows.
func (t *Table) Len() int { return len(t.in) }

// Timed reports whether rows have times.
func (t *Table) Timed() bool { return t.traits.Timed }

func (t *Table) String() string { return name(t.format, t.path, t.Len(), t.seed) }

// PrefixesUnknown reports that the format does not say which prompts begin alike.
func (t *Table) PrefixesUnknown() bool { return !t.traits.Identified }

// Traits are those of the file, and Skipped counts what was left out of it.
func (t *Table) Traits() Traits { return t.traits }

// Skipped counts the rows that were left out.
func (t *Table) Skipped() Skipped { return t.skipped }

// Item fills dst with row i. A row whose first span occurs in other rows is of the
// group named by that span.
func (t *Table) Item(i int, dst *datasets.Item) {
	*dst = datasets.Item{Prompt: dst.Prompt[:0], In: int(t.in[i]), Out: int(t.out[i]), OutKey: t.outKey(i)}
	if t.traits.Timed {
		dst.At = t.at[i]
	}
	if t.threads != nil {
		dst.Session, dst.Turn = t.threads.place(i)
	}
	dst.Prompt = t.prompt(dst.Prompt, i, dst.In)
	if t.planned != nil && dst.Session == 0 {
		t.planned.place(i, dst)
		return
	}
	if !dst.Prompt[0].Private {
		dst.Prefix = t.group(i)
	}
}

// conversations is the largest number of a session in an item.
func (t *Table) conversations() uint64 {
	if t.planned != nil && t.planned.last > 0 {
		return t.planned.last
	}
	return uint64(t.Sessions())
}

// group names the leading span of row i's prompt.
func (t *Table) group(i int) uint64 {
	for t.keep(i) > 0 && t.threads.prev[i] >= 0 {
		i = int(t.threads.prev[i])
	}
	if begin, end := t.span(i); t.keep(i) == 0 && end > begin {
		return uint64(t.spans[begin]) + 1
	}
	return 1<<32 + uint64(i)
}

func (t *Table) span(i int) (begin, end int) {
	if i > 0 {
		begin = t.ends[i-1]
	}
	return begin, t.ends[i]
}

func (t *Table) outKey(i int) uint64 {
	if t.planned != nil {
		return t.planned.outKeys[i]
	}
	if begin, end := t.span(i); begin == end {
		own := t.rows.Stream(uint64(i))
		own.Uint64()
		return own.Uint64()
	}
	answer := t.answers.Stream(uint64(i))
	return answer.Uint64()
}

// prompt appends the first limit tokens of row i's prompt.
func (t *Table) prompt(dst []datasets.Span, i, limit int) []datasets.Span {
	kept := t.keep(i)
	if kept > 0 {
		dst = t.before(dst, i, min(kept, limit))
	}
	if limit > kept {
		dst = t.own(dst, i, limit-kept)
	}
	return dst
}

// before appends the first limit tokens of what row i keeps.
func (t *Table) before(dst []datasets.Span, i, limit int) []datasets.Span {
	prev := int(t.threads.prev[i])
	if prev < 0 {
		start := t.starts.Stream(uint64(i))
		return append(dst, datasets.Span{Key: start.Uint64(), Tokens: limit})
	}
	in := int(t.in[prev])
	dst = t.prompt(dst, prev, min(limit, in))
	if limit > in {
		dst = append(dst, datasets.Span{Key: t.outKey(prev), Tokens: limit - in, Role: datasets.Assistant})
	}
	return dst
}

// own appends the first limit tokens of what row i adds.
func (t *Table) own(dst []datasets.Span, i, limit int) []datasets.Span {
	begin, end := t.span(i)
	if begin == end {
		stream := t.rows.Stream(uint64(i))
		return append(dst, datasets.Span{Key: stream.Uint64(), Tokens: limit, Private: t.threads == nil || !t.threads.kept[i], Role: t.speaker(i)})
	}
	for j := begin; j < end && limit > 0; j++ {
		n := min(int(t.tokens[j]), limit)
		limit -= n
		s := datasets.Span{Key: t.keys[t.spans[j]], Tokens: n, Private: !t.shared[t.spans[j]], Role: t.speaker(i)}
		if t.planned != nil {
			t.planned.span(j, &s)
		}
		dst = append(dst, s)
	}
	return dst
}

// speaker is who says what row i adds.
func (t *Table) speaker(i int) datasets.Role {
	if t.threads != nil && t.keep(i) > 0 {
		if by := t.threads.trigger[i]; by == datasets.ByTool || by == datasets.ByJoin {
			return datasets.Tool
		}
	}
	return datasets.User
}

func (t *Table) keep(i int) int {
	if t.threads == nil {
		return 0
	}
	return int(t.threads.keep[i])
}

// load reads all rows of d.
func load(d *Reader, opts Options) (*Table, error) {
	t := &Table{format: d.format, path: d.path, seed: opts.Seed}
	t.rows = rng.Of(opts.Seed, string(d.format)+" row")
	t.answers = rng.Of(opts.Seed, string(d.format)+" answer")
	t.starts = rng.Of(opts.Seed, string(d.format)+" start")
	ids := keyTable{index: map[uint64]uint32{}}
	var times []int64
	var row Row
	var err error
	b := newThreadBuilder(d.path)
	for {
		err = d.Next(&row)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(t.in) == math.MaxInt32 {
			err = fmt.Errorf("%s: more than %d rows: cut the file", d.path, math.MaxInt32)
		}
		i := len(t.in)
		if err == nil && i == 0 && d.Traits().Planned {
			t.planned = &plannedRows{}
		}
		if err == nil {
			err = b.add(&row, i, t)
		}
		if err != nil {
			return nil, err
		}
		times = append(times, row.At)
		t.in = append(t.in, int32(row.In))
		t.out = append(t.out, int32(row.Out))
		for _, s := range row.Append {
			t.spans = append(t.spans, ids.add(s.Key, i))
			t.tokens = append(t.tokens, int32(s.Tokens))
		}
		t.ends = append(t.ends, len(t.spans))
		if t.planned != nil {
			t.planned.add(&row)
		}
	}
	t.traits, t.skipped = d.Traits(), d.Skipped()
	t.keys, t.shared = ids.keys, ids.shared
	if t.threads, err = b.finish(t); err != nil {
		return nil, err
	}
	if t.traits.Timed {
		t.sort(times)
	}
	return t, nil
}

// sort puts the rows in order of time, counted from the first. Rows of one time
// stay in the order of the file.
func (t *Table) sort(times []int64) {
	if t.threads != nil && !t.traits.Recorded {
		t.threads.planned(times)
	}
	order := make([]int, len(times))
	for i := range order {
		order[i] = i
	}
	byTime := func(a, b int) bool { return times[order[a]] < times[order[b]] }
	if !sort.SliceIsSorted(order, byTime) {
		sort.SliceStable(order, byTime)
		t.reorder(order)
	}
	t.at = make([]time.Duration, len(times))
	for i, from := range order {
		t.at[i] = time.Duration(times[from] - times[order[0]])
	}
	if t.threads != nil {
		t.threads.orderSessions(t.arrival)
	}
}

// reorder moves row order[i] to place i.
func (t *Table) reorder(order []int) {
	in, out, ends := make([]int32, len(order)), make([]int32, len(order)), make([]int, len(order))
	spans, tokens := make([]uint32, 0, len(t.spans)), make([]int32, 0, len(t.tokens))
	for i, from := range order {
		in[i], out[i] = t.in[from], t.out[from]
		begin, end := t.span(from)
		spans = append(spans, t.spans[begin:end]...)
		tokens = append(tokens, t.tokens[begin:end]...)
		ends[i] = len(spans)
	}
	if t.planned != nil {
		t.planned.reorder(order, t.span)
	}
	t.in, t.out, t.ends, t.spans, t.tokens = in, out, ends, spans, tokens
	if t.threads != nil {
		t.threads.reorder(order)
	}
}

// keyTable gives each distinct key an index, and finds those of several rows.
type keyTable struct {
	index  map[uint64]uint32
	keys   []uint64
	shared []bool
	row    []int32 // the row of the key's first occurrence
}

// add returns the index of a key found in the row.
func (k *keyTable) add(key uint64, row int) uint32 {
	i, ok := k.index[key]
	if !ok {
		i = uint32(len(k.keys))
		k.index[key] = i
		k.keys = append(k.keys, key)
		k.shared = append(k.shared, false)
		k.row = append(k.row, int32(row))
	}
	if k.row[i] != int32(row) {
		k.shared[i] = true
	}
	return i
}
