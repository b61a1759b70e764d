package cli

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// flushTime is how long the end of the program waits for a reader of stderr.
const flushTime = 2 * time.Second

// patient is a writer that never blocks: a goroutine writes behind it, in order.
// A stuck reader (a full pipe, a terminal stopped by Ctrl-S) costs lines, never
// the load, the record or Ctrl-C. It may be used from several goroutines, but not
// after close.
type patient struct {
	texts chan []byte
	done  chan struct{}
	// missed: texts were dropped.
	missed atomic.Bool
}

// newPatient writes to w.
func newPatient(w io.Writer) *patient {
	p := &patient{texts: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for t := range p.texts {
			// Whoever closed stderr does not want to read.
			_, _ = w.Write(t)
		}
	}()
	return p
}

// Write takes a copy of b, or drops it if too much is waiting.
func (p *patient) Write(b []byte) (int, error) {
	select {
	case p.texts <- append([]byte(nil), b...):
	default:
		p.missed.Store(true)
	}
	return len(b), nil
}

// stale reports, once, that texts were dropped and that there is room again.
func (p *patient) stale() bool { return len(p.texts) == 0 && p.missed.Swap(false) }

// close waits until all is written, but no longer than flushTime.
func (p *patient) close() {
	close(p.texts)
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}
