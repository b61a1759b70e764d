package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// firstCollection is the garbage collector's percentage until it has run for the
// first time: of the runtime's smallest heap, 4 MB, it makes 32 MB.
const firstCollection = 800

// hugeHeap is how much of the heap asks for huge pages, in bytes. Only what is used
// of it is taken.
const hugeHeap = 64 << 20

// simulating are the commands that simulate for as long as it takes to use the memory.
var simulating = []string{"run", "sweep", "compare"}

// setUpHeap prepares the heap of the process for a command line.
func setUpHeap(args []string) {
	if len(args) > 0 && slices.Contains(simulating, args[0]) {
		preferHugePages(hugeHeap)
	}
	deferCollection()
}

// preferHugePages has the next n bytes of the heap taken from the system in huge pages
// where that is possible. Touching 4 KB after 4 KB for the first time costs a short
// run a quarter of its time, and a long one with many engines misses their addresses.
// The runtime does not ask by itself, and most systems give none to who does not ask.
// The memory is asked for as one object, which is then given up to what follows: by one
// collection, and not by another one before that for the sake of its size.
func preferHugePages(n int) {
	was := debug.SetGCPercent(-1)
	known := adviseHuge(make([]byte, n))
	debug.SetGCPercent(was)
	if known {
		runtime.GC()
	}
}

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
