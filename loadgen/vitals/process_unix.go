//go:build unix && !solaris && !illumos && !aix

package vitals

import (
	"math"
	"syscall"
	"time"
)

// cpuTime is that of the process, of its own and in the kernel, or -1.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fileLimit is how many files the process may open, or -1.
func fileLimit() int64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return -1
	}
	return int64(min(uint64(l.Cur), math.MaxInt64))
}
