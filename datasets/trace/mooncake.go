package trace

import (
	"errors"
	"io"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// mooncakeBlock is the tokens that one hash id stands for.
const mooncakeBlock = 512

// mooncake is a Mooncake trace in memory. Content is named by block: an id stands
// for the same block wherever it occurs, as in the original, where it names the
// block and all before it.
type mooncake struct {
	path string
	seed uint64
	arrivals
	in, out []int32
	ends    []int    // row i has blocks[ends[i-1]:ends[i]]
	blocks  []uint32 // indices into keys and shared
	keys    []uint64 // content key of each distinct id, in order of appearance
	shared  []bool   // whether more than one row has the id
}

var _ datasets.Set = (*mooncake)(nil)

func (m *mooncake) Len() int { return len(m.at) }

func (m *mooncake) Timed() bool { return true }

func (m *mooncake) String() string { return name(Mooncake, m.path, m.Len(), m.seed) }

// Item of a row whose first block occurs in other rows is of the group named by
// that block.
func (m *mooncake) Item(i int, dst *datasets.Item) {
	begin := 0
	if i > 0 {
		begin = m.ends[i-1]
	}
	blocks := m.blocks[begin:m.ends[i]]
	in := int(m.in[i])
	answer := rng.New(m.seed, "mooncake answer", uint64(i))
	*dst = datasets.Item{
		Prompt: dst.Prompt[:0],
		In:     in,
		Out:    int(m.out[i]),
		OutKey: answer.Uint64(),
		At:     m.at[i],
	}
	if m.shared[blocks[0]] {
		dst.Prefix = uint64(blocks[0]) + 1
	}
	for left := in; left > 0; left -= mooncakeBlock {
		b := blocks[0]
		blocks = blocks[1:]
		dst.Prompt = append(dst.Prompt, datasets.Span{
			Key:     m.keys[b],
			Tokens:  min(mooncakeBlock, left),
			Private: !m.shared[b],
		})
	}
}

func readMooncake(r io.Reader, path string, opts Options) (datasets.Set, error) {
	l := newLines(r, path)
	m := &mooncake{path: path, seed: opts.Seed}
	ids := idTable{index: map[int64]uint32{}}
	var row mooncakeRow
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = row.parse(l, line)
		}
		if err == nil && !m.add(row.timestamp*1e6) {
			err = l.errorf("timestamp", "found %d, which is before the previous row, expected rows in order of time", row.timestamp)
		}
		if err != nil {
			return nil, err
		}
		m.in = append(m.in, int32(row.in))
		m.out = append(m.out, int32(row.out))
		for _, id := range row.ids {
			m.blocks = append(m.blocks, ids.add(id, m.Len()))
		}
		m.ends = append(m.ends, len(m.blocks))
	}
	if m.Len() == 0 {
		return nil, l.empty()
	}
	m.keys, m.shared = ids.keys, ids.shared
	return m, nil
}

// idTable gives each distinct id an index, and finds those of several rows.
type idTable struct {
	index  map[int64]uint32
	keys   []uint64
	shared []bool
	row    []int // the row of the id's first occurrence
}

// add returns the index of an id found in the row.
func (t *idTable) add(id int64, row int) uint32 {
	i, ok := t.index[id]
	if !ok {
		i = uint32(len(t.keys))
		t.index[id] = i
		content := rng.New(0, "mooncake block", uint64(id))
		t.keys = append(t.keys, content.Uint64())
		t.shared = append(t.shared, false)
		t.row = append(t.row, row)
	}
	if t.row[i] != row {
		t.shared[i] = true
	}
	return i
}
