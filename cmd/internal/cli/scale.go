package cli

import (
	"fmt"
	"time"

	"goodput/fakeengine/autoscale"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// scaling is how the plan's pool changes its size; nil: it does not.
func scaling(p *plan.Plan) (*autoscale.Config, error) {
	if p.Autoscale == "" {
		return nil, nil
	}
	c, err := autoscale.Parse(p.Autoscale)
	if err != nil {
		return nil, fmt.Errorf("--autoscale: %w", err)
	}
	if n := answering(p); n < c.Min || n > c.Max {
		return nil, fmt.Errorf("--autoscale: the pool begins with %d replicas, outside min, %d, to max, %d: change one of them, or --replicas", n, c.Min, c.Max)
	}
	return &c, nil
}

// scaleText says for people how the number of replicas changes; "": it does not.
func scaleText(p *plan.Plan) string {
	c, err := scaling(p)
	if c == nil || err != nil {
		return ""
	}
	return "; scaled by " + c.String()
}

// scaleEvents adds to the account of a run what became of replicas, and the time that they
// have taken.
func (s *session) scaleEvents(f *record.Final) {
	until := clock.Time(0)
	if to := s.loop.Now(); to.Known() {
		until = to
	}
	events, used, ok := s.pool.Scaled(until)
	if !ok {
		return
	}
	f.Counters[record.CounterReplicaTime] = int64(used / time.Millisecond)
	for _, e := range events {
		f.Events = append(f.Events, record.Event{At: e.At, Replica: s.pool.Name(e.Replica), What: e.What})
	}
}
