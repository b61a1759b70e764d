package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The write-ahead file of a segment holds the rows of the segment until its
// Parquet file is complete: a header line, then frames of
//
//	length uint32 LE | CRC-32C of the payload uint32 LE | payload
//
// where the payload is one row, the stored columns in the order of the table.
// The header carries a fingerprint of the column names, so that a file of
// another build is refused instead of misread.

const (
	walFrameHead = 8
	// walMaxFrame bounds what a damaged length can make the reader allocate.
	walMaxFrame = 64 << 20
)

// errTorn marks the end of what can be read of a write-ahead file: a frame that
// is cut, fails its checksum or does not decode.
var errTorn = errors.New("torn frame")

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func walHeader(cols []column) string { return frameHeader("goodput-wal", cols) }

// frameHeader is the first line of a file of frames.
func frameHeader(what string, cols []column) string {
	h := crc32.New(castagnoli())
	for _, c := range cols {
		if c.put != nil {
			io.WriteString(h, c.name+"\n")
		}
	}
	return fmt.Sprintf("%s %d %08x\n", what, Schema, h.Sum32())
}

// walWriter appends rows to one write-ahead file at a time. It is used by one
// goroutine.
type walWriter struct {
	cols []column
	crc  *crc32.Table
	out  file
	buf  []byte
}

func newWALWriter(cols []column) *walWriter {
	return &walWriter{cols: cols, crc: castagnoli()}
}

// open starts the file that out writes to.
func (w *walWriter) open(out file) error {
	w.out = out
	_, err := io.WriteString(out, walHeader(w.cols))
	return err
}

// append writes rows by one call to the operating system: once it returns they
// survive the end of the process, though not a loss of power, for which a
// segment is synced when it is complete.
func (w *walWriter) append(rows []Request) error {
	w.buf = w.buf[:0]
	for i := range rows {
		w.buf = w.frame(w.buf, &rows[i])
	}
	_, err := w.out.Write(w.buf)
	return err
}

func (w *walWriter) frame(b []byte, r *Request) []byte {
	start := len(b)
	b = append(b, make([]byte, walFrameHead)...)
	for i := range w.cols {
		if put := w.cols[i].put; put != nil {
			b = put(b, r)
		}
	}
	sealFrame(b[start:], w.crc)
	return b
}

// sealFrame fills in the head of a frame that has room for it.
func sealFrame(b []byte, crc *crc32.Table) {
	payload := b[walFrameHead:]
	binary.LittleEndian.PutUint32(b, uint32(len(payload)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(payload, crc))
}

func (w *walWriter) close() error {
	if w.out == nil {
		return nil
	}
	err := w.out.Close()
	w.out = nil
	return err
}

// walReader reads the rows of one write-ahead file.
type walReader struct {
	frameReader
	cols []column
}

// newWALReader checks the header. A file that was cut within the header has no
// rows; next then returns errTorn or io.EOF.
func newWALReader(in io.Reader, cols []column) (*walReader, error) {
	f, err := newFrameReader(in, walHeader(cols))
	if err != nil {
		return nil, err
	}
	return &walReader{frameReader: *f, cols: cols}, nil
}

// next reads one row into r. It returns io.EOF after the last frame and errTorn
// at one that cannot be read; nothing behind that can be trusted.
func (w *walReader) next(r *Request) error {
	payload, err := w.frame()
	if err != nil {
		return err
	}
	r.Reset()
	d := decoder{b: payload}
	for i := range w.cols {
		if get := w.cols[i].get; get != nil {
			get(&d, r)
		}
	}
	if d.bad || len(d.b) != 0 {
		return errTorn
	}
	w.accept(payload)
	return nil
}

// frameReader reads a file of frames.
type frameReader struct {
	crc *crc32.Table
	in  *bufio.Reader
	buf []byte
	// good is the number of bytes of the header and of the frames accepted so far.
	good int64
}

func newFrameReader(in io.Reader, want string) (*frameReader, error) {
	w := &frameReader{crc: castagnoli(), in: bufio.NewReaderSize(in, 1<<16)}
	head := make([]byte, len(want))
	n, err := io.ReadFull(w.in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if string(head[:n]) != want[:n] {
		return nil, fmt.Errorf("not a write-ahead file of this version of goodput (starts with %q, expected %q)", head[:n], want)
	}
	w.good = int64(n)
	return w, nil
}

// frame returns the payload of the next frame, valid until the next call.
func (w *frameReader) frame() ([]byte, error) {
	var head [walFrameHead]byte
	switch _, err := io.ReadFull(w.in, head[:]); {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errTorn
	case err != nil:
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > walMaxFrame {
		return nil, errTorn
	}
	if err := w.fill(int(n)); err != nil {
		return nil, err
	}
	if crc32.Checksum(w.buf, w.crc) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errTorn
	}
	return w.buf, nil
}

// accept counts the frame of payload as good.
func (w *frameReader) accept(payload []byte) { w.good += walFrameHead + int64(len(payload)) }

// fill reads n bytes into buf, growing it only as the bytes arrive, since n may
// be damaged.
func (w *frameReader) fill(n int) error {
	const step = 1 << 20
	w.buf = w.buf[:0]
	for len(w.buf) < n {
		have := len(w.buf)
		more := min(step, n-have)
		w.buf = append(w.buf, make([]byte, more)...)
		_, err := io.ReadFull(w.in, w.buf[have:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errTorn
		}
		if err != nil {
			return err
		}
	}
	return nil
}
