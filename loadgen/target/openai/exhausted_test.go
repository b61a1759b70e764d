package openai

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestExhausted(t *testing.T) {
	dial := func(no syscall.Errno) error {
		return fmt.Errorf("Post: %w", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", no)})
	}
	tests := []struct {
		name         string
		err          error
		files, ports int64
	}{
		{"too many open files", dial(syscall.EMFILE), 1, 0},
		{"too many open files in the system", dial(syscall.ENFILE), 1, 0},
		{"no local port", dial(syscall.EADDRNOTAVAIL), 0, 1},
		{"refused by the server", dial(syscall.ECONNREFUSED), 0, 0},
		{"something else", errors.New("TLS"), 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c Client
			c.exhausted.note(tt.err)
			if files, ports := c.Exhausted(); files != tt.files || ports != tt.ports {
				t.Errorf("%d files and %d ports, want %d and %d", files, ports, tt.files, tt.ports)
			}
		})
	}
}
