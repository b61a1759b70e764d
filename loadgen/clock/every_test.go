package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"goodput/loadgen/clock"
)

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		stop := clock.Every(time.Second, func() { n++ })
		time.Sleep(3500 * time.Millisecond) // the bubble's time, not the wall's
		stop()
		stop() // a second call is harmless
		at := n
		time.Sleep(5 * time.Second)
		if at != 3 || n != 3 {
			t.Errorf("called %d times in 3.5 s, and %d after stop", at, n-at)
		}
	})
}
