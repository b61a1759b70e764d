package record

import "encoding/binary"

// levels encodes the definition or repetition levels of a page as runs of equal
// levels (Parquet's RLE hybrid, without its bit-packed form). A list costs a few
// bytes however long it is, and a column without nulls costs three in all.
type levels struct {
	b    []byte
	n    uint64 // length of the run that is open
	last byte   // its level
}

// add appends n times level.
func (l *levels) add(level byte, n int) {
	if level != l.last {
		l.close()
		l.last = level
	}
	l.n += uint64(n)
}

func (l *levels) close() {
	if l.n > 0 {
		l.b = append(binary.AppendUvarint(l.b, l.n<<1), l.last)
		l.n = 0
	}
}

// bytes are the levels so far.
func (l *levels) bytes() []byte {
	l.close()
	return l.b
}

func (l *levels) reset() { l.b, l.n = l.b[:0], 0 }
