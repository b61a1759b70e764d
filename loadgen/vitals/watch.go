package vitals

import (
	"runtime"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// every is how often a Watch looks.
const every = time.Second

// Watch takes samples on a goroutine of its own, from Start to Stop.
type Watch struct {
	halt func()

	mu          sync.Mutex
	out         record.Generator
	first, last reading
	begun       histograms
}

// reading is the state of the counters at one moment; a negative one is not known.
type reading struct {
	at                   time.Time
	cpu                  time.Duration
	machine, machineBusy int64 // in ticks, since the system started
}

func read() reading {
	r := reading{at: clock.Wall(), cpu: cpuTime(), machine: -1, machineBusy: -1}
	if all, busy, ok := machineTicks(); ok {
		r.machine, r.machineBusy = all, busy
	}
	return r
}

// Start begins to watch.
func Start() *Watch {
	w := &Watch{first: read(), begun: readHistograms()}
	w.last = w.first
	w.out.Procs = runtime.GOMAXPROCS(0)
	w.out.FileLimit, w.out.Ports = known(fileLimit()), known(portRange())
	w.halt = clock.Every(every, w.sample)
	return w
}

// sample takes one more.
func (w *Watch) sample() {
	now, files, sockets := read(), openFiles(), tcpSockets()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Samples++
	w.out.Files, w.out.Sockets = most(w.out.Files, files), most(w.out.Sockets, sockets)
	// A share over a short time is the scheduler's grain.
	if d := now.at.Sub(w.last.at); now.cpu >= 0 && w.last.cpu >= 0 && (d >= every/2 || w.out.Samples == 1) {
		share := min(1, (now.cpu-w.last.cpu).Seconds()/d.Seconds()/float64(w.out.Procs))
		if w.out.Busiest == nil || share > *w.out.Busiest {
			w.out.Busiest = &share
		}
		w.last = now
	}
}

// Stop ends it and returns what was seen.
func (w *Watch) Stop() *record.Generator {
	w.halt()
	w.sample()
	end := read()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.out
	out.Watched = end.at.Sub(w.first.at)
	if end.cpu >= 0 && w.first.cpu >= 0 {
		cpu := end.cpu - w.first.cpu
		out.CPU = &cpu
	}
	if all := end.machine - w.first.machine; w.first.machine >= 0 && all > 0 {
		share := float64(end.machineBusy-w.first.machineBusy) / float64(all)
		out.MachineBusy = &share
	}
	waits, pauses := readHistograms().since(&w.begun)
	out.Waits, out.GCPauses = waits.n(), pauses.n()
	out.SchedP99, out.GCPauseMax = waits.quantile(0.99), pauses.quantile(1)
	return &out
}

// known is nil for a number that the system did not tell.
func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// most is the larger one of the two that are known.
func most(was *int64, n int64) *int64 {
	if n < 0 || was != nil && *was >= n {
		return was
	}
	return &n
}
