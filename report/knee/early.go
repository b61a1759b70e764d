package knee

import (
	"fmt"
	"math"
)

// Curtailment ends a trial of a fixed number of requests as soon as its verdict is
// certain: the verdict is the same as at the end.
type Curtailment struct {
	n, needed int
	good, bad int
}

// NewCurtailment expects n requests, of which the share must be good. It returns an
// error unless n > 0 and 0 < share <= 1.
func NewCurtailment(n int, share float64) (*Curtailment, error) {
	if n <= 0 || !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("curtailment of %d requests with share %v: need requests, and a share above 0 and at most 1", n, share)
	}
	return &Curtailment{n: n, needed: Needed(n, share)}, nil
}

// Needed is the smallest number of good requests among n that is a share of at
// least so much.
func Needed(n int, share float64) int {
	return int(math.Ceil(share*float64(n) - 1e-9*float64(n)))
}

// Add counts a request whose outcome is known.
func (c *Curtailment) Add(good bool) {
	if good {
		c.good++
	} else {
		c.bad++
	}
}

// Decided reports whether the verdict is certain, and which it is.
func (c *Curtailment) Decided() (pass, decided bool) {
	switch {
	case c.good >= c.needed:
		return true, true
	case c.bad > c.n-c.needed:
		return false, true
	}
	return false, false
}

// Counts are those of outcomes known so far.
func (c *Curtailment) Counts() (good, bad int) { return c.good, c.bad }

// Drift detects that a backlog grows as it does only above capacity. At capacity
// the number in flight is a random walk reflected at zero, whose variance after m
// arrivals is (ca2+cs2)*m; below, it is smaller; above, it grows in proportion to
// time. The detector compares growth since its start with z standard deviations of
// that walk: at 98 % of capacity it raises a false alarm in 1 % of runs, at 120 %
// it needs some hundred arrivals.
type Drift struct {
	variance float64 // per arrival
	arrivals int
	base     int
	started  bool
}

// driftZ and driftMin are the number of standard deviations that raise the alarm,
// and the fewest arrivals before it.
const (
	driftZ   = 3
	driftMin = 40
)

// NewDrift takes the squared coefficients of variation of gaps and of service: 1
// for Poisson arrivals, 1/shape for gamma; NaN or less than 0: unknown, taken as 1.
func NewDrift(arrivals, service float64) *Drift {
	known := func(v float64) float64 {
		if !(v >= 0) {
			return 1
		}
		return v
	}
	// With neither kind of variation any growth would be an alarm.
	return &Drift{variance: max(known(arrivals)+known(service), 0.1)}
}

// Start begins to watch: after the warm-up, since filling up looks like drift.
func (d *Drift) Start(inFlight int) { d.started, d.base, d.arrivals = true, inFlight, 0 }

// Arrive counts an arrival.
func (d *Drift) Arrive() { d.arrivals++ }

// Alarm reports whether so many in flight can only be above capacity.
func (d *Drift) Alarm(inFlight int) bool {
	if !d.started || d.arrivals < driftMin {
		return false
	}
	return float64(inFlight-d.base) > driftZ*math.Sqrt(d.variance*float64(d.arrivals))
}
