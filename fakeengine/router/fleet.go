package router

import (
	"errors"
	"fmt"

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
)

// Reader is a Policy that reads signals; one that is no Reader reads none.
type Reader interface {
	Reads() Signals
}

// Observe fills in what replica i reports, with the instant of the report in
// AsOf. It leaves the router's own counts alone.
type Observe func(i int, l *Load)

// Fleet is one router: a policy, and the router's own account of each replica.
// It belongs to one goroutine.
type Fleet struct {
	policy  Policy
	learner Learner // nil: the policy does not want to know
	reads   Signals
	observe Observe
	loads   []Load
}

// NewFleet returns a router for n replicas. observe is called for each replica
// before each pick, if the policy reads EngineLoad; otherwise never, and it may
// be nil.
func NewFleet(p Policy, n int, observe Observe) (*Fleet, error) {
	if p == nil {
		return nil, errors.New("a fleet needs a policy: build one with New")
	}
	if n < 1 {
		return nil, fmt.Errorf("a fleet of %d replicas cannot serve; it needs at least 1", n)
	}
	f := &Fleet{policy: p, observe: observe, loads: make([]Load, n)}
	f.learner, _ = p.(Learner)
	if r, ok := p.(Reader); ok {
		f.reads = r.Reads()
	}
	if f.Reads(EngineLoad) && observe == nil {
		return nil, fmt.Errorf("router rule %s reads what engines report, but there is no source of reports", p)
	}
	for i := range f.loads {
		f.loads[i].AsOf = clock.Never
	}
	return f, nil
}

// Reads reports whether the policy reads any of the signals: the caller need not
// fill in Request.Prefix unless it reads PrefixHashes.
func (f *Fleet) Reads(s Signals) bool { return f.reads&s != 0 }

// Pick chooses a replica for r and charges r to it, until Done.
func (f *Fleet) Pick(r *Request) int {
	if f.Reads(EngineLoad) {
		for i := range f.loads {
			f.observe(i, &f.loads[i])
		}
	}
	i := f.policy.Pick(r, f.loads)
	l := &f.loads[i]
	l.Outstanding++
	l.Tokens += r.InTokens
	if f.learner != nil {
		f.learner.Placed(r, i)
	}
	return i
}

// Done takes r off replica i, which Pick had returned for it, however it ended.
// r's lengths must be those of the pick. It panics if replica i has nothing
// outstanding, because then every later pick would rest on a wrong count.
func (f *Fleet) Done(r *Request, i int) {
	l := &f.loads[i]
	l.Outstanding--
	l.Tokens -= r.InTokens
	if l.Outstanding < 0 || l.Tokens < 0 {
		panic(fmt.Sprintf("router: replica %d has %d requests and %d tokens outstanding after Done", i, l.Outstanding, l.Tokens))
	}
	if f.learner != nil {
		f.learner.Done(r, i)
	}
}

// Replicas is the number of replicas.
func (f *Fleet) Replicas() int { return len(f.loads) }

// Load is what the router believes of replica i now.
func (f *Fleet) Load(i int) Load { return f.loads[i] }

// String is the policy's name and parameters.
func (f *Fleet) String() string { return f.policy.String() }
