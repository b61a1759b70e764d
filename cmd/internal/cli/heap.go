package cli

import (
	"runtime"
	"runtime/debug"
)

// firstCollection is the garbage collector's percentage until it has run for the
// first time: of the runtime's smallest heap, 4 MB, it makes 32 MB.
const firstCollection = 800

// deferCollection puts off the first garbage collection until the heap has 32 MB.
// Collecting the 4 MB that it would begin with takes longer than a short run, and
// a long one does not notice. From then on the setting is what it was; one that
// the user chose, with GOGC, is left alone.
func deferCollection() {
	const usual = 100
	if was := debug.SetGCPercent(firstCollection); was != usual {
		debug.SetGCPercent(was)
		return
	}
	collected := new([16]byte)
	runtime.AddCleanup(collected, func(was int) { debug.SetGCPercent(was) }, usual)
}
