package record

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

const (
	segmentPrefix = "requests-"
	segmentSuffix = ".parquet"
	walSuffix     = ".wal"
	tmpSuffix     = ".tmp"

	// rowGroupRows bounds the memory of a writer or reader of a segment.
	rowGroupRows = 40 * batchRows

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
	disk  disk
	name  string
	out   file
	cols  []column
	pq    *parquet.GenericWriter[any]
	vals  []parquet.Value
	texts arena
	rows  int64
	group int // rows since the last row group
}

func createSegment(d disk, n int, cols []column, m *Manifest) (*segment, error) {
	s := &segment{disk: d, name: segmentName(n, segmentSuffix), cols: cols}
	out, err := d.create(s.name + tmpSuffix)
	if err != nil {
		return nil, err
	}
	s.out = out
	s.pq = parquet.NewGenericWriter[any](out, schemaOf(cols),
		parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("goodput", m.Version, ""),
		parquet.KeyValueMetadata(keySchema, strconv.Itoa(Schema)),
		parquet.KeyValueMetadata(keyRun, m.RunID),
		parquet.KeyValueMetadata(keyPlan, m.PlanHash),
		parquet.KeyValueMetadata(keyDefinitions, definitionsText()),
	)
	return s, nil
}

// add appends rows, column by column.
func (s *segment) add(rows []Request) error {
	if len(rows) == 0 {
		return nil
	}
	writers := s.pq.ColumnWriters()
	for i := range s.cols {
		c := &s.cols[i]
		s.vals = s.vals[:0]
		s.texts.reset()
		if c.list != nil {
			s.lists(rows, c, i)
		} else {
			s.scalars(rows, c, i)
		}
		if _, err := writers[i].WriteRowValues(s.vals); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	s.rows += int64(len(rows))
	s.group += len(rows)
	if s.group >= rowGroupRows {
		s.group = 0
		return s.pq.Flush()
	}
	return nil
}

func (s *segment) scalars(rows []Request, c *column, i int) {
	level := 0
	if c.node.Optional() {
		level = 1
	}
	for j := range rows {
		v := c.value(&rows[j], &s.texts)
		v.SetColumnIndex(i)
		if !v.IsNull() {
			v.SetDefinitionLevel(level)
		}
		s.vals = append(s.vals, v)
	}
}

// lists appends lists in Parquet's levels: definition 0 is a null list, 2 an
// element; repetition 0 starts a row, 1 continues it.
func (s *segment) lists(rows []Request, c *column, i int) {
	for j := range rows {
		l := *c.list(&rows[j])
		if len(l) == 0 {
			s.vals = append(s.vals, parquet.NullValue().Level(0, 0, i))
			continue
		}
		for k, v := range l {
			e := parquet.Int32Value(v)
			e.SetColumnIndex(i)
			e.SetDefinitionLevel(2)
			e.SetRepetitionLevel(min(k, 1))
			s.vals = append(s.vals, e)
		}
	}
}

// finish completes the file and gives it its name.
func (s *segment) finish() (File, error) {
	err := s.pq.Close()
	if err = commit(s.disk, s.out, s.name, err); err != nil {
		return File{}, fmt.Errorf("write %s: %w", s.name, err)
	}
	return File{Name: s.name, Rows: s.rows}, nil
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
