package record

import (
	"encoding/binary"
	"slices"
)

// zipper makes a Snappy block of the plain values of a page, from the timelines
// that say what is equal to what. It neither searches nor puts the values
// together: it costs as much as it writes. The format is that of Snappy's
// format description: literals, and copies of 1 to 64 bytes from before.
type zipper struct {
	out []byte // elements
	lit []byte // a literal that may go on
	n   int    // values of the page so far
	own int    // of them, those in literals
}

const valueBytes = 4

// row appends a row, whose gaps are placed in the timelines.
func (z *zipper) row(gaps []int32, where []stretch) {
	for _, s := range where {
		if s.line == nil {
			z.literal(gaps[:s.n])
		} else {
			z.steps(gaps[:s.n], s)
		}
		gaps = gaps[s.n:]
	}
}

// steps appends gaps that are steps, as copies of rows of the page as far as
// those go.
func (z *zipper) steps(gaps []int32, s stretch) {
	line, at, pos := s.line, s.at, z.n
	for i := -1; len(gaps) > 0; {
		// The latest row that has the step, or, if none has, the next that there is.
		j := len(line.shown) - 1
		for j > i && line.shown[j].at > at {
			j--
		}
		if i = max(j, i+1); i == len(line.shown) {
			break
		}
		from := &line.shown[i]
		if n := min(from.at-at, len(gaps)); n > 0 {
			z.literal(gaps[:n])
			at, gaps = at+n, gaps[n:]
		}
		if n := min(from.at+from.n-at, len(gaps)); n > 0 {
			z.copy(from.pos+at-from.at, n)
			at, gaps = at+n, gaps[n:]
		}
	}
	z.literal(gaps)
	// Rows within this one are of no more use.
	k := len(line.shown)
	for k > 0 && line.shown[k-1].at >= s.at && line.shown[k-1].at+line.shown[k-1].n <= s.at+s.n {
		k--
	}
	line.shown = append(line.shown[:k], shown{s.at, s.n, pos})
}

// literal appends values as they are.
func (z *zipper) literal(values []int32) {
	was := len(z.lit)
	z.lit = slices.Grow(z.lit, valueBytes*len(values))[:was+valueBytes*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint32(z.lit[was+valueBytes*i:], uint32(v))
	}
	z.n += len(values)
	z.own += len(values)
}

// copy appends n values that the page has from pos.
func (z *zipper) copy(pos, n int) {
	z.flush()
	offset, left := (z.n-pos)*valueBytes, n*valueBytes
	for left > 0 {
		length := min(left, 64)
		tag := byte(length-1) << 2
		if offset < 1<<16 {
			z.out = append(z.out, tag|2, byte(offset), byte(offset>>8))
		} else {
			z.out = binary.LittleEndian.AppendUint32(append(z.out, tag|3), uint32(offset))
		}
		left -= length
	}
	z.n += n
}

// flush ends the literal.
func (z *zipper) flush() {
	n := len(z.lit) - 1
	switch {
	case n < 0:
		return
	case n < 60:
		z.out = append(z.out, byte(n)<<2)
	case n < 1<<8:
		z.out = append(z.out, 60<<2, byte(n))
	case n < 1<<16:
		z.out = append(z.out, 61<<2, byte(n), byte(n>>8))
	default:
		z.out = binary.LittleEndian.AppendUint32(append(z.out, 63<<2), uint32(n))
	}
	z.out = append(z.out, z.lit...)
	z.lit = z.lit[:0]
}

// block appends the block to dst.
func (z *zipper) block(dst []byte) []byte {
	z.flush()
	dst = binary.AppendUvarint(dst, uint64(z.n*valueBytes))
	return append(dst, z.out...)
}

func (z *zipper) reset() { z.out, z.lit, z.n, z.own = z.out[:0], z.lit[:0], 0, 0 }
