package trace

import (
	"bytes"
	"errors"
	"io"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// azure is an Azure trace in memory.
type azure struct {
	path string
	seed uint64
	arrivals
	in, out []int32
}

var _ datasets.Set = (*azure)(nil)

func (a *azure) Len() int { return len(a.at) }

func (a *azure) Timed() bool { return true }

func (a *azure) String() string { return name(Azure, a.path, a.Len(), a.seed) }

// PrefixesUnknown reports that the format does not say which prompts begin alike.
func (a *azure) PrefixesUnknown() bool { return true }

func (a *azure) Item(i int, dst *datasets.Item) {
	own := rng.New(a.seed, "azure row", uint64(i))
	input, answer := own.Uint64(), own.Uint64()
	in := int(a.in[i])
	*dst = datasets.Item{
		Prompt: append(dst.Prompt[:0], datasets.Span{Key: input, Tokens: in, Private: true}),
		In:     in,
		Out:    int(a.out[i]),
		OutKey: answer,
		At:     a.at[i],
	}
}

// The columns of an Azure trace, numbered.
const (
	colTime = iota
	colIn
	colOut
	numCols
)

var azureColumns = [numCols]string{colTime: "TIMESTAMP", colIn: "ContextTokens", colOut: "GeneratedTokens"}

func readAzure(r io.Reader, path string, opts Options) (datasets.Set, error) {
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
	a := &azure{path: path, seed: opts.Seed}
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = a.addRow(l, line, order)
		}
		if err != nil {
			return nil, err
		}
	}
	if a.Len() == 0 {
		return nil, l.empty()
	}
	return a, nil
}

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

func (a *azure) addRow(l *lines, line []byte, order [numCols]int) error {
	if n := bytes.Count(line, []byte{','}) + 1; n != numCols {
		return l.errorf("row", "found %d fields in %s, expected %d", n, quote(line), numCols)
	}
	var row [numCols][]byte
	for i := range numCols {
		row[order[i]], line, _ = bytes.Cut(line, []byte{','})
	}
	ns, ok := parseTimestamp(row[colTime])
	if !ok {
		return l.errorf(azureColumns[colTime], "found %s, expected a time such as 2023-11-16 18:17:03.9799600", quote(row[colTime]))
	}
	var tokens [numCols]int32
	for _, c := range []int{colIn, colOut} {
		if tokens[c], ok = parseTokens(row[c]); !ok {
			return l.errorf(azureColumns[c], "found %s, expected a whole number from 1 to %d", quote(row[c]), datasets.MaxTokens)
		}
	}
	if !a.add(ns) {
		return l.errorf(azureColumns[colTime], "found %s, which is before the previous row, expected rows in order of time", quote(row[colTime]))
	}
	a.in = append(a.in, tokens[colIn])
	a.out = append(a.out, tokens[colOut])
	return nil
}

// parseTokens reads a number of tokens from 1 to datasets.MaxTokens, digits only.
func parseTokens(b []byte) (int32, bool) {
	if len(b) < 1 || len(b) > len("268435456") {
		return 0, false
	}
	for _, c := range b {
		if !isDigit(c) {
			return 0, false
		}
	}
	n := number(b)
	return int32(n), n >= 1 && n <= datasets.MaxTokens
}
