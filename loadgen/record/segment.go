package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	segmentPrefix = "requests-"
	segmentSuffix = ".parquet"
	walSuffix     = ".wal"
	tmpSuffix     = ".tmp"

	// rowGroupRows and rowGroupLists, in bytes of encoded lists, end a row group;
	// they bound the memory of a writer or reader of a segment.
	rowGroupRows  = 20 * batchRows
	rowGroupLists = 16 << 20

	keySchema      = "goodput.schema"
	keyRun         = "goodput.run_id"
	keyPlan        = "goodput.plan_hash"
	keyDefinitions = "goodput.definitions"
)

// segmentName is the file of segment n, from 1.
func segmentName(n int, suffix string) string {
	return fmt.Sprintf("%s%05d%s", segmentPrefix, n, suffix)
}

// segmentNumber is the inverse of segmentName.
func segmentNumber(name, suffix string) (n int, ok bool) {
	s, ok1 := strings.CutPrefix(name, segmentPrefix)
	s, ok2 := strings.CutSuffix(s, suffix)
	n, err := strconv.Atoi(s)
	if !ok1 || !ok2 || err != nil || n < 1 || segmentName(n, suffix) != name {
		return 0, false
	}
	return n, true
}

// segment is one Parquet file being written as name.tmp. Its bytes are a
// function of the rows, their grouping into calls of add, and what is passed to
// createSegment: no clock, no random number.
type segment struct {
	disk   disk
	name   string
	out    file
	cols   []column
	chunks []*chunk
	meta   format.FileMetaData // of the row groups so far
	size   int64               // bytes written
	group  int                 // rows in the chunks
}

const magic = "PAR1"

func createSegment(d disk, n int, cols []column, m *Manifest) (*segment, error) {
	s := &segment{disk: d, name: segmentName(n, segmentSuffix), cols: cols}
	meta, err := emptyMeta(cols, m)
	if err != nil {
		return nil, err
	}
	s.meta = *meta
	for i := range cols {
		s.chunks = append(s.chunks, newChunk(&cols[i], m.Virtual))
	}
	if s.out, err = d.create(s.name + tmpSuffix); err != nil {
		return nil, err
	}
	return s, nil
}

// emptyMeta is the footer of a segment without rows, as the Parquet library
// writes it.
func emptyMeta(cols []column, m *Manifest) (*format.FileMetaData, error) {
	var b bytes.Buffer
	pq := parquet.NewGenericWriter[any](&b, schemaOf(cols),
		parquet.CreatedBy("goodput", m.Version, ""),
		parquet.KeyValueMetadata(keySchema, strconv.Itoa(Schema)),
		parquet.KeyValueMetadata(keyRun, m.RunID),
		parquet.KeyValueMetadata(keyPlan, m.PlanHash),
		parquet.KeyValueMetadata(keyDefinitions, definitionsText()),
	)
	if err := pq.Close(); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		return nil, err
	}
	return f.Metadata(), nil
}

// write appends b, behind the magic number if nothing was written before.
func (s *segment) write(b []byte) error {
	if s.size == 0 {
		s.size = int64(len(magic))
		if _, err := io.WriteString(s.out, magic); err != nil {
			return err
		}
	}
	n, err := s.out.Write(b)
	s.size += int64(n)
	return err
}

// add appends rows, column by column.
func (s *segment) add(rows []Request) error {
	lists := 0 // bytes of their pages
	for i := range s.cols {
		c, k := &s.cols[i], s.chunks[i]
		if c.list == nil {
			c.gather(k, rows)
			k.rows += len(rows)
			continue
		}
		if err := k.lists(c, rows); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		lists += len(k.body)
	}
	s.group += len(rows)
	if s.group >= rowGroupRows || lists >= rowGroupLists {
		return s.flush()
	}
	return nil
}

// flush ends the row group, if it has rows.
func (s *segment) flush() error {
	if s.group == 0 {
		return nil
	}
	if err := s.write(nil); err != nil {
		return err
	}
	g := format.RowGroup{NumRows: int64(s.group), FileOffset: s.size, Ordinal: int16(len(s.meta.RowGroups))}
	for i, k := range s.chunks {
		if err := k.page(); err != nil {
			return fmt.Errorf("column %s: %w", s.cols[i].name, err)
		}
		m := k.finish(s.kind(i), s.size)
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: m})
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
		if err := s.write(k.body); err != nil {
			return err
		}
		k.reset()
	}
	s.meta.RowGroups = append(s.meta.RowGroups, g)
	s.meta.NumRows += g.NumRows
	s.group = 0
	return nil
}

// kind is the physical type of column i.
func (s *segment) kind(i int) format.Type {
	if s.cols[i].list != nil {
		return format.Int32
	}
	return format.Type(s.cols[i].node.Type().Kind())
}

// footer ends the file.
func (s *segment) footer() error {
	if err := s.flush(); err != nil {
		return err
	}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &s.meta)
	if err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return s.write(append(b, magic...))
}

// finish completes the file and gives it its name.
func (s *segment) finish() (File, error) {
	err := s.footer()
	if err = commit(s.disk, s.out, s.name, err); err != nil {
		return File{}, fmt.Errorf("write %s: %w", s.name, err)
	}
	return File{Name: s.name, Rows: s.meta.NumRows}, nil
}

// abandon removes the file; its rows are in the write-ahead file.
func (s *segment) abandon() error {
	if err := s.out.Close(); err != nil {
		return err
	}
	return s.disk.remove(s.name + tmpSuffix)
}

// definitionsText is Definitions for the file's metadata.
func definitionsText() string {
	var b strings.Builder
	for _, d := range Definitions() {
		fmt.Fprintf(&b, "%s [%s]: %s", d.Name, d.Unit, d.Text)
		if d.NullWhen != "" {
			fmt.Fprintf(&b, "; null when %s", d.NullWhen)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
