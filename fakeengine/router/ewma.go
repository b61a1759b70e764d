package router

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// ewma takes, of two replicas drawn at random, the one with the smaller
// cost: its average reply time, times the requests in flight plus one.
//
// The average is exponentially weighted by time. With peak it jumps to a longer reply
// time at once, and decays only from there (Finagle's PeakEwma: e = x if x > e,
// otherwise e*z + x*(1-z) with z = exp(-dt/tau)); it also decays while nothing is
// heard. A replica that was never measured costs nothing when idle and more than all
// measured ones when busy.
type ewma struct {
	named
	peak  bool
	e2e   bool
	tau   time.Duration
	state table[average]
	rand  rng.Stream
}

// average is the reply time of one replica in seconds.
type average struct {
	value float64
	at    clock.Time
	known bool
}

var (
	_ Policy  = (*ewma)(nil)
	_ Learner = (*ewma)(nil)
	_ Starter = (*ewma)(nil)
)

// unmeasured is the cost of a busy replica without a reply time; the number of its
// requests is added.
const unmeasured = 1e12

func ewmaRule(name, help string, peak bool) rule {
	return rule{
		Info: Info{
			Name: name, Help: help,
			Params: []Param{
				{Name: "tau", Default: "10s", Help: "time over which the past is forgotten"},
				{Name: "reply", Default: "ttft", Help: "what is averaged: ttft (time to the first token) or e2e"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &ewma{
				peak: peak, tau: a.duration("tau", time.Millisecond, time.Hour), e2e: a.choice("reply", "ttft", "e2e") == "e2e",
				rand: rng.New(seed, "router/"+name, 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *ewma) Pick(r *Request, up []Load) int {
	if len(up) == 1 {
		return 0
	}
	i := p.rand.IntN(len(up))
	j := p.rand.IntN(len(up) - 1)
	if j >= i {
		j++
	}
	if p.cost(&up[j], r.At) < p.cost(&up[i], r.At) {
		return j
	}
	return i
}

// cost of a replica now. Of the plain average nothing decays while idle.
func (p *ewma) cost(l *Load, now clock.Time) float64 {
	s := p.state.at(l.ID)
	if !s.known {
		if l.Outstanding == 0 {
			return 0
		}
		return unmeasured + float64(l.Outstanding)
	}
	value := s.value
	if p.peak {
		value *= math.Exp(-now.Sub(s.at).Seconds() / p.tau.Seconds())
	}
	return value * float64(l.Outstanding+1)
}

// observe takes a reply time of x seconds.
func (a *average) observe(x float64, now clock.Time, tau time.Duration, peak bool) {
	switch z := math.Exp(-now.Sub(a.at).Seconds() / tau.Seconds()); {
	case !a.known, peak && x > a.value:
		a.value = x
	default:
		a.value = a.value*z + x*(1-z)
	}
	a.at, a.known = now, true
}

// Placed implements Learner.
func (p *ewma) Placed(*Request, int) {}

// FirstToken implements Starter.
func (p *ewma) FirstToken(r *Request, id int, now clock.Time) {
	if !p.e2e {
		p.state.at(id).observe(now.Sub(r.At).Seconds(), now, p.tau, p.peak)
	}
}

// Done implements Learner.
func (p *ewma) Done(r *Request, id int, e *End) {
	if p.e2e && !e.Failed() {
		p.state.at(id).observe(e.At.Sub(r.At).Seconds(), e.At, p.tau, p.peak)
	}
}
