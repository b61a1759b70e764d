package datasets

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"goodput/loadgen/rng"
)

// Population is a set of sessions of which the first ones are under way when the run
// begins, as if sessions had been arriving for ever: each is one of those that a
// Poisson process of the past has left, at the age that it has then. Long sessions are
// therefore more frequent among them than among arrivals, in proportion to their
// length.
type Population struct {
	set     SessionSet // the arrivals of the run
	past    SessionSet // where sessions of the past are taken from, the last first
	pace    Pace
	live    []underway
	missing float64
}

// underway is a session of the past, by its index and its age.
type underway struct {
	index int
	age   time.Duration
}

var _ SessionSet = (*Population)(nil)

// How a Population is drawn: the durations of so many sessions tell how far back to
// look, which is where less than the share ignored of the population is left out.
const (
	surveyed     = 4000
	ignored      = 0.005
	mostPast     = 1 << 20
	mostUnderway = 1 << 17
)

// NewPopulation draws the sessions that are under way, if sessions arrive at rate a
// second and answers come at the pace; or, for a closed loop, live of them. past must
// hold other sessions than set, and many.
func NewPopulation(set, past SessionSet, pace Pace, rate float64, live int, seed uint64) (*Population, error) {
	if !(pace.Rate > 0) || pace.Delay < 0 || live == 0 && !(rate > 0) {
		return nil, errors.New("a population needs a rate of arrivals, and a pace of answers above 0")
	}
	p := &Population{set: set, past: past, pace: pace}
	horizon := p.horizon()
	draws := rng.New(seed, "sessions under way", 0)
	course := NewCourse(pace)
	var s Session
	at := time.Duration(0)
	for i := past.Sessions() - 1; ; i-- {
		if i < 0 || past.Sessions()-i > mostPast || len(p.live) > mostUnderway {
			return nil, fmt.Errorf("more than %d sessions of the past would have to be looked at, or %d be under way: lower the rate", mostPast, mostUnderway)
		}
		if live > 0 {
			// By rejection: a session is found in proportion to its length, at any age.
			if len(p.live) == live {
				return p, nil
			}
			at = time.Duration(draws.Float64() * float64(horizon))
		} else if at += time.Duration(draws.Exp() / rate * 1e9); at > horizon {
			return p, nil
		}
		past.Session(i, &s)
		if course.Run(&s) > at {
			p.live = append(p.live, underway{i, at})
		}
	}
}

// horizon is the age beyond which the population has no more than the ignored share.
func (p *Population) horizon() time.Duration {
	var all []time.Duration
	var s Session
	course := NewCourse(p.pace)
	for i := range min(surveyed, p.past.Sessions()) {
		p.past.Session(p.past.Sessions()-1-i, &s)
		all = append(all, course.Run(&s))
	}
	slices.Sort(all)
	sum := 0.0
	for _, d := range all {
		sum += d.Seconds()
	}
	// What lies above a horizon of all[i] is the sum of the excesses of the later ones.
	above := 0.0
	for i := len(all) - 1; i > 0; i-- {
		more := above + float64(len(all)-i)*(all[i]-all[i-1]).Seconds()
		if more > ignored*sum {
			p.missing = above / sum
			return all[i]
		}
		above = more
	}
	return all[0]
}

// Over is the same population with content of other sets, whose sessions have the
// lengths of those that it was drawn from.
func (p *Population) Over(set, past SessionSet) *Population {
	q := *p
	q.set, q.past = set, past
	return &q
}

// Underway is the number of sessions that are under way, which come first.
func (p *Population) Underway() int { return len(p.live) }

// Missing is the share of the population that is left out for its age.
func (p *Population) Missing() float64 { return p.missing }

// Sessions is the number of sessions under way and to come.
func (p *Population) Sessions() int { return len(p.live) + p.set.Sessions() }

// Session fills dst with session i.
func (p *Population) Session(i int, dst *Session) {
	if i >= len(p.live) {
		p.set.Session(i-len(p.live), dst)
		return
	}
	u := p.live[i]
	p.past.Session(u.index, dst)
	c := NewCourse(p.pace)
	c.Run(dst)
	c.Resume(dst, u.age)
	dst.At = 0
}
