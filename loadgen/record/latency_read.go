package record

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// exactMaxima marks logs whose column of maxima is exact.
const exactMaxima = "maxima are exact"

// Latency adds up the histograms of one metric of the latency log over the run. It
// calls bucket for each bucket in use, from the smallest on, with the least and the
// largest value that it can hold, in microseconds, and the number of values. most
// is the largest value of all, exactly; 0 without values. The error says why the
// log can't be used; the rows have all that it has.
func (r *Run) Latency(tag string, bucket func(least, most, n int64)) (most int64, err error) {
	in, err := os.Open(filepath.Join(r.Dir, LatencyName))
	if err != nil {
		return 0, fmt.Errorf("open run: %w", err)
	}
	defer in.Close()
	total := newHistogram(latencyMaxUS)
	if err := readLatency(in, "Tag="+tag+",", total); err != nil {
		return 0, fmt.Errorf("read %s: %w", in.Name(), err)
	}
	for i := total.lo; i <= total.hi; i++ {
		if n := total.counts[i]; n > 0 {
			bucket(histogramTop(i-1)+1, histogramTop(i), n)
		}
	}
	return total.most, nil
}

// readLatency adds the intervals that begin with prefix to total.
func readLatency(in io.Reader, prefix string, total *histogram) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	var line []byte
	var dec histogramDecoder
	exact := false
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) < 1<<24 {
			continue
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && len(line) == 0:
			if !exact {
				return errors.New("a log of another version of goodput")
			}
			return nil
		default:
			return fmt.Errorf("a line is cut off: %w", err)
		}
		exact = exact || line[0] == '#' && bytes.Contains(line, []byte(exactMaxima))
		if interval, ok := bytes.CutPrefix(line[:len(line)-1], []byte(prefix)); ok {
			if err := dec.interval(interval, total); err != nil {
				return err
			}
		}
		line = line[:0]
	}
}

// histogramDecoder is the inverse of histogramEncoder.
type histogramDecoder struct {
	packed []byte
	plain  bytes.Buffer
	zip    io.ReadCloser
}

// interval adds what stands behind the tag: start, length, largest value,
// histogram.
func (d *histogramDecoder) interval(b []byte, total *histogram) error {
	fields := bytes.Split(b, []byte{','})
	if len(fields) != 4 {
		return fmt.Errorf("an interval of %d fields, expected 4", len(fields))
	}
	most, err := strconv.ParseFloat(string(fields[2]), 64)
	if err != nil || !(most >= 0 && most <= latencyMaxUS/1e6) {
		return fmt.Errorf("a largest value of %q s", fields[2])
	}
	if d.packed, err = base64.StdEncoding.AppendDecode(d.packed[:0], fields[3]); err != nil {
		return err
	}
	if err := d.unpack(); err != nil {
		return err
	}
	if err := total.addCounts(d.plain.Bytes()); err != nil {
		return err
	}
	total.most = max(total.most, int64(math.Round(most*1e6)))
	return nil
}

// unpack leaves the counts in plain.
func (d *histogramDecoder) unpack() error {
	const outer, head = 8, 40
	b := d.packed
	if len(b) < outer || binary.BigEndian.Uint32(b) != histogramCompressedCookie {
		return errors.New("not a histogram of version 2")
	}
	var err error
	if src := bytes.NewReader(b[outer:]); d.zip == nil {
		d.zip, err = zlib.NewReader(src)
	} else {
		err = d.zip.(zlib.Resetter).Reset(src, nil)
	}
	if err != nil {
		return err
	}
	d.plain.Reset()
	if _, err := d.plain.ReadFrom(io.LimitReader(d.zip, 1<<24)); err != nil {
		return err
	}
	h := d.plain.Next(head)
	if len(h) < head || binary.BigEndian.Uint32(h) != histogramCookie || binary.BigEndian.Uint32(h[12:]) != latencyDigits ||
		binary.BigEndian.Uint64(h[16:]) != 1 || binary.BigEndian.Uint64(h[24:]) != latencyMaxUS {
		return errors.New("a histogram of other buckets")
	}
	return nil
}

// addCounts is the inverse of appendCounts.
func (h *histogram) addCounts(b []byte) error {
	for i := int64(0); len(b) > 0; {
		c, n := binary.Varint(b)
		if n <= 0 || c == math.MinInt64 {
			return errors.New("counts are cut off")
		}
		b = b[n:]
		if c == 0 {
			i++
			continue
		}
		if c < 0 {
			i += -c
			continue
		}
		if i < 0 || i >= int64(len(h.counts)) {
			return errors.New("a count outside of the range")
		}
		h.counts[i] += c
		h.n += c
		h.lo, h.hi = min(h.lo, int(i)), max(h.hi, int(i))
		i++
	}
	return nil
}
