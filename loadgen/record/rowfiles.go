package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// rowBatch is how many rows are held while they are written and read.
const rowBatch = 256

// rowFiles are the files of one kind of row beside those of the requests: PREFIX00001.parquet
// and so on. Each is there as a whole or not at all.
type rowFiles struct {
	prefix string // of a file's name
	what   string // the rows, for errors
}

// name is that of file n, from 1.
func (k rowFiles) name(n int) string { return fmt.Sprintf("%s%05d%s", k.prefix, n, segmentSuffix) }

// is says whether a file is one of them.
func (k rowFiles) is(name string) bool {
	text, ok1 := strings.CutPrefix(name, k.prefix)
	text, ok2 := strings.CutSuffix(text, segmentSuffix)
	n, err := strconv.Atoi(text)
	return ok1 && ok2 && err == nil && k.name(n) == name
}

// open returns the directory to write into. The run's Writer holds its lock.
func (k rowFiles) open(dir string) (*osDisk, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", k.what, err)
	}
	return newOSDisk(dir, f), nil
}

// writeRows writes file n of kind k: a row of each of the things.
func writeRows[T, R any](k rowFiles, d disk, n int, things []T, row func(*T) R) error {
	var b bytes.Buffer
	out := parquet.NewGenericWriter[R](&b, parquet.Compression(&parquet.Zstd))
	rows := make([]R, 0, rowBatch)
	for i := range things {
		if rows = append(rows, row(&things[i])); len(rows) < rowBatch && i < len(things)-1 {
			continue
		}
		if _, err := out.Write(rows); err != nil {
			return fmt.Errorf("write %s: %w", k.what, err)
		}
		rows = rows[:0]
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write %s: %w", k.what, err)
	}
	if err := replaceFile(d, k.name(n), b.Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", k.what, err)
	}
	return nil
}

// eachRow calls f for every row of the files of kind k in dir, in the order in which they
// were written. found is false if there are none.
func eachRow[R any](k rowFiles, dir string, f func(*R) error) (found bool, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", k.what, err)
	}
	for _, e := range entries {
		if !k.is(e.Name()) {
			continue
		}
		found = true
		if err := readRowFile(filepath.Join(dir, e.Name()), k.what, f); err != nil {
			return true, err
		}
	}
	return found, nil
}

func readRowFile[R any](name, what string, f func(*R) error) error {
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	rows := parquet.NewGenericReader[R](file)
	defer rows.Close()
	for {
		buf := make([]R, rowBatch) // new lists, which the reader would use again
		n, err := rows.Read(buf)
		for i := range buf[:n] {
			if e := f(&buf[i]); e != nil {
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
