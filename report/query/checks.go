package query

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Checks hold a run's record against what must be true of it.
type Checks struct {
	// Decided requests have a row that decides them, in all phases; below 0: only a part
	// of the rows was read.
	Decided int64
	// Attempts left the generator, in all phases.
	Attempts int64
	// Little compares the mean number in flight during the window with what arrivals
	// and times in flight give.
	Little Little
	// Settled is when the number in flight was found to be past its transient (MSER-5,
	// to a bin of the timeline), Before and After the mean numbers in flight before and
	// after that. SettledKnown is false for fewer than 50 bins.
	Settled       time.Duration
	SettledKnown  bool
	Before, After float64
}

// Little is L = lambda W: InFlight is the mean number in flight over the window,
// Product the rate at which attempts left in it times their mean time in flight. They
// agree where the load is steady and the window long against that time. Known is false
// without a window in the manifest, or one under five mean times.
type Little struct {
	InFlight, Product float64
	Known             bool
}

// Off is by how much the two differ, relative to the larger one.
func (l Little) Off() float64 {
	return math.Abs(l.InFlight-l.Product) / max(l.InFlight, l.Product, math.SmallestNonzeroFloat64)
}

// LittleBound is the difference beyond which a run was not steady. A steady one that
// begins empty is off by E[W²]/(2 E[W]) over the window: a tenth if all times are
// equal and the window is five of them, a fifth if they are exponential.
const LittleBound = 0.25

// checks accumulates Checks.
type checks struct {
	window  *record.Window
	decided int64
	sent    int64   // attempts
	left    int64   // attempts that left in the window
	inside  float64 // time in flight within the window, ns
	whole   float64 // time in flight of those that left in it, ns
}

// account takes a row that is none of the load.
func (c *checks) account(r *record.Request) {
	if r.Final {
		c.decided++
	}
	if r.Dispatched.Known() {
		c.sent++
	}
}

func (c *checks) add(r *record.Request) {
	c.account(r)
	from, to, ok := underWay(r)
	if !ok || c.window == nil {
		return
	}
	w := c.window
	c.inside += float64(max(0, min(to, w.End)-max(from, w.Start)))
	if from >= w.Start && from <= w.End {
		c.left++
		c.whole += float64(to - from)
	}
}

func (c *checks) finish(t *Timeline, last clock.Time) Checks {
	out := Checks{Decided: c.decided, Attempts: c.sent}
	if c.window != nil && c.left >= 100 && c.window.End > c.window.Start {
		span := float64(c.window.End - c.window.Start)
		out.Little = Little{InFlight: c.inside / span, Product: c.whole / span, Known: span >= 5*c.whole/float64(c.left)}
	}
	out.settle(t, last)
	return out
}

// settle finds the transient of the number in flight up to the last arrival.
func (c *Checks) settle(t *Timeline, last clock.Time) {
	if !last.Known() || t.Width == 0 {
		return
	}
	var x []float64
	for i := range t.Bins {
		if time.Duration(i+1)*t.Width <= time.Duration(last) {
			x = append(x, float64(t.Bins[i].InFlight))
		}
	}
	if len(x) < 50 {
		return
	}
	cut := stats.Transient(x)
	c.Settled, c.SettledKnown = time.Duration(cut)*t.Width, true
	c.Before, c.After = meanOf(x[:cut]), meanOf(x[cut:])
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / max(1, float64(len(x)))
}

// Unaccounted is the number of requests that the manifest counts and of which no row
// decides, less those whose rows it says are lost; ok is false where it counts none.
func (f *Figures) Unaccounted() (n int64, ok bool) {
	c := f.Manifest.Counts
	if c == nil || f.Checks.Decided < 0 || f.Manifest.State == record.Running {
		return 0, false
	}
	lost := f.Manifest.Counters[record.CounterDropped] + f.Manifest.Counters[record.CounterLost]
	return max(0, c.Scheduled-f.Checks.Decided-lost), true
}

// Unbalanced is by how many the manifest's account of scheduled requests and of their
// ends differ.
func (f *Figures) Unbalanced() int64 {
	c := f.Manifest.Counts
	if c == nil || f.Manifest.State == record.Running {
		return 0
	}
	return c.Scheduled - (c.Completed + c.Failed + c.Dropped + c.Censored + c.Canceled)
}
