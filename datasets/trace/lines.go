package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line in bytes. The longest row of the public traces is
// far below it; a file without line ends is not worth the memory.
const maxLine = 16 << 20

// lines reads a file line by line and remembers where it is. Line ends are LF or
// CRLF, and the last line may lack its own.
type lines struct {
	s    *bufio.Scanner
	path string
	n    int // number of the current line, from 1
}

func newLines(r io.Reader, path string) *lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxLine)
	return &lines{s: s, path: path}
}

// next returns the next line without its end, valid until the next call, or io.EOF.
func (l *lines) next() ([]byte, error) {
	if l.s.Scan() {
		l.n++
		return l.s.Bytes(), nil
	}
	switch err := l.s.Err(); {
	case err == nil:
		return nil, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		l.n++
		return nil, errors.New(l.errorf("line", "found more than %d MiB without a line end, expected one row", maxLine>>20).Error())
	default:
		return nil, fmt.Errorf("read %s after line %d: %w", l.path, l.n, err)
	}
}

// errorf is an error about a field of the current line.
func (l *lines) errorf(field, format string, args ...any) error {
	return &rowError{fmt.Sprintf("%s:%d: %s: %s", l.path, l.n, field, fmt.Sprintf(format, args...))}
}

// empty is the error for a file that ends before its first row.
func (l *lines) empty() error {
	return fmt.Errorf("%s: found no rows, expected at least one: is this the right file?", l.path)
}

// quote shows what was found in a file, cut to a length that fits a message.
func quote(found []byte) string {
	const most = 60
	if len(found) > most {
		return fmt.Sprintf("%q and %d bytes more", found[:most], len(found)-most)
	}
	return fmt.Sprintf("%q", found)
}
