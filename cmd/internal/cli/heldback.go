package cli

import (
	"bytes"
	"io"
	"sync"
)

// mostHeld is how much text is kept while a view has the screen.
const mostHeld = 1 << 16

// heldBack is a writer that can keep back what is written, for the time that a view has the
// screen. It may be used from several goroutines.
type heldBack struct {
	mu   sync.Mutex
	out  io.Writer
	keep bool
	text bytes.Buffer
}

// Write passes b on, or keeps it as far as there is room.
func (h *heldBack) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.keep {
		return h.out.Write(b)
	}
	h.text.Write(b[:min(len(b), max(mostHeld-h.text.Len(), 0))])
	return len(b), nil
}

// hold keeps back what is written from now on.
func (h *heldBack) hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep = true
}

// release writes what was kept, and nothing is kept any more.
func (h *heldBack) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keep = false
	// Whoever closed stderr does not want to read.
	_, _ = h.out.Write(h.text.Bytes())
	h.text.Reset()
}
