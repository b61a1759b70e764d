package query

import (
	"math"
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

const ms = clock.Time(1e6)

// leave makes departures due every gap, n of them, each as late as lag says.
func leave(n int, gap clock.Time, lag func(i int) clock.Time) departures {
	var d departures
	var r record.Request
	for i := range n {
		r.Reset()
		r.Intended = clock.Time(i) * gap
		r.Dispatched = r.Intended + lag(i)
		d.add(&r)
	}
	return d
}

func TestArrivalsOnTime(t *testing.T) {
	a := leave(10_001, 10*ms, func(int) clock.Time { return 0 }).finish(0)
	if a.N != 10_001 || a.KS != 0 || a.Bursts != 0 || !a.Long.Known || a.Long.Intended != 0 || a.Long.Delivered != 0 {
		t.Errorf("%+v", a)
	}
}

// A generator that is away for 45 of each 1000 ms makes a burst each time: 5 requests
// leave together, and a twentieth of the gaps is another one.
func TestArrivalsInBursts(t *testing.T) {
	a := leave(2000, 10*ms, func(i int) clock.Time { return max(0, clock.Time(45-10*(i%100))) * ms })
	got := a.finish(0)
	if got.Bursts != 20 || got.InBursts != 100 || got.Largest != 5 {
		t.Errorf("%d bursts of %d, largest %d", got.Bursts, got.InBursts, got.Largest)
	}
	if got.Verdict() != "bunched" {
		t.Errorf("verdict %q", got.Verdict())
	}
	if got.KS < 0.04 || got.KS > 0.07 {
		t.Errorf("KS %v", got.KS)
	}
}

// Requests that were due at one instant are no burst of the generator's.
func TestArrivalsAtOnce(t *testing.T) {
	a := leave(50, 0, func(int) clock.Time { return 5 * ms }).finish(0)
	if a.Bursts != 0 || a.Short.Known || a.KS != 0 {
		t.Errorf("%+v", a)
	}
	if a := (departures{}).finish(0); a.N != 0 || a.Known() || a.Short.Known {
		t.Errorf("nothing: %+v", a)
	}
}

// All of a minute that leave in its last second have the dispersion of one full bin.
func TestArrivalsHeldBack(t *testing.T) {
	a := leave(601, 100*ms, func(i int) clock.Time { return max(0, 59_500-100*clock.Time(i)) * ms }).finish(0)
	if !a.Short.Known || a.Short.Intended != 0 || math.Abs(a.Short.Delivered-600) > 10 {
		t.Errorf("%+v", a.Short)
	}
}

// Every other request 4 ms late makes gaps of 6 and 14 ms of equal ones of 10 ms.
func TestArrivalsVariation(t *testing.T) {
	got := leave(2001, 10*ms, func(i int) clock.Time { return clock.Time(i%2) * 4 * ms }).finish(0).CV
	if !got.Known || got.Intended != 0 || math.Abs(got.Delivered-0.4) > 0.001 {
		t.Errorf("%+v", got)
	}
	if a := leave(50, 0, func(int) clock.Time { return 0 }).finish(0); a.CV.Known {
		t.Errorf("gaps of 0 vary by %+v", a.CV)
	}
}

// However long a run, no more departures are kept.
func TestDeparturesAreBounded(t *testing.T) {
	var d departures
	for i := range int64(3 * MaxArrivals) {
		r := record.Request{Seq: i, Intended: clock.Time(i), Dispatched: clock.Time(i), Permitted: clock.Never}
		d.add(&r)
	}
	if a := d.finish(0); len(d) != MaxArrivals || a.N != MaxArrivals {
		t.Errorf("%d of %d requests are kept", len(d), 3*MaxArrivals)
	}
}
