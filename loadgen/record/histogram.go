package record

import (
	"encoding/base64"
	"encoding/binary"
	"hash/adler32"
	"math"
	"math/bits"
)

// histogram counts values with three significant digits in the buckets of an
// HdrHistogram, laid out so that a run's inner loop can afford it: one count
// costs a shift and an increment, and clearing or encoding touches only the
// buckets between the smallest and the largest value.
//
// Bucket i of [0, 2*half) holds the value i; each further half buckets cover
// twice the range of those before.
type histogram struct {
	counts []int64
	n      int64
	lo, hi int   // the buckets in use are within lo to hi; hi < lo: none
	most   int64 // the largest value
}

const (
	histogramBits = 11 // 2048 buckets tell 3 digits apart
	histogramHalf = 1 << (histogramBits - 1)
)

// newHistogram makes an empty histogram of the values 0 to highest.
func newHistogram(highest int64) *histogram {
	n := histogramBucket(highest) + 1
	return &histogram{counts: make([]int64, n), lo: n, hi: -1}
}

// histogramBucket is the bucket of v, which is not negative.
func histogramBucket(v int64) int {
	shift := bits.Len64(uint64(v)|(2*histogramHalf-1)) - histogramBits
	return shift*histogramHalf + int(v>>shift)
}

// histogramTop is the largest value of bucket i.
func histogramTop(i int) int64 {
	shift := max(0, i/histogramHalf-1)
	return int64(i-shift*histogramHalf+1)<<shift - 1
}

// add counts v, which must be within the range.
func (h *histogram) add(v int64) { h.addN(v, 1) }

// addN counts v n times.
func (h *histogram) addN(v, n int64) {
	i := histogramBucket(v)
	h.counts[i] += n
	h.n += n
	h.lo, h.hi, h.most = min(h.lo, i), max(h.hi, i), max(h.most, v)
}

// addAll counts all of values, which lie between least and most, both within the
// range.
func (h *histogram) addAll(values []int32, least, most int32) {
	lo, hi := histogramBucket(int64(least)), histogramBucket(int64(most))
	h.n += int64(len(values))
	h.lo, h.hi, h.most = min(h.lo, lo), max(h.hi, hi), max(h.most, int64(most))
	shift := max(0, lo/histogramHalf-1)
	if shift != max(0, hi/histogramHalf-1) {
		for _, v := range values {
			h.counts[histogramBucket(int64(v))]++
		}
		return
	}
	// All values have buckets of one width, as the gaps of one request mostly do.
	counts := h.counts[shift*histogramHalf:]
	for _, v := range values {
		counts[uint32(v)>>(shift&31)]++
	}
}

func (h *histogram) reset() {
	if h.n > 0 {
		clear(h.counts[h.lo : h.hi+1])
	}
	h.n, h.lo, h.hi, h.most = 0, len(h.counts), -1, 0
}

// The cookies of the V2 encoding and of its compressed form, with 1-byte words.
const (
	histogramCookie           = 0x1c849303 | 0x10
	histogramCompressedCookie = 0x1c849304 | 0x10
)

// histogramEncoder writes histograms in the compressed V2 encoding of
// HdrHistogram, in base64. The compression is none: the counts of an interval are
// few and small, and a deflater takes longer than all the rest.
type histogramEncoder struct{ plain, stream []byte }

// append appends the encoding of h, whose range ends at highest, to dst.
func (e *histogramEncoder) append(dst []byte, h *histogram, highest int64) []byte {
	const head = 40
	b := append(e.plain[:0], make([]byte, head)...)
	b = h.appendCounts(b)
	e.plain = b
	binary.BigEndian.PutUint32(b[0:], histogramCookie)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b)-head))
	binary.BigEndian.PutUint32(b[8:], 0)  // normalizing index offset
	binary.BigEndian.PutUint32(b[12:], 3) // significant digits
	binary.BigEndian.PutUint64(b[16:], 1) // lowest discernible value
	binary.BigEndian.PutUint64(b[24:], uint64(highest))
	binary.BigEndian.PutUint64(b[32:], math.Float64bits(1)) // conversion ratio

	const outer = 8
	z := binary.BigEndian.AppendUint32(e.stream[:0], histogramCompressedCookie)
	z = appendStored(append(z, 0, 0, 0, 0), b)
	binary.BigEndian.PutUint32(z[4:], uint32(len(z)-outer))
	e.stream = z
	return base64.StdEncoding.AppendEncode(dst, z)
}

// appendStored appends a zlib stream whose blocks hold b as it is.
func appendStored(dst, b []byte) []byte {
	sum := adler32.Checksum(b)
	dst = append(dst, 0x78, 0x01) // deflate, window of 32 KiB, fastest
	for last := byte(0); last == 0; {
		n := min(len(b), math.MaxUint16)
		if n == len(b) {
			last = 1
		}
		dst = append(dst, last)
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
		dst = binary.LittleEndian.AppendUint16(dst, ^uint16(n))
		dst = append(dst, b[:n]...)
		b = b[n:]
	}
	return binary.BigEndian.AppendUint32(dst, sum)
}

// appendCounts appends the counts up to the last that is not 0, as LEB128 of
// their zigzag form; a negative number stands for that many zeros.
func (h *histogram) appendCounts(b []byte) []byte {
	if h.n == 0 {
		return b
	}
	zeros := int64(h.lo)
	for _, c := range h.counts[h.lo : h.hi+1] {
		if c == 0 {
			zeros++
			continue
		}
		if zeros == 1 {
			b = append(b, 0)
		} else if zeros > 1 {
			b = binary.AppendVarint(b, -zeros)
		}
		b, zeros = binary.AppendVarint(b, c), 0
	}
	return b
}
