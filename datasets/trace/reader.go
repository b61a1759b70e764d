package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Reader reads the rows of a trace file one after the other, in constant memory
// where the format allows it (see the package's table).
type Reader struct {
	format  Format
	path    string
	file    io.Closer
	from    source
	skip    bool
	rows    int
	skipped Skipped
	last    int64
	// contexts holds the tokens of the last prompt and answer of each thread, by a
	// hash of its name.
	contexts map[uint64]int
}

// Skipped counts what a reader left out.
type Skipped struct {
	// Bad rows were not as the format says; First is what was wrong with the first.
	Bad   int
	First string
	// Dropped rows are valid but no requests, and Why says which.
	Dropped int
	Why     string
	// Disordered rows have a time before the previous row's. They are not left out.
	Disordered int
}

// NewReader opens the file at path. With opts.SkipBadRows, rows that are not as
// the format says are counted and left out; otherwise they end the reading.
func NewReader(format Format, path string, opts Options) (*Reader, error) {
	open, ok := formats[format]
	if !ok {
		return nil, fmt.Errorf("trace format %q is not known: use one of %s", format, names())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s trace: %w", format, err)
	}
	src, err := open.read(f, path, opts)
	if err != nil {
		f.Close()
		return nil, hint(format, path, err)
	}
	return &Reader{format: format, path: path, file: f, from: src, skip: opts.SkipBadRows, contexts: map[uint64]int{}}, nil
}

// Next fills r with the next row, or returns io.EOF. r.Append is valid until the
// next call.
func (d *Reader) Next(r *Row) error {
	for {
		err := d.from.next(r)
		var bad *rowError
		switch {
		case err == nil:
			err = d.check(r)
		case errors.Is(err, io.EOF) && d.rows == 0 && d.skipped.Bad == 0:
			return fmt.Errorf("%s: found no rows, expected at least one: is this the right file?", d.path)
		case errors.Is(err, io.EOF) && d.rows == 0:
			return fmt.Errorf("%s: all %d rows are bad, the first: %s", d.path, d.skipped.Bad, d.skipped.First)
		}
		if err == nil {
			d.rows++
			return nil
		}
		if !errors.As(err, &bad) {
			return err
		}
		if !d.skip {
			if d.rows == 0 {
				err = hint(d.format, d.path, err)
			}
			return err
		}
		if d.skipped.Bad++; d.skipped.Bad == 1 {
			d.skipped.First = bad.text
		}
	}
}

// check tests what holds in every format: lengths, and the order of time.
func (d *Reader) check(r *Row) error {
	if r.In < 1 || r.Out < 1 || r.Keep < 0 || r.Keep > r.In {
		return &rowError{fmt.Sprintf("%s:%d: row: found %d tokens in, of them %d kept, and %d out: expected at least 1 in and out", d.path, r.Line, r.In, r.Keep, r.Out)}
	}
	if err := d.checkKept(r); err != nil {
		return err
	}
	t := d.from.traits()
	if !t.Timed {
		return nil
	}
	if d.rows > 0 && r.At < d.last {
		if t.Ordered {
			return &rowError{fmt.Sprintf("%s:%d: %s: found a time that is %v before the previous row's, expected rows in order of time", d.path, r.Line, formats[d.format].time, time.Duration(d.last-r.At))}
		}
		d.skipped.Disordered++
	}
	d.last = max(d.last, r.At)
	return nil
}

// checkKept tests that a row keeps no more than there was.
func (d *Reader) checkKept(r *Row) error {
	switch {
	case r.Session == "" && r.Keep > 0:
		return &rowError{fmt.Sprintf("%s:%d: row: found %d tokens kept in a row of no session, expected none: there is nothing before it to keep", d.path, r.Line, r.Keep)}
	case r.Session == "":
		return nil
	}
	id := xxhash.Sum64String(r.Session) + uint64(r.Thread)*0x9e3779b97f4a7c15
	had, seen := d.contexts[id]
	if seen && r.Keep > had {
		return &rowError{fmt.Sprintf("%s:%d: row: found %d tokens kept in session %s, expected at most the %d of the prompt and the answer before it",
			d.path, r.Line, r.Keep, r.Session, had)}
	}
	d.contexts[id] = r.In + r.Out
	return nil
}

// Traits are known after the first row.
func (d *Reader) Traits() Traits { return d.from.traits() }

// Format is that of the file.
func (d *Reader) Format() Format { return d.format }

// Skipped counts what was left out so far.
func (d *Reader) Skipped() Skipped {
	s := d.skipped
	if x, ok := d.from.(dropper); ok {
		if n, why := x.dropped(); n > 0 {
			s.Dropped, s.Why = n, why
		}
	}
	return s
}

// Close closes the file.
func (d *Reader) Close() error { return d.file.Close() }
