package clock

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fdWaiter waits on a Linux timerfd through Go's network poller.
//
// An idle Go program sleeps in epoll_wait, whose timeout counts milliseconds: that
// is why Go's timers come late when there is little to do. A timerfd is an event
// of epoll, and comes on time. When all processors are busy it is the other way
// round: the poller is looked at rarely, timers at each turn of the scheduler. So
// the wait also has a deadline, which is such a timer, and the first of the two
// ends it. Unlike a system call that blocks, this wait holds no processor (P) that
// other goroutines could use, and a post can end it: a locked thread in clock_nanosleep
// that spins at the end wakes some 30 µs earlier in the median (BenchmarkPacer), spends
// that much processor time on each wait, and cannot be woken.
type fdWaiter struct {
	file *os.File
	conn syscall.RawConn
	fd   int
	spec unix.ItimerSpec // kept here so that arm allocates nothing

	expired func(fd uintptr) bool
}

var _ waiter = (*fdWaiter)(nil)

func newWaiter() (waiter, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("opening a timerfd: %w", err)
	}
	w := &fdWaiter{file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	if w.conn, err = w.file.SyscallConn(); err != nil {
		return nil, fmt.Errorf("opening a timerfd: %w", err)
	}
	var count [8]byte
	w.expired = func(fd uintptr) bool {
		_, err := unix.Read(int(fd), count[:])
		return err == nil
	}
	return w, nil
}

func (w *fdWaiter) String() string { return "timerfd" }

func (w *fdWaiter) arm(d time.Duration) {
	var deadline time.Time
	w.spec.Value = unix.Timespec{} // disarmed
	if d != forever {
		w.spec.Value = unix.NsecToTimespec(int64(d))
		deadline = time.Now().Add(d)
	}
	// Neither call can fail on a timerfd that is open.
	_ = unix.TimerfdSettime(w.fd, 0, &w.spec, nil)
	_ = w.file.SetReadDeadline(deadline)
}

// wait returns when the timerfd has expired or the deadline has passed, which is
// an error that means just that.
func (w *fdWaiter) wait() { _ = w.conn.Read(w.expired) }

// wake moves the deadline into the past.
func (w *fdWaiter) wake() { _ = w.file.SetReadDeadline(time.Unix(1, 0)) }

func (w *fdWaiter) close() { _ = w.file.Close() }
