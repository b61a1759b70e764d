package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A virtual run makes rows faster than a write-ahead file could take them a
// second time. Its row groups go straight to requests-NNNNN.parquet.tmp, and what
// a footer would say of each follows in requests-NNNNN.groups: a header line, then
// a frame as in a write-ahead file for each row group. With these the segment can
// be read, and completed, whatever happens to the process.

func groupsHeader(cols []column) string { return frameHeader("goodput-groups", cols) }

// groupLog writes the list of row groups of one segment.
type groupLog struct {
	disk disk
	name string
	head string
	out  file // nil: no row group yet
	rows int64
}

// append lists g, which is written. Once it returns, the rows of g survive the end
// of the process, though not a loss of power.
func (l *groupLog) append(g *format.RowGroup) error {
	b, err := thrift.Marshal(new(thrift.CompactProtocol), g)
	if err != nil {
		return fmt.Errorf("row group: %w", err)
	}
	frame := append(make([]byte, walFrameHead), b...)
	sealFrame(frame, castagnoli())
	if l.out == nil {
		if l.out, err = l.disk.create(l.name); err != nil {
			return err
		}
		frame = append([]byte(l.head), frame...)
	}
	if _, err := l.out.Write(frame); err != nil {
		return err
	}
	l.rows += g.NumRows
	return nil
}

// close closes the list, and removes it if the segment is complete without it.
func (l *groupLog) close(done bool) error {
	if l.out == nil {
		return nil
	}
	err := l.out.Close()
	if err == nil && done {
		err = l.disk.remove(l.name)
	}
	return err
}

// openGroups is segment n of dir, which has no footer yet, with the row groups
// that are listed. lost is the number of bytes, of both files, that are not.
func openGroups(dir string, n int, cols []column, m *Manifest) (meta *format.FileMetaData, end, lost int64, err error) {
	name := segmentName(n, groupsSuffix)
	in, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, 0, 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, 0, 0, err
	}
	frames, err := newFrameReader(in, groupsHeader(cols))
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	data, err := os.Stat(filepath.Join(dir, segmentName(n, segmentSuffix+tmpSuffix)))
	if err != nil {
		return nil, 0, 0, err
	}
	if meta, err = emptyMeta(cols, m); err != nil {
		return nil, 0, 0, err
	}
	end = int64(len(magic))
	for {
		payload, err := frames.frame()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			break
		}
		if err != nil {
			return nil, 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		var g format.RowGroup
		// Row groups lie one after the other; one that does not, or that the data was
		// not written of before a loss of power, ends what can be trusted.
		if thrift.Unmarshal(new(thrift.CompactProtocol), payload, &g) != nil || g.FileOffset != end ||
			g.TotalCompressedSize <= 0 || g.TotalCompressedSize > data.Size()-end || len(g.Columns) != len(cols) {
			break
		}
		frames.accept(payload)
		end += g.TotalCompressedSize
		meta.RowGroups = append(meta.RowGroups, g)
		meta.NumRows += g.NumRows
	}
	return meta, end, info.Size() - frames.good + max(0, data.Size()-end), nil
}

// tailed is a file whose bytes behind end are others.
type tailed struct {
	in   io.ReaderAt
	end  int64
	tail []byte
}

func (t *tailed) size() int64 { return t.end + int64(len(t.tail)) }

// ReadAt implements io.ReaderAt.
func (t *tailed) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, errors.New("negative offset")
	}
	n := 0
	if at < t.end {
		want := min(int64(len(p)), t.end-at)
		var err error
		if n, err = t.in.ReadAt(p[:want], at); int64(n) < want {
			return n, err
		}
	}
	if n == len(p) {
		return n, nil
	}
	if from := at + int64(n) - t.end; from < int64(len(t.tail)) {
		n += copy(p[n:], t.tail[from:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

var _ io.ReaderAt = (*tailed)(nil)
