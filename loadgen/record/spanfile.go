package record

import (
	"errors"
	"slices"
)

// spanSegment is how many rows a file of spans has.
const spanSegment = 1 << 16

func spanFiles() rowFiles { return rowFiles{prefix: "spans-", what: "spans"} }

// WriteSpans writes the spans of a run into its directory, after the last of them has
// come. Each file is there as a whole or not at all. Without spans there is no file.
func WriteSpans(dir string, spans []Span) (err error) {
	if len(spans) == 0 {
		return nil
	}
	d, err := spanFiles().open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n := 0
	for part := range slices.Chunk(spans, spanSegment) {
		n++
		if err := writeRows(spanFiles(), d, n, part, (*Span).row); err != nil {
			return err
		}
	}
	return nil
}

// Spans calls f for every span of the run. found is false for a run without any.
func (r *Run) Spans(f func(*Span) error) (found bool, err error) {
	return eachRow(spanFiles(), r.Dir, func(row *spanRow) error {
		s, err := row.span()
		if err != nil {
			return err
		}
		return f(&s)
	})
}
