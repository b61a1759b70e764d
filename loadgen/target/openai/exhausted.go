package openai

import (
	"errors"
	"sync/atomic"
	"syscall"
)

// exhausted counts what this machine had too little of.
type exhausted struct{ files, ports atomic.Int64 }

// note looks for a want of this machine in an error of connecting.
func (e *exhausted) note(err error) {
	switch {
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		e.files.Add(1)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		e.ports.Add(1)
	}
}

// Exhausted is how many attempts failed because the process could open no further
// file, and because the system had no local port. It may be called from any goroutine.
func (c *Client) Exhausted() (files, ports int64) {
	return c.exhausted.files.Load(), c.exhausted.ports.Load()
}
