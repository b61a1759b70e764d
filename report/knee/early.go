package knee

import (
	"fmt"
	"math"
)

// Curtailment ends a trial of a fixed number of requests as soon as its verdict is
// certain: the verdict is the same as at the end.
type Curtailment struct {
	n, needed int
	share     float64
	good, bad int
}

// NewCurtailment expects n requests, of which the share must be good. It returns an
// error unless n > 0 and 0 < share <= 1.
func NewCurtailment(n int, share float64) (*Curtailment, error) {
	if n <= 0 || !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("curtailment of %d requests with share %v: need requests, and a share above 0 and at most 1", n, share)
	}
	return &Curtailment{n: n, needed: Needed(n, share), share: share}, nil
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

// Exclude takes a request out of the n: it has ended, and is one that nothing is asked
// of. What is certain stays so, since a share of fewer is met by as many good ones, and
// missed by as many bad ones.
func (c *Curtailment) Exclude() {
	c.n--
	c.needed = Needed(c.n, c.share)
}

// Decided reports whether the verdict is certain, and which it is. Of no requests at
// all it is a pass.
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
//
// It is a sign and no verdict. Engines that batch also grow while they fill up below
// capacity, and for long: requests take longer the more there are, until as many end as
// arrive. In a trial of some thousand requests the two can't be told apart.
type Drift struct {
	variance       float64 // per arrival
	arrivals, base int     // at the first look
	started        bool
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

// Look takes the number in flight after so many arrivals, and reports whether the
// growth since the first look is an alarm. The first look is best after the warm-up,
// since filling up looks like drift.
func (d *Drift) Look(arrivals, inFlight int) (alarm bool) {
	if !d.started {
		d.started, d.arrivals, d.base = true, arrivals, inFlight
	}
	m := arrivals - d.arrivals
	return m >= driftMin && float64(inFlight-d.base) > driftZ*math.Sqrt(d.variance*float64(m))
}
