//go:build unix && !solaris && !illumos && !aix

package record

import (
	"os"
	"syscall"
)

// lockFile takes f for this process. The kernel gives it back when the process
// ends, however it ends.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
