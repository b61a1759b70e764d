package query

import (
	"math"
	"slices"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Arrivals compares when requests left with when the schedule wanted them to. A
// request leaves when it is permitted, or dispatched where nothing bounds those in
// flight.
type Arrivals struct {
	// N requests are compared: those that left of the first MaxArrivals that were
	// scheduled. How late all of them left is in the metric lag.
	N int64
	// KS is the largest difference between the distributions of gaps, intended and
	// delivered (Kolmogorov and Smirnov), each gap rounded to a tenth of the mean one,
	// below which no server can tell. It means nothing with fewer than two gaps (Known).
	KS float64
	// CV is the coefficient of variation of gaps; not known with fewer than two, or if
	// all are 0.
	CV Dispersion
	// Dispersion of counts, variance over mean, in bins of BinShort and BinLong.
	Short, Long Dispersion
	// Bursts are groups of requests that became due while the generator was away for
	// more than BurstLag, and left together; so many requests were in them, and in the
	// largest one.
	Bursts, InBursts, Largest int64
}

// Dispersion is how much the intended and the delivered arrivals vary: the index of
// dispersion of counts, or the coefficient of variation of gaps.
type Dispersion struct {
	Intended, Delivered float64
	// Known is false with fewer than minBins whole bins, for counts.
	Known bool
}

// differs reports whether more than bin edges and rounding separates the two.
func (d Dispersion) differs() bool {
	return d.Known && math.Abs(d.Delivered-d.Intended) > 0.1+0.2*d.Intended
}

// Known reports whether there are gaps to compare.
func (a *Arrivals) Known() bool { return a.N > 2 }

// Verdict says in a word how the delivered arrivals compare with the intended ones:
// bunched if counts in bins vary otherwise than they were to or more than 1 % were sent
// in bursts, jittered if only gaps do
// (KS above 0.1), as scheduled, or unknown for fewer than three.
func (a *Arrivals) Verdict() string {
	switch {
	case !a.Known():
		return "unknown"
	case a.Short.differs() || a.Long.differs() || 100*a.InBursts > a.N:
		return "bunched"
	case a.KS > 0.1:
		return "jittered"
	}
	return "as scheduled"
}

// The bins of Arrivals, and the lag beyond which it counts bursts.
const (
	BinShort = time.Second
	BinLong  = 10 * time.Second
	BurstLag = time.Millisecond
	minBins  = 5
)

// departure is one request.
type departure struct{ due, taken, left clock.Time }

// MaxArrivals is how many requests are compared, so that a long run takes no more
// memory than a short one.
const MaxArrivals = 1 << 16

// departures collects them, 24 bytes a request.
type departures []departure

func (d *departures) add(r *record.Request) {
	if r.Seq >= MaxArrivals || r.Attempt != 0 || !r.Dispatched.Known() {
		return
	}
	left := r.Dispatched
	if r.Permitted.Known() {
		left = r.Permitted
	}
	*d = append(*d, departure{r.Intended, r.Dispatched, left})
}

// finish computes the figures; from is the start of the window.
func (d departures) finish(from clock.Time) Arrivals {
	a := Arrivals{N: int64(len(d))}
	slices.SortFunc(d, func(x, y departure) int {
		if x.due != y.due {
			return int(min(1, max(-1, x.due-y.due)))
		}
		return int(min(1, max(-1, x.taken-y.taken)))
	})
	a.bursts(d)
	due, left := make([]clock.Time, len(d)), make([]clock.Time, len(d))
	for i := range d {
		due[i], left[i] = d[i].due, d[i].left
	}
	slices.Sort(left)
	a.Short, a.Long = dispersion(due, left, from, BinShort), dispersion(due, left, from, BinLong)
	if n := len(d); n > 2 {
		if due[n-1] > due[0] && left[n-1] > left[0] {
			a.CV = Dispersion{variation(due), variation(left), true}
		}
		unit := float64(due[n-1]-due[0]) / float64(n-1) / 10
		a.KS = distance(gapsOf(due, unit), gapsOf(left, unit))
	}
	return a
}

// bursts counts the catch-ups: those that were due before the first one of them left.
func (a *Arrivals) bursts(d departures) {
	for i := 0; i < len(d); {
		j := i + 1
		if d[i].taken.Sub(d[i].due) > BurstLag {
			for j < len(d) && d[j].due <= d[i].taken {
				j++
			}
			if n := int64(j - i); n > 1 && d[j-1].due > d[i].due {
				a.Bursts++
				a.InBursts += n
				a.Largest = max(a.Largest, n)
			}
		}
		i = j
	}
}

// gapsOf are the gaps in order of size, in units; 0: as they are.
func gapsOf(at []clock.Time, unit float64) []float64 {
	out := make([]float64, len(at)-1)
	for i := range out {
		out[i] = float64(at[i+1] - at[i])
		if unit > 0 {
			out[i] = math.Round(out[i] / unit)
		}
	}
	slices.Sort(out)
	return out
}

// variation is the standard deviation of the gaps between sorted instants over their
// mean.
func variation(at []clock.Time) float64 {
	n := float64(len(at) - 1)
	mean, v := float64(at[len(at)-1]-at[0])/n, 0.0
	for i := range at[1:] {
		x := float64(at[i+1]-at[i]) - mean
		v += x * x
	}
	return math.Sqrt(v/(n-1)) / mean
}

// distance is the two-sample statistic of Kolmogorov and Smirnov for equal numbers of
// sorted values.
func distance(x, y []float64) float64 {
	i, j, most := 0, 0, 0
	for i < len(x) && j < len(y) {
		v := min(x[i], y[j])
		for i < len(x) && x[i] == v {
			i++
		}
		for j < len(y) && y[j] == v {
			j++
		}
		most = max(most, i-j, j-i)
	}
	return float64(most) / float64(len(x))
}

// dispersion counts both in the whole bins between from and the last that was due.
func dispersion(due, left []clock.Time, from clock.Time, bin time.Duration) Dispersion {
	if len(due) == 0 {
		return Dispersion{}
	}
	n := int(due[len(due)-1].Sub(from) / bin)
	if n < minBins {
		return Dispersion{}
	}
	x, y := index(due, from, bin, n), index(left, from, bin, n)
	if math.IsNaN(x) || math.IsNaN(y) {
		return Dispersion{}
	}
	return Dispersion{x, y, true}
}

// index is the variance of the counts in n bins over their mean.
func index(at []clock.Time, from clock.Time, bin time.Duration, n int) float64 {
	counts := make([]float64, n)
	sum := 0.0
	for _, t := range at {
		if i := int(t.Sub(from) / bin); t >= from && i < n {
			counts[i]++
			sum++
		}
	}
	if sum == 0 {
		return math.NaN()
	}
	mean, v := sum/float64(n), 0.0
	for _, c := range counts {
		v += (c - mean) * (c - mean)
	}
	return v / float64(n-1) / mean
}
