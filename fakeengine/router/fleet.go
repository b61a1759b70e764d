package router

import (
	"errors"
	"fmt"
	"time"

	"goodput/loadgen/clock"
)

// Signals is a set of inputs that cost something to gather.
type Signals uint8

// The signals. What a router counts itself (Load.Outstanding, Load.Tokens) is
// always there.
const (
	// EngineLoad is what engines report: Load.Waiting to Load.AsOf.
	EngineLoad Signals = 1 << iota
	// PrefixHashes is Request.Prefix.
	PrefixHashes
	// EngineCache is Load.Cached: what engines tell of the content of their caches.
	EngineCache
	// EngineAdapters is Load.Adapter.
	EngineAdapters

	// reported are those that come from engines.
	reported = EngineLoad | EngineCache | EngineAdapters
)

// Reader is a Policy that reads signals; one that is no Reader reads none.
type Reader interface {
	Reads() Signals
}

// Observe fills in what replica i reports, with the instant of the report in
// AsOf; Cached and Adapter are about r. It leaves the router's own counts alone.
type Observe func(i int, r *Request, l *Load)

// Fleet is one router: a policy, and the router's own account of each replica.
// It belongs to one goroutine.
type Fleet struct {
	policy  Policy
	learner Learner // nil: the policy does not want to know
	starter Starter // likewise
	reads   Signals
	observe Observe
	loads   []Load
	down    []bool
	downs   int    // how many are
	end     End    // scratch: what a learner is shown
	view    []Load // scratch: those that are up, if not all are
}

// NewFleet returns a router for n replicas. observe is called for each replica
// before each pick, if the policy reads what engines report; otherwise never, and it may
// be nil.
func NewFleet(p Policy, n int, observe Observe) (*Fleet, error) {
	if p == nil {
		return nil, errors.New("a fleet needs a policy: build one with New")
	}
	if n < 1 {
		return nil, fmt.Errorf("a fleet of %d replicas cannot serve; it needs at least 1", n)
	}
	f := &Fleet{policy: p, observe: observe, loads: make([]Load, n), down: make([]bool, n)}
	f.learner, _ = p.(Learner)
	f.starter, _ = p.(Starter)
	if r, ok := p.(Reader); ok {
		f.reads = r.Reads()
	}
	if f.Reads(reported) && observe == nil {
		return nil, fmt.Errorf("router rule %s reads what engines report, but there is no source of reports", p)
	}
	for i := range f.loads {
		f.loads[i].ID, f.loads[i].AsOf = i, clock.Never
	}
	return f, nil
}

// Reads reports whether the policy reads any of the signals: the caller need not
// fill in Request.Prefix unless it reads PrefixHashes.
func (f *Fleet) Reads(s Signals) bool { return f.reads&s != 0 }

// SetUp says whether replica i takes requests; all do at first. One that is down
// keeps its account, and those of its requests that have not ended.
func (f *Fleet) SetUp(i int, up bool) {
	if f.down[i] == !up {
		return
	}
	f.down[i] = !up
	if up {
		f.downs--
	} else {
		f.downs++
	}
}

// None is what Pick returns when no replica is up, or the policy refuses.
const None = -1

// Pick chooses a replica for r and charges r to it, until Done; None if there is
// none.
func (f *Fleet) Pick(r *Request) int {
	if f.Reads(reported) {
		for i := range f.loads {
			l := &f.loads[i]
			before := l.AsOf
			if f.observe(i, r, l); l.AsOf != before {
				l.Since = 0
			}
		}
	}
	up := f.loads
	if f.downs > 0 {
		if up = f.serving(); len(up) == 0 {
			return None
		}
	}
	i := f.policy.Pick(r, up)
	if i == None {
		return None
	}
	id := up[i].ID
	f.Place(r, id)
	return id
}

// Place charges r to replica id, which something else than the policy chose, until Done.
func (f *Fleet) Place(r *Request, id int) {
	l := &f.loads[id]
	l.Outstanding++
	l.Since++
	l.Tokens += r.InTokens
	if f.learner != nil {
		f.learner.Placed(r, id)
	}
}

// Again reports whether r, which replica id refused with the status, is to be picked for
// once more, and notes for that pick who refused. Done of the refused pick comes after it.
func (f *Fleet) Again(r *Request, id, status int) bool {
	p, ok := f.policy.(Failover)
	if !ok || !p.Again(r, id, status) {
		return false
	}
	r.Refused = append(r.Refused, id)
	return true
}

// RetryAfter is how long the policy goes on refusing, after Pick returned None; 0: that is
// not known.
func (f *Fleet) RetryAfter(now clock.Time) time.Duration {
	if p, ok := f.policy.(Breaker); ok {
		return p.RetryAfter(now)
	}
	return 0
}

// serving lists the replicas that are up.
func (f *Fleet) serving() []Load {
	f.view = f.view[:0]
	for i, l := range f.loads {
		if !f.down[i] {
			f.view = append(f.view, l)
		}
	}
	return f.view
}

// FirstToken says that the answer of r began at replica i, which Pick had returned
// for it. It must be called at most once for a pick.
func (f *Fleet) FirstToken(r *Request, i int, now clock.Time) {
	f.loads[i].Answering++
	if f.starter != nil {
		f.starter.FirstToken(r, i, now)
	}
}

// Done takes r off replica i, which Pick had returned for it, however it ended.
// r's lengths must be those of the pick. It panics if replica i has nothing
// outstanding, because then every later pick would rest on a wrong count.
func (f *Fleet) Done(r *Request, i int, e End) {
	l := &f.loads[i]
	l.Outstanding--
	l.Tokens -= r.InTokens
	if e.FirstToken.Known() {
		l.Answering--
	}
	if l.Outstanding < 0 || l.Tokens < 0 || l.Answering < 0 {
		panic(fmt.Sprintf("router: replica %d has %d requests, %d answers and %d tokens outstanding after Done", i, l.Outstanding, l.Answering, l.Tokens))
	}
	if f.learner != nil {
		f.end = e
		f.learner.Done(r, i, &f.end)
	}
}

// Replicas is the number of replicas.
func (f *Fleet) Replicas() int { return len(f.loads) }

// Load is what the router believes of replica i now.
func (f *Fleet) Load(i int) Load { return f.loads[i] }

// String is the policy's name and parameters.
func (f *Fleet) String() string { return f.policy.String() }
