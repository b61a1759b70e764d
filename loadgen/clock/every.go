package clock

import (
	"sync"
	"time"
)

// Every calls f once per d of wall time, on a goroutine of its own, until stop is
// called. It is for displays: a slow f makes calls fall out, and stop waits for a
// call that is under way, but for no more than a second.
func Every(d time.Duration, f func()) (stop func()) {
	halt, done := make(chan struct{}), make(chan struct{})
	ticker := time.NewTicker(d)
	go func() {
		defer close(done)
		defer ticker.Stop()
		for {
			select {
			case <-halt:
				return
			case <-ticker.C:
				f()
			}
		}
	}()
	var once sync.Once
	return func() {
		once.Do(func() { close(halt) })
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
}
