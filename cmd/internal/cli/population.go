package cli

import (
	"fmt"
	"math"

	"goodput/datasets"
	"goodput/datasets/agent"
	"goodput/loadgen/plan"
	"goodput/loadgen/schedule"
)

// paceOf is how fast the plan takes answers to come.
func paceOf(p *plan.Plan) datasets.Pace {
	return datasets.Pace{Delay: p.ServiceDelay, Rate: p.ServiceRate}
}

// populate draws the sessions that are under way at first. They are the last ones of
// the largest set of the parameters, so that those that arrive are what they are
// without them.
func (l *sessionLoad) populate(c agent.Config, p *plan.Plan) error {
	past, err := agent.New(c, math.MaxInt32, p.Seed)
	if err != nil {
		return err
	}
	l.past = past
	if l.underway, err = datasets.NewPopulation(l.agent, past, paceOf(p), float64(p.SessionsRate), p.SessionsConcurrency, p.Seed); err != nil {
		return fmt.Errorf("--stationary-start: %w", err)
	}
	return nil
}

// scope gives generated sessions the content of a run, which the nonce names.
func (l *sessionLoad) scope(s agent.Scope, nonce uint64) error {
	if l.agent == nil {
		return nil
	}
	set, err := l.agent.Scoped(s, nonce)
	if err != nil {
		return fmt.Errorf("--agent-cache-scope: %w", err)
	}
	l.sessionSet = set
	if l.underway == nil {
		return nil
	}
	past, err := l.past.Scoped(s, nonce)
	if err != nil {
		return fmt.Errorf("--agent-cache-scope: %w", err)
	}
	l.underway = l.underway.Over(set, past)
	l.sessionSet = populated{l.underway, set}
	return nil
}

// arriving are the sessions that are not under way at first.
func (l *sessionLoad) arriving() sessionSet {
	if x, ok := l.sessionSet.(populated); ok {
		return x.set
	}
	return l.sessionSet
}

// populated is a population that calls itself as the set that arrives.
type populated struct {
	*datasets.Population
	set sessionSet
}

func (p populated) String() string {
	return fmt.Sprintf("%v behind %d under way", p.set, p.Underway())
}

func populationText(u *datasets.Population) string {
	return fmt.Sprintf("%d sessions are under way at first, whose first requests are warm-up (%.1f %% of them are left out for their age)", u.Underway(), 100*u.Missing())
}

// behind is a schedule after n arrivals at instant 0.
type behind struct {
	next, n uint64
	then    schedule.Source
}

var _ schedule.Source = (*behind)(nil)

// Next returns the next arrival, numbered on.
func (b *behind) Next() (schedule.Arrival, bool) {
	if b.next < b.n {
		b.next++
		return schedule.Arrival{Seq: b.next - 1, Item: b.next - 1}, true
	}
	a, ok := b.then.Next()
	a.Seq += b.n
	a.Item += b.n
	return a, ok
}
