package shaper

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// cascade asks a small model first, and the pool only if a judge of its whole answer is not
// content (FrugalGPT, Chen et al. 2023, arXiv:2305.05176). Nothing is shown before the
// judgement, so an answer comes in one piece, after all of its time; what is escalated
// comes to the pool that much later. The pool gets the share of the load that is
// escalated, which is not a thinned copy of it if the judge is discontent with one kind:
// the longest tenth of exponential work is 3.30 times as much each, and far more even.
//
// The small model answers so many requests at once, at a speed that does not depend on
// how many; others wait in order.
type cascade struct {
	named
	escalate    float64
	longer      int // tokens of a prompt; 0: chance decides
	first, each time.Duration
	most        int
	rand        rng.Stream
	busy        []small    // by instant
	line        []*Request // wait for the small model
}

// small is a request that the small model answers.
type small struct {
	r        *Request
	at       clock.Time // when it is judged
	escalate bool
}

var (
	_ Shaper = (*cascade)(nil)
	_ Waker  = (*cascade)(nil)
)

func cascadeEntry() entry {
	return entry{
		Info: Info{
			"cascade", "asks a small model first, and the pool only for answers that a judge rejects (FrugalGPT)",
			[]Param{
				{"escalate", "0.1", "share of the requests that go on to the pool"},
				{"longer", "0", "in place of chance, those go on whose prompts have more tokens than this; 0: chance"},
				{"ttft", "15ms", "time of the small model to its first token"},
				{"tpot", "2ms", "its time for each further one"},
				{"at-once", "256", "requests that it answers at once"},
			},
		},
		build: func(a *args, seed uint64) Shaper {
			return &cascade{
				escalate: a.float("escalate", 0, 1), longer: a.int("longer", 0, most), most: a.int("at-once", 1, most),
				first: a.duration("ttft", 0, time.Hour), each: a.duration("tpot", 0, time.Hour),
				rand: rng.New(seed, "shaper/cascade", 0), named: a.named(),
			}
		},
	}
}

// Offer implements Shaper. Chance is drawn for each request in the order of arrival.
func (c *cascade) Offer(r *Request, now clock.Time) Decision {
	c.line = append(c.line, r)
	c.start(now)
	return Decision{Kind: Hold}
}

// start gives the small model what it has room for.
func (c *cascade) start(now clock.Time) {
	for len(c.line) > 0 && len(c.busy) < c.most {
		r := c.line[0]
		c.line = slices.Delete(c.line, 0, 1)
		rejected := c.rand.Float64() < c.escalate
		if c.longer > 0 {
			rejected = r.InTokens > c.longer
		}
		s := small{r, now.Add(c.first + time.Duration(max(0, r.MaxOut-1))*c.each), rejected}
		i, _ := slices.BinarySearchFunc(c.busy, s.at, func(x small, at clock.Time) int {
			if x.at <= at {
				return -1
			}
			return 1
		})
		c.busy = slices.Insert(c.busy, i, s)
	}
}

// Next implements Shaper.
func (c *cascade) Next(now clock.Time) (*Request, Decision, bool) {
	c.start(now) // where others were cancelled
	if len(c.busy) == 0 || c.busy[0].at > now {
		return nil, Decision{}, false
	}
	s := c.busy[0]
	c.busy = slices.Delete(c.busy, 0, 1)
	c.start(now)
	if s.escalate {
		return s.r, Decision{}, true
	}
	return s.r, Decision{Kind: Absorb}, true
}

// Wake implements Waker.
func (c *cascade) Wake() clock.Time {
	if len(c.busy) == 0 {
		return clock.Never
	}
	return c.busy[0].at
}

// Done implements Shaper.
func (c *cascade) Done(*Request, clock.Time) {}

// Cancel implements Shaper. Who waits for the small model gets the place at its next
// judgement.
func (c *cascade) Cancel(r *Request) {
	c.line = slices.DeleteFunc(c.line, func(x *Request) bool { return x == r })
	c.busy = slices.DeleteFunc(c.busy, func(x small) bool { return x.r == r })
}
