package record

import "errors"

// Run is a run directory opened for reading.
type Run struct {
	Dir      string
	Manifest Manifest
}

// ReadOption narrows what Requests reads.
type ReadOption func(*readConfig)

type readConfig struct{ columns map[string]bool }

// Columns reads only these columns of FORMAT.md; the other fields stay unknown.
func Columns(names ...string) ReadOption { return func(c *readConfig) {} }

// WithoutGaps leaves out the per-token lists.
func WithoutGaps() ReadOption { return func(c *readConfig) {} }

// Open opens a run that is complete, interrupted or still being written.
func Open(dir string) (*Run, error) {
	return nil, errors.New("reading a run is not available in this build")
}

// Requests calls f for every row in the order of the files. The Request is
// valid until f returns.
func (r *Run) Requests(f func(*Request) error, opts ...ReadOption) error { return nil }
