package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// documents reads JSON values one after the other, or the elements of one array,
// and knows the line on which each begins.
type documents struct {
	path    string
	dec     *json.Decoder
	lines   *lineCounter
	inArray bool
	line    int // of the current value
	n       int // values read so far
}

func newDocuments(r io.Reader, path string) (*documents, error) {
	buffered := bufio.NewReader(r)
	d := &documents{path: path, lines: &lineCounter{from: buffered}}
	d.dec = json.NewDecoder(d.lines)
	for {
		c, err := buffered.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: found no rows, expected at least one: is this the right file?", path)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		if c == '\n' {
			d.lines.passed++
		}
		if isSpace(c) {
			continue
		}
		if err := buffered.UnreadByte(); err != nil {
			return nil, err
		}
		if c == '[' {
			d.inArray = true
			_, err = d.dec.Token()
		}
		return d, err
	}
}

// next returns the next value or io.EOF. Text that is no JSON ends the reading.
func (d *documents) next() (json.RawMessage, error) {
	if d.inArray && !d.dec.More() {
		if _, err := d.dec.Token(); err != nil {
			return nil, d.broken(err)
		}
		d.inArray = false
	}
	var raw json.RawMessage
	err := d.dec.Decode(&raw)
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		return nil, d.broken(err)
	}
	d.n++
	d.line = d.lines.at(d.dec.InputOffset() - int64(len(raw)))
	return raw, nil
}

func (d *documents) broken(err error) error {
	at := d.lines.at(d.dec.InputOffset())
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s:%d: row: found the end of the file within a JSON value: is it cut?", d.path, at)
	}
	return fmt.Errorf("%s:%d: row: found no JSON value here: %w", d.path, at, err)
}

// errorf is an error about a field of the current value.
func (d *documents) errorf(field, format string, args ...any) error {
	return &rowError{fmt.Sprintf("%s:%d: %s: %s", d.path, d.line, field, fmt.Sprintf(format, args...))}
}

// object decodes the current value.
func (d *documents) object(raw []byte, to any) error {
	if err := decode(raw, to); err != nil {
		return d.errorf(err.field, "%s", err.text)
	}
	return nil
}

// lineCounter passes bytes on and remembers the line ends that were not asked about
// yet.
type lineCounter struct {
	from   io.Reader
	read   int64
	ends   []int64
	passed int // line ends before those in ends
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	for i, b := range p[:n] {
		if b == '\n' {
			c.ends = append(c.ends, c.read+int64(i))
		}
	}
	c.read += int64(n)
	return n, err
}

// at is the line of an offset; offsets must not fall.
func (c *lineCounter) at(offset int64) int {
	n := 0
	for n < len(c.ends) && c.ends[n] < offset {
		n++
	}
	c.ends = c.ends[n:]
	c.passed += n
	return c.passed + 1
}
