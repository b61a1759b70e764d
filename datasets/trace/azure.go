package trace

import (
	"bytes"
	"errors"
	"io"

	"goodput/datasets"
)

// The columns of an Azure trace, numbered.
const (
	colTime = iota
	colIn
	colOut
	numCols
)

var azureColumns = [numCols]string{colTime: "TIMESTAMP", colIn: "ContextTokens", colOut: "GeneratedTokens"}

// azure reads the CSV of the Azure LLM inference traces.
type azure struct {
	l     *lines
	order [numCols]int
}

func newAzure(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	header, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, l.empty()
	}
	if err != nil {
		return nil, err
	}
	order, err := azureHeader(l, header)
	if err != nil {
		return nil, err
	}
	return &azure{l, order}, nil
}

func (*azure) traits() Traits { return Traits{Timed: true, Recorded: true, Ordered: true} }

// azureHeader returns the column to which each field of the file's rows belongs.
func azureHeader(l *lines, line []byte) (order [numCols]int, err error) {
	var seen [numCols]bool
	n := 0
	for found := range bytes.SplitSeq(line, []byte{','}) {
		col := -1
		for c, want := range azureColumns {
			if string(found) == want {
				col = c
			}
		}
		if col < 0 {
			return order, l.errorf("header", "found column %s, expected TIMESTAMP, ContextTokens and GeneratedTokens only", quote(found))
		}
		if seen[col] {
			return order, l.errorf("header", "found column %s twice, expected it once", azureColumns[col])
		}
		seen[col] = true
		order[n] = col
		n++
	}
	for c, ok := range seen {
		if !ok {
			return order, l.errorf("header", "found no column %s in %s", azureColumns[c], quote(line))
		}
	}
	return order, nil
}

func (a *azure) next(r *Row) error {
	line, err := a.l.next()
	if err != nil {
		return err
	}
	l := a.l
	if n := bytes.Count(line, []byte{','}) + 1; n != numCols {
		return l.errorf("row", "found %d fields in %s, expected %d", n, quote(line), numCols)
	}
	var row [numCols][]byte
	for i := range numCols {
		row[a.order[i]], line, _ = bytes.Cut(line, []byte{','})
	}
	r.alone()
	r.Line = l.n
	var ok bool
	if r.At, ok = parseTimestamp(row[colTime]); !ok {
		return l.errorf(azureColumns[colTime], "found %s, expected a time such as 2023-11-16 18:17:03.9799600", quote(row[colTime]))
	}
	if r.In, err = l.tokens(azureColumns[colIn], row[colIn], 1); err != nil {
		return err
	}
	r.Out, err = l.tokens(azureColumns[colOut], row[colOut], 1)
	return err
}

// parseTokens reads a number of tokens up to datasets.MaxTokens, digits only.
func parseTokens(b []byte) (int, bool) {
	if len(b) < 1 || len(b) > len("268435456") {
		return 0, false
	}
	for _, c := range b {
		if !isDigit(c) {
			return 0, false
		}
	}
	n := number(b)
	return n, n <= datasets.MaxTokens
}

// tokens reads a field that must be a number of tokens of at least least.
func (l *lines) tokens(field string, b []byte, least int) (int, error) {
	if n, ok := parseTokens(b); ok && n >= least {
		return n, nil
	}
	return 0, l.errorf(field, "found %s, expected a whole number from %d to %d", quote(b), least, datasets.MaxTokens)
}
