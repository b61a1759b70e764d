package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func collecting() int {
	p := debug.SetGCPercent(-1)
	debug.SetGCPercent(p)
	return p
}

func TestFirstCollectionIsDeferred(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	deferCollection()
	if p := collecting(); p != firstCollection {
		t.Fatalf("before the first collection: %d %%", p)
	}
	// The clean-up runs some time after the collection that finds it.
	for range 1000 {
		runtime.GC()
		if collecting() == 100 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("after collections: %d %%", collecting())
}

func TestChosenCollectionIsKept(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(70))
	deferCollection()
	if p := collecting(); p != 70 {
		t.Errorf("a GOGC of 70 became %d", p)
	}
}
