//go:build !linux

package clock

// newWaiter is the best way to wait that the system has.
func newWaiter() (waiter, error) { return newTimerWaiter() }
