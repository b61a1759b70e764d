package describe

import (
	"github.com/cespare/xxhash/v2"

	"goodput/datasets/trace"
)

// sessions counts the requests of each session, named by the file or inferred.
type sessions struct {
	index    map[uint64]uint32 // of a name's hash, or of a last full block
	sizes    []uint32
	inferred bool
	overflow bool // there were more than maxBlocks
}

func newSessions() *sessions { return &sessions{index: map[uint64]uint32{}} }

func (s *sessions) add(r *trace.Row, t *trace.Traits) {
	switch {
	case s.overflow:
	case r.Session != "":
		id := xxhash.Sum64String(r.Session)
		n, ok := s.index[id]
		if !ok {
			n = s.open()
			s.index[id] = n
		}
		s.sizes[n]++
	case t.Chained && t.Block > 0:
		s.infer(r, t.Block)
	}
	s.overflow = s.overflow || len(s.index) > maxBlocks || len(s.sizes) > maxBlocks
}

func (s *sessions) open() uint32 {
	s.sizes = append(s.sizes, 0)
	return uint32(len(s.sizes) - 1)
}

// infer gives the row to the session of the earlier row whose last full block lies
// deepest on its chain.
func (s *sessions) infer(r *trace.Row, block int) {
	s.inferred = true
	n, found := uint32(0), false
	full := len(r.Append)
	if full > 0 && r.Append[full-1].Tokens < block {
		full--
	}
	for i := len(r.Append) - 1; i >= 0 && !found; i-- {
		n, found = s.index[r.Append[i].Key]
	}
	if !found {
		n = s.open()
	}
	s.sizes[n]++
	// A chain's first block alone is a system prompt that sessions have in common.
	if full > 1 {
		s.index[r.Append[full-1].Key] = n
	}
}
