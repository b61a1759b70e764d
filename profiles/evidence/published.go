package evidence

import (
	"bytes"
	"embed"
	"fmt"
	"path"
)

// The tables hold figures of openly licensed sources only (Apache-2.0, MIT), for the
// GPUs and models that have a profile. Of sources with hundreds of rows, those of
// some configurations (see Point.Bucket), engines and versions were taken, without
// regard to what was measured.
//
//go:embed points/*.csv
var tables embed.FS

// Published returns the embedded rows, file by file.
func Published() ([]Point, error) {
	var out []Point
	seen := map[string]string{}
	err := each(func(name string, data []byte) error {
		points, err := Parse(name, bytes.NewReader(data))
		if err != nil {
			return err
		}
		for i := range points {
			p := &points[i]
			if other := seen[p.ID]; other != "" {
				return &Error{name, p.Line, "id", fmt.Sprintf("%q is in %s already", p.ID, other)}
			}
			seen[p.ID] = name
		}
		out = append(out, points...)
		return nil
	})
	return out, err
}

// Text is the embedded tables as one: a table to start one's own from.
func Text() ([]byte, error) {
	var out []byte
	err := each(func(_ string, data []byte) error {
		if len(out) > 0 {
			_, data, _ = bytes.Cut(data, []byte("\n")) // one header is enough
		}
		out = append(out, data...)
		return nil
	})
	return out, err
}

func each(f func(name string, data []byte) error) error {
	entries, err := tables.ReadDir("points")
	if err != nil {
		return fmt.Errorf("reading the embedded tables: %w", err)
	}
	for _, e := range entries {
		data, err := tables.ReadFile(path.Join("points", e.Name()))
		if err != nil {
			return fmt.Errorf("reading the embedded tables: %w", err)
		}
		if err := f(e.Name(), data); err != nil {
			return err
		}
	}
	return nil
}
