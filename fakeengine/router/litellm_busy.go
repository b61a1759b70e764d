package router

import "goodput/loadgen/rng"

// litellmBusy is LiteLLM's `least-busy`: the fewest requests in flight of all replicas that
// it ever saw, whether they are up or not, the first of equals. Upstream, if that one is
// not up, the pick is uniform among those that are: a replica that died idle has everything
// drawn by chance; fixed looks at those that are up alone.
type litellmBusy struct {
	named
	fixed bool
	busy  table[inFlight]
	rand  rng.Stream
}

// inFlight is what a replica has, if it was ever there.
type inFlight struct {
	n     int
	known bool
}

var (
	_ Policy  = (*litellmBusy)(nil)
	_ Learner = (*litellmBusy)(nil)
)

func litellmBusyRule() rule {
	return rule{
		Info: Info{
			Name: "litellm-least-busy",
			Help: "takes the replica with the fewest requests in flight, the first of equals (LiteLLM least-busy)",
			Params: []Param{
				{Name: "variant", Default: "upstream", Help: "upstream, which draws by chance while a replica that is down has the fewest, or fixed"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &litellmBusy{
				fixed: a.choice("variant", "upstream", "fixed") == "fixed", rand: rng.New(seed, "router/litellm-least-busy", 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *litellmBusy) Pick(_ *Request, up []Load) int {
	best := 0
	for i := range up {
		p.busy.at(up[i].ID).known = true
		if p.busy.at(up[i].ID).n < p.busy.at(up[best].ID).n {
			best = i
		}
	}
	if p.fixed {
		return best
	}
	least := up[best].ID
	for id := range p.busy {
		if b, l := p.busy[id], p.busy[least]; b.known && (b.n < l.n || b.n == l.n && id < least) {
			least = id
		}
	}
	if i := indexOf(up, least); i >= 0 {
		return i
	}
	return anyOf(&p.rand, up)
}

// Placed implements Learner.
func (p *litellmBusy) Placed(_ *Request, id int) { p.busy.at(id).n++ }

// Done implements Learner.
func (p *litellmBusy) Done(_ *Request, id int, _ *End) { p.busy.at(id).n-- }
