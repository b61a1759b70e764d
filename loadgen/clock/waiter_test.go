package clock

import (
	"testing"
	"time"
)

func eachWaiter(t *testing.T, f func(t *testing.T, w waiter)) {
	for name, newW := range map[string]func() (waiter, error){"default": newWaiter, "portable": newTimerWaiter} {
		t.Run(name, func(t *testing.T) {
			w, err := newW()
			if err != nil {
				t.Fatal(err)
			}
			defer w.close()
			f(t, w)
		})
	}
}

func TestWakeBeforeWait(t *testing.T) {
	eachWaiter(t, func(t *testing.T, w waiter) {
		for range 3 {
			w.arm(forever)
			w.wake()
			w.wake()
			w.wait()
		}
	})
}

func TestWakeDuringWait(t *testing.T) {
	eachWaiter(t, func(t *testing.T, w waiter) {
		w.arm(time.Hour)
		go w.wake()
		w.wait()
	})
}

// TestOldWakeEndsNoNewWait: a wake belongs to the wait that was armed before it.
func TestOldWakeEndsNoNewWait(t *testing.T) {
	eachWaiter(t, func(t *testing.T, w waiter) {
		w.arm(1)
		w.wait()
		w.wake()

		begin := time.Now()
		const d = 2 * time.Millisecond
		w.arm(d)
		w.wait()
		if got := time.Since(begin); got < d {
			t.Errorf("waited %v, want %v", got, d)
		}
	})
}

func TestWaitAllocatesNothing(t *testing.T) {
	eachWaiter(t, func(t *testing.T, w waiter) {
		if n := testing.AllocsPerRun(50, func() {
			w.arm(1000)
			w.wait()
			w.arm(forever)
			w.wake()
			w.wait()
		}); n != 0 {
			t.Errorf("%v allocations for two waits", n)
		}
	})
}
