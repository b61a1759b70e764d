package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

// readRows is how many rows are put together at a time: few enough to stay in
// the processor's cache while column after column is filled in.
const readRows = 128

// readSegment calls f for each row of one Parquet file of run and returns their
// number. use tells which of the columns to read.
func readSegment(path string, run *Run, use []bool, f func(*Request) error) (int64, error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open run: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, fmt.Errorf("open run: %w", err)
	}
	return readParquet(path, in, info.Size(), run, use, f)
}

// readParquet is readSegment of an open file of size bytes.
func readParquet(path string, in io.ReaderAt, size int64, run *Run, use []bool, f func(*Request) error) (int64, error) {
	s := segmentReader{reqs: make([]Request, readRows)}
	if err := guard(path, func() error { return s.open(in, size, run, use) }); err != nil {
		return 0, err
	}
	var rows int64
	for _, g := range s.file.RowGroups() {
		if err := guard(path, func() error { s.group(g); return nil }); err != nil {
			return rows, err
		}
		for left := g.NumRows(); left > 0; left -= readRows {
			n := int(min(left, readRows))
			if err := guard(path, func() error { return s.fill(n) }); err != nil {
				return rows, errors.Join(err, s.close())
			}
			for i := range s.reqs[:n] {
				if err := f(&s.reqs[i]); err != nil {
					return rows, errors.Join(err, s.close())
				}
			}
			rows += int64(n)
		}
		if err := s.close(); err != nil {
			return rows, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return rows, nil
}

// guard names the file in an error of f. The Parquet library panics on some
// damaged files; that is an error of the file, not of the program.
func guard(path string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("read %s: the file is damaged (%v); restore it from a copy, or move it away and read the rest", path, p)
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// segmentReader reads one Parquet file, row group by row group, column by
// column.
type segmentReader struct {
	file *parquet.File
	cols []*columnReader
	reqs []Request
}

// columnReader reads one column of a row group.
type columnReader struct {
	col   *column
	index int // in the file
	pages parquet.Pages
	page  page
}

func (s *segmentReader) open(in io.ReaderAt, size int64, run *Run, use []bool) error {
	var err error
	s.file, err = parquet.OpenFile(in, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("not a complete Parquet file (%w); restore it from a copy, or move it away and read the rest", err)
	}
	if err := s.check(run); err != nil {
		return err
	}
	want := schemaOf(run.cols)
	for i := range run.cols {
		c := &run.cols[i]
		if !use[i] {
			continue
		}
		leaf := []string{c.name}
		if c.list != nil {
			leaf = append(leaf, "list", "element")
		}
		have, ok := s.file.Schema().Lookup(leaf...)
		if !ok {
			continue // a file of before the column: it stays unknown
		}
		ours, _ := want.Lookup(leaf...)
		if have.Node.Type().Kind() != ours.Node.Type().Kind() || have.MaxDefinitionLevel != ours.MaxDefinitionLevel ||
			have.MaxRepetitionLevel != ours.MaxRepetitionLevel {
			return fmt.Errorf("column %s is %v, expected %v; the file was not written by goodput", c.name, have.Node, ours.Node)
		}
		s.cols = append(s.cols, &columnReader{col: c, index: have.ColumnIndex})
	}
	return nil
}

// check makes sure that the file is ours, of this version and of this run.
func (s *segmentReader) check(run *Run) error {
	version, ok := s.file.Lookup(keySchema)
	if !ok {
		return fmt.Errorf("a Parquet file, but not one of goodput (no %s in its metadata); move it out of the run directory", keySchema)
	}
	if version != strconv.Itoa(Schema) {
		return fmt.Errorf("schema %s beside a manifest of schema %d; read it with the version of goodput that wrote it", version, Schema)
	}
	if id, _ := s.file.Lookup(keyRun); id != run.Manifest.RunID {
		return fmt.Errorf("a segment of run %s in the directory of run %s; move it to its own", id, run.Manifest.RunID)
	}
	return nil
}

// group starts reading a row group.
func (s *segmentReader) group(g parquet.RowGroup) {
	chunks := g.ColumnChunks()
	for _, c := range s.cols {
		c.pages = chunks[c.index].Pages()
	}
}

func (s *segmentReader) close() error {
	var err error
	for _, c := range s.cols {
		c.release()
		if e := c.pages.Close(); err == nil {
			err = e
		}
	}
	return err
}

// fill reads the next n rows into reqs.
func (s *segmentReader) fill(n int) error {
	for i := range s.reqs[:n] {
		s.reqs[i].Reset()
	}
	for _, c := range s.cols {
		if err := c.read(s.reqs[:n]); err != nil {
			return fmt.Errorf("column %s: %w", c.col.name, err)
		}
	}
	return nil
}

// read fills in the next rows.
func (c *columnReader) read(rows []Request) error {
	for len(rows) > 0 {
		for c.page.left == 0 {
			if err := c.turn(); err != nil {
				return err
			}
		}
		n := min(len(rows), c.page.left)
		if err := c.scatter(rows[:n]); err != nil {
			return err
		}
		c.page.left -= n
		rows = rows[n:]
	}
	return nil
}

func (c *columnReader) scatter(rows []Request) (err error) {
	if c.col.list == nil {
		return c.col.scatter(&c.page, rows)
	}
	for i := range rows {
		l := c.col.list(&rows[i])
		if *l, err = c.page.list(*l); err != nil {
			return err
		}
	}
	return nil
}

// turn goes to the next page.
func (c *columnReader) turn() error {
	c.release()
	p, err := c.pages.ReadPage()
	if errors.Is(err, io.EOF) {
		return errors.New("fewer values than rows")
	}
	if err != nil {
		return err
	}
	c.page.load(p)
	return nil
}

func (c *columnReader) release() {
	parquet.Release(c.page.src)
	c.page.src, c.page.left = nil, 0
}
