package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
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
	groupsSuffix  = ".groups"
	tmpSuffix     = ".tmp"

	// rowGroupRows and rowGroupLists, in bytes of encoded lists, end a row group;
	// they bound the memory of a writer or reader of a segment. A run that is known to
	// be short has row groups of a quarter of its rows, since most of what it costs to
	// write or read those is to take memory for the first time.
	rowGroupRows  = 20 * batchRows
	rowGroupParts = 4
	rowGroupLists = 16 << 20

	// cachedRows stay in the fastest cache while they are taken apart.
	cachedRows = 32

	keySchema      = "goodput.schema"
	keyRun         = "goodput.run_id"
	keyPlan        = "goodput.plan_hash"
	keyLoad        = "goodput.load"
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
// newSegments: no clock, no random number.
type segment struct {
	disk   disk
	name   string
	out    file
	cols   []column
	chunks []*chunk
	meta   format.FileMetaData // of the row groups so far
	size   int64               // bytes written
	group  int                 // rows in the chunks
	// groupRows end a row group.
	groupRows int
	lines     *timelines // nil: in real time
	log       *groupLog  // nil: the rows are safe elsewhere
}

const magic = "PAR1"

// segments makes the segments of one run, one after the other: they share the
// memory of their columns.
type segments struct {
	disk    disk
	cols    []column
	virtual bool
	meta    format.FileMetaData // of a segment without rows
	chunks  []*chunk
	lines   *timelines // nil: in real time
	// groupRows end a row group.
	groupRows int
}

// groupRows are the rows that end a row group of a run of so many; 0: unknown.
func groupRows(expected int) int {
	if expected == 0 {
		return rowGroupRows
	}
	return min(max(expected/rowGroupParts, batchRows), rowGroupRows)
}

// newSegments expects a run of so many rows; 0: unknown.
func newSegments(d disk, cols []column, m *Manifest, expected int) (*segments, error) {
	meta, err := emptyMeta(cols, m)
	if err != nil {
		return nil, err
	}
	s := &segments{disk: d, cols: cols, virtual: m.Virtual, meta: *meta, groupRows: groupRows(expected)}
	s.meta.RowGroups = nil // segments append to it
	shared := &scratch{groupRows: s.groupRows}
	for i := range cols {
		s.chunks = append(s.chunks, newChunk(&cols[i], m.Virtual, shared))
	}
	if m.Virtual {
		s.lines = newTimelines()
	}
	return s, nil
}

// create starts segment n, after the one before was finished. In a virtual run its
// finished row groups are its own write-ahead file.
func (s *segments) create(n int) (*segment, error) {
	seg := &segment{disk: s.disk, name: segmentName(n, segmentSuffix), cols: s.cols, chunks: s.chunks, meta: s.meta, lines: s.lines, groupRows: s.groupRows}
	for _, k := range s.chunks {
		k.clearPage()
		k.reset()
	}
	if s.virtual {
		s.lines.turn()
		seg.log = &groupLog{disk: s.disk, name: segmentName(n, groupsSuffix), head: groupsHeader(s.cols)}
	}
	var err error
	if seg.out, err = s.disk.create(seg.name + tmpSuffix); err != nil {
		return nil, err
	}
	return seg, nil
}

// placed is where the gaps of row i of the last that were added are in the
// timelines; nil in real time.
func (s *segments) placed(i int) []stretch {
	if s.lines == nil {
		return nil
	}
	return s.lines.rows[i]
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
		parquet.KeyValueMetadata(keyLoad, m.Load[LoadKind]),
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
	if s.lines != nil {
		s.lines.place(rows)
	}
	for part := range slices.Chunk(rows, cachedRows) {
		for i := range s.cols {
			if c, k := &s.cols[i], s.chunks[i]; c.list == nil {
				c.gather(k, part)
				k.rows += len(part)
			}
		}
	}
	lists := 0 // bytes of their pages
	for i := range s.cols {
		c, k := &s.cols[i], s.chunks[i]
		if c.list == nil {
			continue
		}
		if err := k.lists(c, rows, s.lines); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
		lists += k.body.n
	}
	s.group += len(rows)
	if s.group < s.groupRows && lists < rowGroupLists {
		return nil
	}
	if err := s.flush(); err != nil || s.log == nil {
		return err
	}
	return s.log.append(&s.meta.RowGroups[len(s.meta.RowGroups)-1])
}

// safe is the number of rows that survive the end of the process.
func (s *segment) safe() int64 {
	if s.log == nil {
		return 0 // they are in the write-ahead file
	}
	return s.log.rows
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
		if err := k.body.each(s.write); err != nil {
			return err
		}
		k.reset()
	}
	if s.lines != nil {
		s.lines.turn()
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

// footer is what stands behind the row groups.
func footer(meta *format.FileMetaData) ([]byte, error) {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil, fmt.Errorf("footer: %w", err)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(b)))
	return append(b, magic...), nil
}

// listed reports whether there is a list of row groups, which means nothing
// without the file.
func (s *segment) listed() bool { return s.log != nil && s.log.out != nil }

// finish completes the file and gives it its name. If that fails, row groups
// that are safe stay so.
func (s *segment) finish() (File, error) {
	err := s.flush()
	if err == nil {
		var b []byte
		if b, err = footer(&s.meta); err == nil {
			err = s.write(b)
		}
	}
	end := commit
	if s.listed() {
		end = settle
	}
	err = end(s.disk, s.out, s.name, err)
	if s.log != nil {
		if e := s.log.close(err == nil); err == nil {
			err = e
		}
	}
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", s.name, err)
	}
	return File{Name: s.name, Rows: s.meta.NumRows}, nil
}

// abandon gives the file up: what is safe of it stays, for recovery. Without
// anything it is removed; its rows, if any, are in the write-ahead file.
func (s *segment) abandon() error {
	err := s.out.Close()
	keep := s.listed()
	if s.log != nil {
		err = errors.Join(err, s.log.close(false))
	}
	if err != nil || keep {
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
