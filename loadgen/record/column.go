package record

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
)

// column is one column of requests-*.parquet: how it is declared, taken from a
// row and put back. The table in columns.go is the only list of them; the
// Parquet schema, both directions of Parquet and of the write-ahead file, and
// the check of FORMAT.md follow from it.
//
// Going through columns instead of a tagged struct keeps null apart from zero
// (an optional field without a pointer would store 0 as null) and allocates
// nothing per row.
type column struct {
	name string
	node parquet.Node
	// gather takes the column out of rows; nil for a column of lists.
	gather func(k *chunk, rows []Request)
	// scatter puts the next values of a page into rows; nil for a derived column.
	scatter func(p *page, rows []Request) error
	// put and get are the same for the write-ahead file; nil for a derived column.
	put func(b []byte, r *Request) []byte
	get func(d *decoder, r *Request)
	// list is set for a column of lists, in place of gather and scatter.
	list func(r *Request) *[]int32
	// needs are the columns from which a derived one follows.
	needs []string
	// alike lists have long stretches in common with those of other rows.
	alike bool
}

func optional(t parquet.Node, e encoding.Encoding) parquet.Node {
	return parquet.Optional(parquet.Encoded(t, e))
}

// i64 is a nullable int64; Null is null.
func i64[T ~int64](name string, p func(*Request) *T) column {
	return column{
		name: name,
		node: optional(parquet.Int(64), &parquet.DeltaBinaryPacked),
		gather: func(k *chunk, rows []Request) {
			all, null := room(k.i64, k.scratch), k.lvls > 0
			for i := range rows {
				if v := int64(*p(&rows[i])); v != Null || !null {
					all = append(all, v)
				}
			}
			known := len(all) - len(k.i64)
			if k.i64 = all; !k.alike(known, len(rows)) {
				for i := range rows {
					k.level(int64(*p(&rows[i])) != Null)
				}
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				v := Null
				if !from.null() {
					v = from.int64()
				}
				*p(&rows[i]) = T(v)
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte { return putInt(b, int64(*p(r))) },
		get: func(d *decoder, r *Request) { *p(r) = T(d.int()) },
	}
}

// i32 is a nullable int32; Null32 is null.
func i32(name string, p func(*Request) *int32) column {
	return column{
		name: name,
		node: optional(parquet.Int(32), &parquet.DeltaBinaryPacked),
		gather: func(k *chunk, rows []Request) {
			all, null := room(k.i32, k.scratch), k.lvls > 0
			for i := range rows {
				if v := *p(&rows[i]); v != Null32 || !null {
					all = append(all, v)
				}
			}
			known := len(all) - len(k.i32)
			if k.i32 = all; !k.alike(known, len(rows)) {
				for i := range rows {
					k.level(*p(&rows[i]) != Null32)
				}
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				v := Null32
				if !from.null() {
					v = from.int32()
				}
				*p(&rows[i]) = v
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte { return putInt(b, widen(*p(r))) },
		get: func(d *decoder, r *Request) { *p(r) = d.int32() },
	}
}

func widen(v int32) int64 {
	if v == Null32 {
		return Null
	}
	return int64(v)
}

// text is a nullable string; the empty one is null. A column with few distinct
// values gets a dictionary.
func text(name string, few bool, p func(*Request) *string) column {
	var e encoding.Encoding = &parquet.DeltaLengthByteArray
	if few {
		e = &parquet.RLEDictionary
	}
	return column{
		name: name,
		node: optional(parquet.String(), e),
		gather: func(k *chunk, rows []Request) {
			known := 0
			for i := range rows {
				s := *p(&rows[i])
				if s == "" {
					continue
				}
				if known++; few {
					k.name(s)
				} else {
					k.string(s)
				}
			}
			if !k.alike(known, len(rows)) {
				for i := range rows {
					k.level(*p(&rows[i]) != "")
				}
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				v := ""
				if !from.null() {
					v = from.string()
				}
				*p(&rows[i]) = v
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte {
			s := *p(r)
			return append(binary.AppendUvarint(b, uint64(len(s))), s...)
		},
		get: func(d *decoder, r *Request) { *p(r) = string(d.bytes(d.length())) },
	}
}

// id is a nullable identity in hexadecimal; all zero is null.
func id(name string, p func(*Request) []byte) column {
	return column{
		name: name,
		node: optional(parquet.String(), &parquet.DeltaLengthByteArray),
		gather: func(k *chunk, rows []Request) {
			for i := range rows {
				b := p(&rows[i])
				known := !zero(b)
				if k.level(known); known {
					k.hex(b)
				}
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				id := p(&rows[i])
				if from.null() {
					clear(id)
					continue
				}
				s := from.string()
				if len(s) != 2*len(id) {
					return fmt.Errorf("%q is not %d hexadecimal digits", s, 2*len(id))
				}
				if _, err := hex.Decode(id, []byte(s)); err != nil {
					return err
				}
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte { return append(b, p(r)...) },
		get: func(d *decoder, r *Request) { copy(p(r), d.bytes(len(p(r)))) },
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// flag is a truth value that is always known.
func flag(name string, p func(*Request) *bool) column {
	return column{
		name: name,
		node: parquet.Leaf(parquet.BooleanType),
		gather: func(k *chunk, rows []Request) {
			for i := range rows {
				k.bool(*p(&rows[i]))
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				*p(&rows[i]) = from.bool()
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte {
			if *p(r) {
				return append(b, 1)
			}
			return append(b, 0)
		},
		get: func(d *decoder, r *Request) { *p(r) = d.enum(2) == 1 },
	}
}

// tri is a truth value; Unknown is null.
func tri(name string, p func(*Request) *Tri) column {
	return column{
		name: name,
		node: parquet.Optional(parquet.Leaf(parquet.BooleanType)),
		gather: func(k *chunk, rows []Request) {
			for i := range rows {
				t := *p(&rows[i])
				if k.level(t != Unknown); t != Unknown {
					k.bool(t == Yes)
				}
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				v := Unknown
				if !from.null() {
					v = No
					if from.bool() {
						v = Yes
					}
				}
				*p(&rows[i]) = v
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte { return append(b, byte(*p(r))) },
		get: func(d *decoder, r *Request) { *p(r) = Tri(d.enum(3)) },
	}
}

// word is one of a fixed list of words, always known.
func word[T ~uint8](name string, words []string, p func(*Request) *T) column {
	return column{
		name: name,
		node: parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		gather: func(k *chunk, rows []Request) {
			for i := range rows {
				k.name(words[*p(&rows[i])])
			}
		},
		scatter: func(from *page, rows []Request) error {
			for i := range rows {
				name := from.string()
				at := slices.Index(words, name)
				if at < 0 {
					return fmt.Errorf("%q is none of %q", name, words)
				}
				*p(&rows[i]) = T(at)
			}
			return nil
		},
		put: func(b []byte, r *Request) []byte { return append(b, byte(*p(r))) },
		get: func(d *decoder, r *Request) { *p(r) = T(d.enum(byte(len(words)))) },
	}
}

// ints is a nullable list; the empty one is null.
func ints(name string, alike bool, p func(*Request) *[]int32) column {
	return column{
		name: name,
		node: parquet.Optional(parquet.List(parquet.Encoded(parquet.Int(32), &parquet.DeltaBinaryPacked))),
		list: p, alike: alike,
		put: func(b []byte, r *Request) []byte {
			l := *p(r)
			b = binary.AppendUvarint(b, uint64(len(l)))
			for _, v := range l {
				b = binary.AppendVarint(b, int64(v))
			}
			return b
		},
		get: func(d *decoder, r *Request) {
			l := (*p(r))[:0]
			for range d.length() {
				v := d.varint()
				if int64(int32(v)) != v {
					d.bad = true
				}
				l = append(l, int32(v))
			}
			*p(r) = l
		},
	}
}

// derived follows from the columns it needs and is stored for readers that have
// no formula.
func derived(name string, f func(*Request) int64, needs ...string) column {
	return column{
		name: name,
		node: optional(parquet.Int(64), &parquet.DeltaBinaryPacked),
		gather: func(k *chunk, rows []Request) {
			all := room(k.i64, k.scratch)
			for i := range rows {
				if v := f(&rows[i]); v != Null {
					all = append(all, v)
				}
			}
			known := len(all) - len(k.i64)
			if k.i64 = all; !k.alike(known, len(rows)) {
				for i := range rows {
					k.level(f(&rows[i]) != Null)
				}
			}
		},
		needs: needs,
	}
}

// required makes a numeric column one that is always known.
func (c column) required() column {
	c.node = parquet.Encoded(parquet.Int(c.node.Type().Length()), &parquet.DeltaBinaryPacked)
	return c
}

// putInt appends v in a form in which Null, the smallest int64, takes one byte:
// its zigzag image is the largest uint64, so that adding one wraps to 0.
func putInt(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v<<1)^uint64(v>>63)+1)
}

// decoder takes fields off a payload. After a field that is not there or out of
// range bad is set and the results mean nothing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) int() int64 {
	u := d.uvarint() - 1
	return int64(u>>1) ^ -int64(u&1)
}

func (d *decoder) int32() int32 {
	v := d.int()
	if v == Null {
		return Null32
	}
	if v <= int64(Null32) || v > math.MaxInt32 {
		d.bad = true
	}
	return int32(v)
}

// length is a count of things that take a byte or more each.
func (d *decoder) length() int {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) enum(n byte) byte {
	b := d.bytes(1)
	if b == nil || b[0] >= n {
		d.bad = true
		return 0
	}
	return b[0]
}
