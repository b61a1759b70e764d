package record

import "errors"

// Writer writes one run directory.
type Writer struct{}

// Option changes how a run is written.
type Option func(*config)

type config struct {
	blocking    bool
	segmentRows int
	segmentNS   int64
	onError     func(error)
}

// Blocking makes Write wait for the disk when its queue is full, instead of
// dropping rows: for virtual time, where nothing is late.
func Blocking() Option { return func(c *config) { c.blocking = true } }

// OnError is called once, from another goroutine, when recording stops.
func OnError(f func(error)) Option { return func(c *config) { c.onError = f } }

// Create makes dir and starts a run in it.
func Create(dir string, m Meta, opts ...Option) (*Writer, error) {
	return nil, errors.New("writing a run is not available in this build")
}

// Write records a copy of r.
func (w *Writer) Write(r *Request) {}

// WriteFile puts another file, such as plan.yaml, into the run directory.
func (w *Writer) WriteFile(name string, b []byte) error { return nil }

// Err is the error that stopped recording.
func (w *Writer) Err() error { return nil }

// Close ends the run.
func (w *Writer) Close(f Final) error { return nil }
