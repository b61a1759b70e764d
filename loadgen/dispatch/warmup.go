package dispatch

import (
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// warmup is what precedes the window.
type warmup struct {
	// opens is the instant from which the arrivals of the window count theirs.
	opens clock.Time
	// sent requests of the warm-up became due; of them so many have not ended, and so
	// many ended without success.
	sent, inFlight, failed int64
	// open: an arrival of the window was arranged; held: it waits for the warm-up.
	open, held bool
}

// arrange puts the next arrival into the loop, or keeps it until the warm-up is over.
func (w *warmup) arrange(a *arrivals) {
	switch d := a.d; {
	case a.next.Warm:
		w.sent++
	case w.open:
		a.follow(w.opens)
	case d.cfg.AwaitWarmup && w.sent > 0:
		w.open, w.held = true, true
		return
	default:
		w.open = true
		d.probes.begin(w.opens)
		a.follow(w.opens)
	}
	a.d.cfg.Loop.At(a.next.At, clock.RankArrival, a)
}

// follow makes the next arrival due, whose schedule begins at opens.
func (a *arrivals) follow(opens clock.Time) {
	a.planned = a.next.At + opens
	a.next.At = a.stretch.At(a.planned)
}

// landed notes the end of a request of the warm-up, and opens the window after the last.
func (w *warmup) landed(a *arrivals, o record.Outcome) {
	if o != record.OK {
		w.failed++
	}
	if w.inFlight--; !w.held || w.inFlight > 0 {
		return
	}
	w.held = false
	w.opens = max(w.opens, a.d.cfg.Loop.Now())
	a.d.probes.begin(w.opens)
	a.follow(w.opens)
	a.d.cfg.Loop.At(a.next.At, clock.RankArrival, a)
}

// Warmups is how many requests of the warm-up became due, and how many of those that
// have ended did not succeed.
func (d *Dispatcher) Warmups() (sent, failed int64) { return d.warm.sent, d.warm.failed }
