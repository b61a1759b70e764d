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
	zip   zipper         // makes the pages if raw
	lvls  int            // levels that a reader expects: 0 none, 1 definition, 2 also repetition

	def, rep levels
	rows     int // of the page
	nulls    int // of the page

	i64   []int64
	i32   []int32
	same  int32 // value of the first sames values of a list, which are not in i32
	sames int
	text  []byte // concatenated; lens has the lengths
	lens  []int32
	bits  []byte // truth values, 8 to a byte; nbits of them
	nbits int
	names dictionary

	body  *body // the encoded pages
	dict  int   // of it, bytes of the dictionary page
	plain int64 // bytes of the pages before compression
	n     int64 // values and nulls in the pages of body
	used  []format.Encoding
	stats format.Statistics

	*scratch
}

// scratch is memory that is needed only while a page is encoded, so that the chunks
// of a row group share it. A column that is not of lists has its pages encoded when
// the row group ends, and written before the next column's: body is for them.
type scratch struct {
	head, buf, zipped, unzipped []byte

	body body

	groupRows int // end a row group
}

// pageValues is how many list elements make a page. Other columns have one page
// in a row group. Where gaps are copied from other rows of the page, there must be
// some of the same server: wideServers of them or more make a page longer, up to
// widest times.
const (
	pageValues  = 1 << 16
	wideServers = 8
	widest      = 16
)

// newChunk chooses how a column is stored. In real time, files are kept small. In
// virtual time, where the time to write a row is longer than that to simulate
// it, only the lists are compressed, and fast: requests that share the steps of
// an engine have long stretches of equal gaps, which are found only in values
// that are not packed into bits.
func newChunk(c *column, virtual bool, shared *scratch) *chunk {
	k := &chunk{path: []string{c.name}, codec: &parquet.Zstd, scratch: shared, body: &shared.body}
	switch {
	case c.list != nil:
		k.path, k.body = append(k.path, "list", "element"), new(body)
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

// room makes room for the values of a row group at the first of them: growing step
// by step costs a short run more than all else that it does with its rows. Memory
// that is not written to is not taken.
func room[T any](values []T, s *scratch) []T {
	if cap(values) > 0 {
		return values
	}
	return make([]T, 0, s.groupRows+batchRows)
}

// level notes whether the next row has a value.
func (k *chunk) level(known bool) {
	if known {
		k.def.add(1, 1)
	} else {
		k.null()
	}
}

// alike is level for all of the next rows, if all or none of them are known. It
// reports whether they are.
func (k *chunk) alike(known, rows int) bool {
	switch known {
	case rows:
		k.def.add(1, rows)
	case 0:
		k.def.add(0, rows)
		k.nulls += rows
	default:
		return false
	}
	return true
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
	if k.lens = room(k.lens, k.scratch); k.text == nil {
		k.text = make([]byte, 0, cap(k.lens)*len(s))
	}
	k.text = append(k.text, s...)
	k.lens = append(k.lens, int32(len(s)))
}

func (k *chunk) hex(b []byte) {
	if k.lens = room(k.lens, k.scratch); k.text == nil {
		k.text = make([]byte, 0, cap(k.lens)*2*len(b))
	}
	k.text = hex.AppendEncode(k.text, b)
	k.lens = append(k.lens, int32(2*len(b)))
}

// lists appends the lists of rows; an empty one is null. In a virtual run the rows
// were placed in lines. In Parquet's levels, definition 0 is a null list and 2 an
// element; repetition 0 starts a row, 1 continues it.
func (k *chunk) lists(c *column, rows []Request, lines *timelines) error {
	limit := pageValues
	if k.raw {
		limit *= min(max(1, len(lines.all)/wideServers), widest)
	}
	for i := range rows {
		l := *c.list(&rows[i])
		k.rep.add(0, 1)
		if len(l) == 0 {
			k.null()
		} else {
			k.rep.add(1, len(l)-1)
			k.def.add(2, len(l))
			if k.raw {
				k.zip.row(l, lines.rows[i])
			} else {
				k.list(l)
			}
		}
		k.rows++
		if k.elements() >= limit {
			if err := k.page(); err != nil {
				return err
			}
			if k.raw {
				lines.turn()
			}
		}
	}
	return nil
}

// list appends values. As long as all of the page are the same, it only counts
// them.
func (k *chunk) list(l []int32) {
	if len(k.i32) == 0 && (k.sames == 0 || l[0] == k.same) && common(l, l[1:]) == len(l)-1 {
		k.same, k.sames = l[0], k.sames+len(l)
		return
	}
	k.unfold()
	k.i32 = append(k.i32, l...)
}

// unfold puts the values that were only counted into i32.
func (k *chunk) unfold() {
	for ; k.sames > 0; k.sames-- {
		k.i32 = append(k.i32, k.same)
	}
}

// elements is the number of list elements in the page.
func (k *chunk) elements() int { return k.zip.n + k.sames + len(k.i32) }

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
	var rep, def []byte
	if k.lvls > 1 {
		rep = k.rep.bytes()
	}
	if k.lvls > 0 {
		def = k.def.bytes()
	}
	k.head = append(append(k.head[:0], rep...), def...)
	vals, plain, err := k.pack()
	if err != nil {
		return err
	}
	values := k.rows // of a column of lists: their elements, and the nulls
	if k.lvls > 1 {
		values = k.elements() + k.nulls
	}
	h.UncompressedPageSize = int32(len(k.head) + plain)
	h.CompressedPageSize = int32(len(k.head) + len(vals))
	h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{
		NumValues: int32(values), NumNulls: int32(k.nulls), NumRows: int32(k.rows), Encoding: enc,
		DefinitionLevelsByteLength: int32(len(def)), RepetitionLevelsByteLength: int32(len(rep)),
		IsCompressed: thrift.New(len(vals) < plain),
	})
	k.stats.NullCount += int64(k.nulls)
	k.n += int64(values)
	err = k.put(&h, enc, k.head, vals)
	k.clearPage()
	return err
}

