package dispatch

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// attemptBits is the room for the attempt in the identity of a random stream.
const attemptBits = 8

// traceFamily is what traceIDs draws from; see Identity.Salt.
func traceFamily(salt uint64) rng.Family { return rng.Of(salt, "trace-id") }

// traceIDs names an attempt of a request for W3C Trace Context, which forbids ids of all
// zeros: a trace of its own, so that what servers tell of two attempts can't be mistaken.
// It depends on nothing but its arguments.
func traceIDs(ids rng.Family, seq uint64, attempt int) (trace [16]byte, span [8]byte) {
	s := ids.Stream(seq<<attemptBits | uint64(attempt))
	binary.BigEndian.PutUint64(trace[:8], s.Uint64())
	binary.BigEndian.PutUint64(trace[8:], max(1, s.Uint64()))
	binary.BigEndian.PutUint64(span[:], max(1, s.Uint64()))
	return trace, span
}

// texts makes many small strings out of few allocations. A string stays valid, and
// keeps the block alive that it lies in.
type texts struct{ block strings.Builder }

const textBlock = 32 << 10 // bytes

func (t *texts) hex(id [16]byte) string {
	var b [2 * len(id)]byte
	hex.Encode(b[:], id[:])
	return t.keep(b[:])
}

// request is the name of an attempt on the wire, by which servers tell requests apart.
func (t *texts) request(r *target.Request) string {
	if r.NamePrefix == "" {
		return t.hex(r.TraceID)
	}
	return r.Name()
}

// number is n in decimal; "" for 0, which names nothing.
func (t *texts) number(n uint64) string {
	if n == 0 {
		return ""
	}
	var b [20]byte
	return t.keep(strconv.AppendUint(b[:0], n, 10))
}

func (t *texts) keep(b []byte) string {
	if t.block.Cap()-t.block.Len() < len(b) {
		t.block.Reset() // leaves the old block to its strings
		t.block.Grow(textBlock)
	}
	from := t.block.Len()
	t.block.Write(b)
	return t.block.String()[from:]
}
