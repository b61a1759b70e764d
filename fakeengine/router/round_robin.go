package router

import "fmt"

// roundRobin takes the replicas in turn: index = counter mod n, then the counter
// moves on. There is one counter for all sets of replicas, so a set that shrinks
// goes on from the same count.
//
// It is the rule of the vLLM production stack (`roundrobin`) on a fixed set of
// endpoints. The light-weight endpoint picker of the Kubernetes Gateway API
// inference extension moves the counter before it picks: start=1.
type roundRobin struct {
	start, next uint64
}

var _ Policy = (*roundRobin)(nil)

func roundRobinRule() rule {
	return rule{
		Info: Info{
			Name: "round-robin",
			Help: "takes the replicas in turn, blind to load",
			Params: []Param{
				{Name: "start", Default: "0", Help: "index of the first replica to be taken"},
			},
		},
		build: func(a *args, _ uint64) Policy {
			start := uint64(a.int("start", 0, 1<<20))
			return &roundRobin{start: start, next: start}
		},
	}
}

// Pick implements Policy.
func (p *roundRobin) Pick(_ *Request, up []Load) int {
	i := p.next % uint64(len(up))
	p.next++
	return int(i)
}

// String implements Policy.
func (p *roundRobin) String() string { return fmt.Sprintf("round-robin:start=%d", p.start) }
