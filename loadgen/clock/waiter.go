package clock

import (
	"math"
	"time"
)

// forever is a wait that only wake ends.
const forever time.Duration = math.MaxInt64

// waiter is a way to wait for an instant that can be cut short. A spurious return
// of wait does no harm.
type waiter interface {
	// arm sets up the next wait: it ends after d > 0, or by wake.
	arm(d time.Duration)
	wait()
	// wake ends the wait that was armed last, even if it has not yet begun. It may
	// be called from any goroutine, but not at the same time as arm.
	wake()
	close()
}

// timerWaiter waits on a timer of Go's runtime.
type timerWaiter struct {
	timer *time.Timer
	woken chan struct{}
}

var _ waiter = (*timerWaiter)(nil)

func newTimerWaiter() (waiter, error) {
	t := time.NewTimer(forever)
	t.Stop()
	return &timerWaiter{timer: t, woken: make(chan struct{}, 1)}, nil
}

func (w *timerWaiter) String() string { return "timer" }

func (w *timerWaiter) arm(d time.Duration) {
	select { // a wake that came too late for the wait before
	case <-w.woken:
	default:
	}
	if d == forever {
		w.timer.Stop()
		return
	}
	w.timer.Reset(d)
}

func (w *timerWaiter) wait() {
	select {
	case <-w.timer.C:
	case <-w.woken:
	}
}

func (w *timerWaiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default: // one is enough
	}
}

func (w *timerWaiter) close() { w.timer.Stop() }
