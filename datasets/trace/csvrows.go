package trace

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// csvRows reads CSV without quotes by the names of its columns. Further columns are
// passed over.
type csvRows struct {
	l      *lines
	place  []int    // of each column of the file among the wanted ones; -1: none
	has    []bool   // the file has the wanted column
	fields [][]byte // of the current row, by wanted column; nil: the file lacks it
}

// newCSVRows reads the header. The wanted columns come first required, then
// optional.
func newCSVRows(l *lines, required, optional []string) (*csvRows, error) {
	header, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, l.empty()
	}
	if err != nil {
		return nil, err
	}
	wanted := append(append([]string{}, required...), optional...)
	c := &csvRows{l: l, has: make([]bool, len(wanted)), fields: make([][]byte, len(wanted))}
	for name := range bytes.SplitSeq(header, []byte{','}) {
		place := -1
		for i, w := range wanted {
			if strings.EqualFold(w, string(bytes.TrimSpace(name))) {
				place = i
			}
		}
		if place >= 0 {
			if c.has[place] {
				return nil, l.errorf("header", "found column %s twice, expected it once", wanted[place])
			}
			c.has[place] = true
		}
		c.place = append(c.place, place)
	}
	for i, name := range required {
		if !c.has[i] {
			return nil, l.errorf("header", "found no column %s in %s, expected %s", name, quote(header), strings.Join(required, ", "))
		}
	}
	return c, nil
}

// next reads the next row into fields, which are valid until the next call.
func (c *csvRows) next() error {
	line, err := c.l.next()
	if err != nil {
		return err
	}
	if n := bytes.Count(line, []byte{','}) + 1; n != len(c.place) {
		return c.l.errorf("row", "found %d fields in %s, expected %d", n, quote(line), len(c.place))
	}
	for _, place := range c.place {
		field, rest, _ := bytes.Cut(line, []byte{','})
		line = rest
		if place >= 0 {
			c.fields[place] = field
		}
	}
	return nil
}
