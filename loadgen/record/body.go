package record

// body holds the encoded pages of a chunk in blocks, which stay where they are when
// it grows, and are used again when it is empty.
type body struct {
	blocks [][]byte
	cur    int // the block that is being filled; those behind it are empty
	n      int // bytes in all
}

const bodyBlock = 1 << 17 // bytes

// add appends b.
func (s *body) add(b []byte) {
	s.n += len(b)
	for len(b) > 0 {
		if s.cur == len(s.blocks) {
			s.blocks = append(s.blocks, make([]byte, 0, bodyBlock))
		}
		block := &s.blocks[s.cur]
		n := min(len(b), cap(*block)-len(*block))
		*block = append(*block, b[:n]...)
		if b = b[n:]; len(*block) == cap(*block) {
			s.cur++
		}
	}
}

// each passes the bytes on, piece by piece, until write fails.
func (s *body) each(write func([]byte) error) error {
	for _, b := range s.blocks {
		if len(b) == 0 {
			break
		}
		if err := write(b); err != nil {
			return err
		}
	}
	return nil
}

func (s *body) reset() {
	for i := range s.blocks {
		s.blocks[i] = s.blocks[i][:0]
	}
	s.cur, s.n = 0, 0
}
