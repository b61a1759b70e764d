package router

import (
	"math"
	"time"

	"goodput/loadgen/clock"
)

// ptuSpillover is the spillover of Azure OpenAI from a provisioned deployment (PTU) to a
// standard one: a request goes to the provisioned replicas, the first ones, unless these
// would refuse it (429: too many in flight; 400: a prompt beyond their context), and for
// `hold` after they have answered one with 429, 400, 500 or 503. Within both parts the
// least loaded replica is taken. The refused request itself goes to a standard one, as do
// the next ones.
type ptuSpillover struct {
	named
	provisioned, most, context int
	hold                       time.Duration
	until                      clock.Time
}

var (
	_ Policy   = (*ptuSpillover)(nil)
	_ Learner  = (*ptuSpillover)(nil)
	_ Failover = (*ptuSpillover)(nil)
)

func ptuSpilloverRule() rule {
	return rule{
		Info: Info{
			Name: "ptu-spillover",
			Help: "takes provisioned replicas, and the others when those refuse (Azure OpenAI spillover)",
			Params: []Param{
				{Name: "provisioned", Default: "1", Help: "how many replicas are provisioned, the first ones"},
				{Name: "in-flight", Default: "0", Help: "requests that each of them takes at once; 0: any number"},
				{Name: "context", Default: "0", Help: "longest prompt and answer together that they take, in tokens; 0: any"},
				{Name: "hold", Default: "1s", Help: "how long nothing is sent there after 429, 400, 500 or 503"},
			},
		},
		build: func(a *args, _ uint64) Policy {
			return &ptuSpillover{
				provisioned: a.int("provisioned", 1, maxReplicas), most: a.int("in-flight", 0, math.MaxInt32),
				context: a.int("context", 0, math.MaxInt32), hold: a.duration("hold", 0, time.Hour), until: clock.Never, named: a.named(),
			}
		},
	}
}

// Pick implements Policy. With one part alone there is no choice of parts.
func (p *ptuSpillover) Pick(r *Request, up []Load) int {
	reserved, standard := -1, -1
	for i := range up {
		to := &standard
		if up[i].ID < p.provisioned {
			to = &reserved
		}
		if *to < 0 || up[i].Outstanding < up[*to].Outstanding {
			*to = i
		}
	}
	refuses := reserved < 0 || len(r.Refused) > 0 || p.most > 0 && up[reserved].Outstanding >= p.most ||
		p.context > 0 && r.InTokens+r.MaxOut > p.context || p.until.Known() && r.At < p.until
	if standard >= 0 && refuses {
		return standard
	}
	return reserved
}

// Placed implements Learner.
func (p *ptuSpillover) Placed(*Request, int) {}

// Done implements Learner.
func (p *ptuSpillover) Done(_ *Request, id int, e *End) {
	if id < p.provisioned && spills(e.Status) {
		p.until = e.At.Add(p.hold)
	}
}

// Again implements Failover: each request spills over once.
func (p *ptuSpillover) Again(r *Request, id, status int) bool {
	return id < p.provisioned && spills(status) && len(r.Refused) == 0
}

// spills reports whether an answer of a provisioned deployment makes requests spill over.
func spills(status int) bool {
	switch status {
	case 400, 429, 500, 503:
		return true
	}
	return false
}
