package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

const (
	spanPrefix  = "spans-"
	spanSegment = 1 << 16 // rows of a file
	spanBatch   = 256
)

// spanFile is the name of segment n, from 1.
func spanFile(n int) string { return fmt.Sprintf("%s%05d%s", spanPrefix, n, segmentSuffix) }

// WriteSpans writes the spans of a run into its directory, after the last of them has
// come. Each file is there as a whole or not at all. Without spans there is no file.
func WriteSpans(dir string, spans []Span) (err error) {
	if len(spans) == 0 {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	// The run's Writer holds the lock of the directory.
	d := &osDisk{dir: dir, lock: f}
	defer func() { err = errors.Join(err, d.close()) }()
	n := 0
	for part := range slices.Chunk(spans, spanSegment) {
		n++
		if err := writeSpans(d, n, part); err != nil {
			return fmt.Errorf("write spans: %w", err)
		}
	}
	return nil
}

func writeSpans(d disk, n int, spans []Span) error {
	var b bytes.Buffer
	out := parquet.NewGenericWriter[spanRow](&b, parquet.Compression(&parquet.Zstd))
	rows := make([]spanRow, 0, spanBatch)
	for part := range slices.Chunk(spans, spanBatch) {
		rows = rows[:0]
		for i := range part {
			rows = append(rows, part[i].row())
		}
		if _, err := out.Write(rows); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return replaceFile(d, spanFile(n), b.Bytes())
}

// Spans calls f for every span of the run. found is false for a run without any.
func (r *Run) Spans(f func(*Span) error) (found bool, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return false, fmt.Errorf("read spans: %w", err)
	}
	for _, e := range entries {
		text, ok1 := strings.CutPrefix(e.Name(), spanPrefix)
		text, ok2 := strings.CutSuffix(text, segmentSuffix)
		if n, err := strconv.Atoi(text); !ok1 || !ok2 || err != nil || spanFile(n) != e.Name() {
			continue
		}
		found = true
		if err := readSpans(filepath.Join(r.Dir, e.Name()), f); err != nil {
			return true, err
		}
	}
	return found, nil
}

func readSpans(name string, f func(*Span) error) error {
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read spans: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read spans: %w", err)
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	rows := parquet.NewGenericReader[spanRow](file)
	defer rows.Close()
	buf := make([]spanRow, spanBatch)
	for {
		n, err := rows.Read(buf)
		for i := range buf[:n] {
			s, e := buf[i].span()
			if e == nil {
				e = f(&s)
			}
			if e != nil {
				return e
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}
