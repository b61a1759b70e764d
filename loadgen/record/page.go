package record

import (
	"bytes"
	"errors"

	"github.com/parquet-go/parquet-go"
)

// page is a page of one column being read: the typed counterpart of chunk. Its
// methods take the next row's value; the caller asks for no more rows than are
// left. What they return is valid until the next page.
type page struct {
	src  parquet.Page
	left int // rows

	def, rep []byte // levels; nil: none
	level    int    // next of them

	// The values, of which the slice of the column's type is in use, and the next.
	i64   []int64
	i32   []int32
	bits  []byte
	text  []byte
	ends  []uint32 // value i of text is between ends[i] and ends[i+1]
	names []string // text values, if i32 holds indexes of them
	next  int
}

// load makes p the page src.
func (p *page) load(src parquet.Page) {
	*p = page{src: src, left: int(src.NumRows()), def: src.DefinitionLevels(), rep: src.RepetitionLevels(), names: p.names}
	data := src.Data()
	switch dict := src.Dictionary(); {
	case dict != nil:
		p.i32 = data.Int32()
		p.names = namesOf(dict, p.names)
	case src.Type().Kind() == parquet.Int64:
		p.i64 = data.Int64()
	case src.Type().Kind() == parquet.Int32:
		p.i32 = data.Int32()
	case src.Type().Kind() == parquet.Boolean:
		p.bits = data.Boolean()
	default:
		p.text, p.ends = data.ByteArray()
		p.names = nil
	}
}

// namesOf is the content of a dictionary, put into old if that has room.
func namesOf(dict parquet.Dictionary, old []string) []string {
	names := old[:0]
	for i := range int32(dict.Len()) {
		b := dict.Index(i).ByteArray()
		if int(i) < len(old) && old[i] == string(b) {
			names = append(names, old[i]) // as in the row group before
		} else {
			names = append(names, string(b))
		}
	}
	return names
}

// null steps over a row and reports whether it has no value.
func (p *page) null() bool {
	if p.def == nil {
		return false
	}
	p.level++
	return p.def[p.level-1] == 0
}

func (p *page) int64() int64 {
	p.next++
	return p.i64[p.next-1]
}

func (p *page) int32() int32 {
	p.next++
	return p.i32[p.next-1]
}

func (p *page) bool() bool {
	i := p.next
	p.next++
	return p.bits[i/8]>>(i%8)&1 != 0
}

// string returns a text value, which stays valid.
func (p *page) string() string {
	i := p.next
	p.next++
	if p.ends == nil {
		return p.names[p.i32[i]]
	}
	return string(p.text[p.ends[i]:p.ends[i+1]])
}

// list appends a list to dst.
func (p *page) list(dst []int32) ([]int32, error) {
	from := p.level
	if p.rep[from] != 0 {
		return dst, errors.New("a list starts in the middle")
	}
	p.level++
	if p.def[from] < 2 { // null, or empty
		return dst, nil
	}
	if n := bytes.IndexByte(p.rep[p.level:], 0); n >= 0 {
		p.level += n
	} else {
		p.level = len(p.rep)
	}
	n := p.level - from
	dst = append(dst, p.i32[p.next:p.next+n]...)
	p.next += n
	return dst, nil
}
