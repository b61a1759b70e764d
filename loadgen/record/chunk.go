package record

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is one column of the row group being filled, and the encoder of its
// pages. Of the slices, the one of the column's type is in use. All memory is
// kept from row group to row group.
//
// It goes from typed values to pages by itself, because taking each value
// through an interface of the Parquet library costs more than simulating the
// request; the library still encodes the values of a page, and its footer.
type chunk struct {
	path  []string       // of the leaf
	codec compress.Codec // of the values
	raw   bool           // values of a list are not delta-encoded
	lvls  int            // levels that a reader expects: 0 none, 1 definition, 2 also repetition

	def, rep levels
	rows     int // of the page
	nulls    int // of the page

	i64   []int64
	i32   []int32
	text  []byte // concatenated; lens has the lengths
	lens  []int32
	bits  []byte // truth values, 8 to a byte; nbits of them
	nbits int
	names dictionary

	body  []byte // the encoded pages
	dict  int    // of it, bytes of the dictionary page
	plain int64  // bytes of the pages before compression
	n     int64  // values and nulls in the pages of body
	used  []format.Encoding
	stats format.Statistics

	buf, zipped []byte
}

// pageValues is how many list elements make a page. Other columns have one page
// in a row group.
const pageValues = 1 << 16

// newChunk chooses how a column is stored. In real time, files are kept small. In
// virtual time, where the time to write a row is longer than that to simulate
// it, only the lists are compressed, and fast: requests that share the steps of
// an engine have long stretches of equal gaps, which are found only in values
// that are not packed into bits.
func newChunk(c *column, virtual bool) *chunk {
	k := &chunk{path: []string{c.name}, codec: &parquet.Zstd}
	switch {
	case c.list != nil:
		k.path = append(k.path, "list", "element")
		k.lvls = 2
	case c.node.Optional():
		k.lvls = 1
	}
	if virtual {
		k.codec = &parquet.Uncompressed
		if c.list != nil {
			k.codec, k.raw = &parquet.Snappy, c.alike
		}
	}
	return k
}

func (k *chunk) null() {
	k.def.add(0, 1)
	k.nulls++
}

// int64 and int32 add a number, or a null if it is Null or Null32 and the column
// has nulls.
func (k *chunk) int64(v int64) {
	if v == Null && k.lvls > 0 {
		k.null()
		return
	}
	k.def.add(1, 1)
	k.i64 = append(k.i64, v)
}

func (k *chunk) int32(v int32) {
	if v == Null32 && k.lvls > 0 {
		k.null()
		return
	}
	k.def.add(1, 1)
	k.i32 = append(k.i32, v)
}

func (k *chunk) bool(v bool) {
	if k.nbits%8 == 0 {
		k.bits = append(k.bits, 0)
	}
	if v {
		k.bits[k.nbits/8] |= 1 << (k.nbits % 8)
	}
	k.nbits++
}

func (k *chunk) string(s string) {
	k.text = append(k.text, s...)
	k.lens = append(k.lens, int32(len(s)))
}

func (k *chunk) hex(b []byte) {
	k.text = hex.AppendEncode(k.text, b)
	k.lens = append(k.lens, int32(2*len(b)))
}

// lists appends the lists of rows; an empty one is null. In Parquet's levels,
// definition 0 is a null list and 2 an element; repetition 0 starts a row, 1
// continues it.
func (k *chunk) lists(c *column, rows []Request) error {
	for i := range rows {
		l := *c.list(&rows[i])
		k.rep.add(0, 1)
		if len(l) == 0 {
			k.null()
		} else {
			k.rep.add(1, len(l)-1)
			k.def.add(2, len(l))
			k.i32 = append(k.i32, l...)
		}
		k.rows++
		if len(k.i32) >= pageValues {
			if err := k.page(); err != nil {
				return err
			}
		}
	}
	return nil
}

// page encodes what was collected since the last one, if anything.
func (k *chunk) page() error {
	if k.rows == 0 {
		return nil
	}
	enc, err := k.values()
	if err != nil {
		return err
	}
	h := format.PageHeader{Type: format.DataPageV2}
	var head, vals []byte
	var rep, def []byte
	if k.lvls > 1 {
		rep = k.rep.bytes()
	}
	if k.lvls > 0 {
		def = k.def.bytes()
	}
	head = append(append(head, rep...), def...)
	vals = k.buf
	packed := false
	if k.codec != &parquet.Uncompressed && len(vals) > 0 {
		if k.zipped, err = k.codec.Encode(k.zipped, vals); err != nil {
			return err
		}
		if packed = len(k.zipped) < len(vals); packed {
			vals = k.zipped
		}
	}
	values := k.rows // of a column of lists: their elements, and the nulls
	if k.lvls > 1 {
		values = len(k.i32) + k.nulls
	}
	h.UncompressedPageSize = int32(len(head) + len(k.buf))
	h.CompressedPageSize = int32(len(head) + len(vals))
	h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{
		NumValues: int32(values), NumNulls: int32(k.nulls), NumRows: int32(k.rows), Encoding: enc,
		DefinitionLevelsByteLength: int32(len(def)), RepetitionLevelsByteLength: int32(len(rep)),
		IsCompressed: thrift.New(packed),
	})
	k.stats.NullCount += int64(k.nulls)
	k.n += int64(values)
	err = k.put(&h, enc, head, vals)
	k.clearPage()
	return err
}

