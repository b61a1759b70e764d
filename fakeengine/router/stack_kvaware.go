package router

import "time"

// stackKV is the production stack's `kvaware`: of what engines tell of their caches (its
// LMCache controller) it takes the first replica listed, if that has all of the prompt but
// `miss` tokens; else the session's replica on a ring; without a session the one of
// production-stack-qps. A prompt of at most `miss` tokens takes whoever is listed first,
// however little that has of it, so that short prompts which begin alike go to one replica.
type stackKV struct {
	named
	miss int
	ring ring
	qps  window
}

var (
	_ Policy  = (*stackKV)(nil)
	_ Reader  = (*stackKV)(nil)
	_ Learner = (*stackKV)(nil)
)

func stackKVRule() rule {
	return rule{
		Info: Info{
			Name:   "production-stack-kvaware",
			Help:   "takes the first replica that has nearly all of the prompt cached, else by session, else the fewest requests lately (vLLM production stack)",
			Params: []Param{{Name: "miss", Default: "2000", Help: "tokens that may be missing"}},
		},
		build: func(a *args, _ uint64) Policy {
			return &stackKV{miss: a.int("miss", 0, 1<<24), ring: ring{points: 160}, qps: window{length: time.Minute}, named: a.named()}
		},
	}
}

// Reads implements Reader.
func (p *stackKV) Reads() Signals { return EngineCache }

// Pick implements Policy.
func (p *stackKV) Pick(r *Request, up []Load) int {
	for i := range up {
		if up[i].Cached == 0 {
			continue
		}
		if up[i].Cached >= r.InTokens-p.miss {
			return i
		}
		break
	}
	if r.Session != 0 {
		return p.ring.clockwise(mix(r.Session), up)
	}
	return fewestArrivals(&p.qps, r, up)
}

// Placed implements Learner.
func (p *stackKV) Placed(r *Request, id int) { p.qps.add(id, r.At) }

// Done implements Learner.
func (p *stackKV) Done(*Request, int, *End) {}
