//go:build unix

package cli

import (
	"syscall"
	"time"
)

// processorTime is what the process has taken of its processors; ok is false if the system
// does not tell.
func processorTime() (d time.Duration, ok bool) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, false
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), true
}