// put appends a page of head and vals to the body.
func (k *chunk) put(h *format.PageHeader, enc format.Encoding, head, vals []byte) error {
	sum := crc32.NewIEEE()
	sum.Write(head)
	sum.Write(vals)
	h.CRC = int32(sum.Sum32())
	b, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		return fmt.Errorf("page header: %w", err)
	}
	k.body = append(append(append(k.body, b...), head...), vals...)
	k.plain += int64(len(b)) + int64(h.UncompressedPageSize)
	if !slices.Contains(k.used, enc) {
		k.used = append(k.used, enc)
	}
	return nil
}

// values encodes the values of the page into buf.
func (k *chunk) values() (enc format.Encoding, err error) {
	k.buf = k.buf[:0]
	switch {
	case len(k.i64) > 0:
		k.bounds64()
		k.buf, err = parquet.DeltaBinaryPacked.EncodeInt64(k.buf, k.i64)
		return format.DeltaBinaryPacked, err
	case len(k.names.refs) > 0:
		if err := k.dictionaryPage(); err != nil {
			return 0, err
		}
		k.buf, err = parquet.RLEDictionary.EncodeInt32(k.buf, k.names.refs)
		return format.RLEDictionary, err
	case len(k.i32) > 0 && k.raw:
		k.buf = slices.Grow(k.buf, 4*len(k.i32))[:4*len(k.i32)]
		for i, v := range k.i32 {
			binary.LittleEndian.PutUint32(k.buf[4*i:], uint32(v))
		}
		return format.Plain, nil
	case len(k.i32) > 0:
		k.bounds32()
		k.buf, err = parquet.DeltaBinaryPacked.EncodeInt32(k.buf, k.i32)
		return format.DeltaBinaryPacked, err
	case len(k.lens) > 0:
		k.buf, err = parquet.DeltaBinaryPacked.EncodeInt32(k.buf, k.lens)
		k.buf = append(k.buf, k.text...)
		return format.DeltaLengthByteArray, err
	}
	k.buf = append(k.buf, k.bits...)
	return format.Plain, nil // truth values, or nothing but nulls
}

// dictionaryPage writes the page that comes before all others of the chunk.
func (k *chunk) dictionaryPage() error {
	h := format.PageHeader{
		Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(len(k.names.index)), Encoding: format.Plain}),
		UncompressedPageSize: int32(len(k.names.plain)),
	}
	// Unlike a data page, a dictionary can't say that it is not compressed.
	vals, err := k.codec.Encode(k.zipped, k.names.plain)
	if err != nil {
		return err
	}
	k.zipped, h.CompressedPageSize = vals, int32(len(vals))
	err = k.put(&h, format.Plain, nil, vals)
	k.dict = len(k.body)
	return err
}

// bounds64 and bounds32 keep the smallest and the largest value, by which
// readers skip row groups.
func (k *chunk) bounds64() {
	k.stats.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(slices.Min(k.i64)))
	k.stats.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(slices.Max(k.i64)))
}

func (k *chunk) bounds32() {
	if k.lvls > 1 {
		return // of no use for lists
	}
	k.stats.MinValue = binary.LittleEndian.AppendUint32(nil, uint32(slices.Min(k.i32)))
	k.stats.MaxValue = binary.LittleEndian.AppendUint32(nil, uint32(slices.Max(k.i32)))
}

func (k *chunk) clearPage() {
	k.def.reset()
	k.rep.reset()
	k.rows, k.nulls, k.nbits = 0, 0, 0
	k.i64, k.i32, k.text, k.lens, k.bits = k.i64[:0], k.i32[:0], k.text[:0], k.lens[:0], k.bits[:0]
	k.names.reset()
}

// finish describes the chunk, whose body will be at offset of the file. kind is
// the physical type.
func (k *chunk) finish(kind format.Type, offset int64) format.ColumnMetaData {
	m := format.ColumnMetaData{
		Type: kind, PathInSchema: k.path, Codec: k.codec.CompressionCodec(), NumValues: k.n,
		TotalUncompressedSize: k.plain, TotalCompressedSize: int64(len(k.body)),
		DataPageOffset: offset + int64(k.dict), Statistics: k.stats,
		Encoding: append(thrift.Slice[format.Encoding]{format.RLE}, k.used...), // RLE is that of the levels
	}
	if k.dict > 0 {
		m.DictionaryPageOffset = offset
	}
	return m
}

// reset makes the chunk one of the next row group.
func (k *chunk) reset() {
	k.body, k.used = k.body[:0], k.used[:0]
	k.dict, k.plain, k.n, k.stats = 0, 0, 0, format.Statistics{}
}

// dictionary numbers the distinct strings of a chunk in the order of their first
// use.
type dictionary struct {
	index map[string]int32
	refs  []int32
	plain []byte // the strings, each behind its length
	last  string
	ref   int32 // of last
}

func (d *dictionary) add(s string) {
	if s != d.last || len(d.refs) == 0 {
		ref, ok := d.index[s]
		if !ok {
			if d.index == nil {
				d.index = map[string]int32{}
			}
			ref = int32(len(d.index))
			d.index[s] = ref
			d.plain = append(binary.LittleEndian.AppendUint32(d.plain, uint32(len(s))), s...)
		}
		d.last, d.ref = s, ref
	}
	d.refs = append(d.refs, d.ref)
}

func (d *dictionary) reset() {
	clear(d.index)
	d.refs, d.plain, d.last = d.refs[:0], d.plain[:0], ""
}
