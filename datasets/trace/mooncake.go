package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// mooncakeBlock is the tokens that one hash id of a Mooncake trace stands for, and
// timedBlock that of vLLM's timed_trace.
const (
	mooncakeBlock = 512
	timedBlock    = 16
)

// mooncake reads rows of blocks that are named by ids. Content is named by block:
// an id stands for the same block wherever it occurs, as in the original, where it
// names the block and all before it.
type mooncake struct {
	l     *lines
	row   mooncakeRow
	keys  rng.Family
	ahead []byte // the first line, read to tell the dialects apart
}

// newMooncake tells the two dialects apart by the first row: rows of sessions have
// a session_id or a delay, and then input_length counts only new tokens.
func newMooncake(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	first, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, l.empty()
	}
	if err != nil {
		return nil, err
	}
	first = bytes.Clone(first)
	if bytes.Contains(first, []byte(`"session_id"`)) || bytes.Contains(first, []byte(`"delay"`)) {
		return newMooncakeSessions(l, first), nil
	}
	return &mooncake{l: l, row: mooncakeRow{block: mooncakeBlock, unit: 1e6, names: mooncakeFields}, keys: rng.Of(0, "mooncake block"), ahead: first}, nil
}

func newTimedTrace(r io.Reader, path string, o Options) (source, error) {
	row := mooncakeRow{block: timedBlock, unit: 1e9, fractions: true, names: o.timedNames()}
	for i, name := range row.names {
		if slices.Contains(row.names[:i], name) {
			return nil, fmt.Errorf("two fields of a timed trace are called %s: give each a name of its own", name)
		}
	}
	if o.TimedBlock > 0 {
		row.block = int64(o.TimedBlock)
	}
	if o.TimedUnit != 0 {
		row.unit = int64(math.Round(1e9 * o.TimedUnit))
	}
	if row.unit < 1 || row.unit > 1e13 {
		return nil, fmt.Errorf("a timestamp of %v seconds is outside a nanosecond to ten thousand seconds", o.TimedUnit)
	}
	return &mooncake{l: newLines(r, path), row: row, keys: rng.Of(0, "timed_trace block")}, nil
}

func (m *mooncake) traits() Traits {
	return Traits{Timed: true, Recorded: true, Ordered: true, Identified: true, Chained: true, Block: int(m.row.block)}
}

func (m *mooncake) next(r *Row) error {
	line := m.ahead
	if m.ahead = nil; line == nil {
		var err error
		if line, err = m.l.next(); err != nil {
			return err
		}
	}
	if err := m.row.parse(m.l, line); err != nil {
		return err
	}
	r.alone()
	r.Line, r.At = m.l.n, m.row.timestamp
	r.In, r.Out = int(m.row.in), int(m.row.out)
	r.Append = blocks(r.Append, m.keys, m.row.ids, int(m.row.block), r.In)
	return nil
}

// blocks appends one span for each id, of block tokens but for the last one, which
// holds what is left of in.
func blocks(dst []datasets.Span, keys rng.Family, ids []int64, block, in int) []datasets.Span {
	for _, id := range ids {
		content := keys.Stream(uint64(id))
		dst = append(dst, datasets.Span{Key: content.Uint64(), Tokens: min(block, in)})
		in -= block
	}
	return dst
}
