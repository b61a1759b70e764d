package cli

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
)

func TestPatientKeepsOrder(t *testing.T) {
	var b bytes.Buffer
	p := newPatient(&b)
	line := []byte("....\n")
	var want string
	for i := range 100 {
		copy(line, fmt.Sprintf("%4d", i)) // the caller may reuse its bytes
		want += string(line)
		if n, err := p.Write(line); n != len(line) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	p.close()
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

// With nobody reading, neither writing nor closing hangs.
func TestPatientNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		p := newPatient(w)
		for range 10_000 {
			fmt.Fprintln(p, "a line")
		}
		p.close() // in the time of the bubble, after flushTime
		r.Close() // lets the writer go
	})
}