// pack compresses the values, unless they are shorter as they are. plain is their
// length before.
func (k *chunk) pack() (vals []byte, plain int, err error) {
	if k.raw && k.zip.n > 0 {
		return k.packZip()
	}
	plain = len(k.buf)
	if k.codec == &parquet.Uncompressed || plain == 0 {
		return k.buf, plain, nil
	}
	if k.zipped, err = k.codec.Encode(k.zipped, k.buf); err != nil || len(k.zipped) >= plain {
		return k.buf, plain, err
	}
	return k.zipped, plain, nil
}

// packZip is pack for values that are in zip. Where the timelines helped little, a
// search may find more.
func (k *chunk) packZip() (vals []byte, plain int, err error) {
	k.buf = k.zip.block(k.buf[:0])
	plain = k.zip.n * valueBytes
	if 4*k.zip.own <= k.zip.n {
		return k.buf, plain, nil
	}
	if k.unzipped, err = k.codec.Decode(k.unzipped, k.buf); err != nil {
		return nil, 0, err
	}
	if k.zipped, err = k.codec.Encode(k.zipped, k.unzipped); err != nil {
		return nil, 0, err
	}
	switch {
	case min(len(k.buf), len(k.zipped)) >= plain:
		return k.unzipped, plain, nil
	case len(k.zipped) < len(k.buf):
		return k.zipped, plain, nil
	}
	return k.buf, plain, nil
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
	k.body.add(b)
	k.body.add(head)
	k.body.add(vals)
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
	case k.sames > 0:
		k.buf = appendSames(k.buf, k.same, k.sames)
		return format.DeltaBinaryPacked, nil
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
	return format.Plain, nil // truth values, lists that are in zip, or nothing but nulls
}

// appendSames appends n values v as DELTA_BINARY_PACKED: the block size, the parts
// of a block, n, v, and for each block of differences a least one of 0 and, for
// each part, 0 bits.
func appendSames(b []byte, v int32, n int) []byte {
	const block, parts = 128, 4
	b = binary.AppendUvarint(append(b, block&0x7f|0x80, block>>7, parts), uint64(n))
	b = binary.AppendVarint(b, int64(v))
	for n--; n > 0; n -= block {
		b = append(b, 0, 0, 0, 0, 0)
	}
	return b
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
	k.dict = k.body.n
	return err
}

// bounds64 and bounds32 keep the smallest and the largest value, by which
// readers skip row groups.
func (k *chunk) bounds64() {
	least, most := bounds(k.i64)
	k.stats.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(least))
	k.stats.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(most))
}

func (k *chunk) bounds32() {
	if k.lvls > 1 {
		return // of no use for lists
	}
	least, most := bounds(k.i32)
	k.stats.MinValue = binary.LittleEndian.AppendUint32(nil, uint32(least))
	k.stats.MaxValue = binary.LittleEndian.AppendUint32(nil, uint32(most))
}

func bounds[T int32 | int64](values []T) (least, most T) {
	least, most = values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return least, most
}

func (k *chunk) clearPage() {
	k.def.reset()
	k.rep.reset()
	k.rows, k.nulls, k.nbits = 0, 0, 0
	k.i64, k.i32, k.text, k.lens, k.bits = k.i64[:0], k.i32[:0], k.text[:0], k.lens[:0], k.bits[:0]
	k.names.reset()
	k.zip.reset()
	k.sames = 0
}

// finish describes the chunk, whose body will be at offset of the file. kind is
// the physical type.
func (k *chunk) finish(kind format.Type, offset int64) format.ColumnMetaData {
	m := format.ColumnMetaData{
		Type: kind, PathInSchema: k.path, Codec: k.codec.CompressionCodec(), NumValues: k.n,
		TotalUncompressedSize: k.plain, TotalCompressedSize: int64(k.body.n),
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
	k.body.reset()
	k.used = k.used[:0]
	k.dict, k.plain, k.n, k.stats = 0, 0, 0, format.Statistics{}
}

// name takes a value of a column with a dictionary.
func (k *chunk) name(s string) {
	k.names.refs = room(k.names.refs, k.scratch)
	k.names.add(s)
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
