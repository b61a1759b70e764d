package record

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// reserved is how many files a disk holds open for the time when the process may open no
// more. Two are as many as are made at once; the others are for whoever is faster.
const reserved = 4

// reserve are files held open so that a run whose connections have taken all others can
// still be recorded. It is safe for concurrent use; the zero value holds none.
type reserve struct {
	mu   sync.Mutex
	held []*os.File
	over bool // holds none any more
}

// fill takes what is missing, if the system gives it.
func (r *reserve) fill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.over && len(r.held) < reserved {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		r.held = append(r.held, f)
	}
}

// give gives one back to the process; false: there is none.
func (r *reserve) give() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.held)
	if n == 0 {
		return false
	}
	err := r.held[n-1].Close()
	r.held = r.held[:n-1]
	return err == nil
}

// open opens a file, with what is in reserve if need be. Between the two somebody else may
// take it, so that it is tried for as long as there is some.
func (r *reserve) open(name string, flag int) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, flag, 0o644)
		if errors.Is(err, syscall.EMFILE) && r.give() {
			continue
		}
		if err == nil {
			r.fill()
		}
		return f, err
	}
}

// end gives all back.
func (r *reserve) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	for r.give() {
	}
}
