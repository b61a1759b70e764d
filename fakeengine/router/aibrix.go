package router

import (
	"math"
	"time"

	"goodput/loadgen/rng"
)

// aibrixPrefix is AIBrix's `prefix-cache`. If most > 2*(mean+1) and most - least >= 8
// requests in flight, only the least loaded replicas may match. Of the replicas with
// a match, best first, then least loaded, the first one with at most mean +
// deviations*sd requests takes it; if there is none, the least loaded replica of all.
type aibrixPrefix struct {
	named
	deviations float64
	index      approximate
	best       best
}

var (
	_ Policy  = (*aibrixPrefix)(nil)
	_ Reader  = (*aibrixPrefix)(nil)
	_ Learner = (*aibrixPrefix)(nil)
)

func aibrixPrefixRule() rule {
	return rule{
		Info: Info{
			Name: "aibrix-prefix-cache",
			Help: "follows prefixes to replicas that are not much above the mean load (AIBrix prefix-cache)",
			Params: []Param{
				{Name: "deviations", Default: "1", Help: "standard deviations above the mean that a match may be loaded"},
				{Name: "capacity", Default: "200000", Help: "blocks that it remembers of each replica"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &aibrixPrefix{
				deviations: a.float("deviations", 0, 100),
				index:      approximate{most: a.int("capacity", 1, 1<<24), stride: 1, fixed: true},
				best:       best{rand: rng.New(seed, "router/aibrix-prefix-cache", 0)}, named: a.named(),
			}
		},
	}
}

// Reads implements Reader.
func (p *aibrixPrefix) Reads() Signals { return PrefixHashes }

// Pick implements Policy.
func (p *aibrixPrefix) Pick(r *Request, up []Load) int {
	least, most, mean := extent(up)
	sd := 0.0
	for i := range up {
		d := float64(up[i].Outstanding) - mean
		sd += d * d / float64(len(up))
	}
	limit := mean + p.deviations*math.Sqrt(sd)
	gate := float64(most) > 2*(mean+1) && most-least >= 8
	matched := p.index.match(r, up)
	p.best.none()
	for i := range up {
		a := up[i].Outstanding
		if matched[i] == 0 || gate && a > least || !gate && float64(a) > limit {
			continue
		}
		// Requests in flight only decide between equal matches.
		p.best.offer(i, -float64(matched[i])+float64(a)/float64(most+1))
	}
	if p.best.equals > 0 {
		return p.best.at
	}
	return p.best.leastOut(up)
}

// Placed implements Learner.
func (p *aibrixPrefix) Placed(r *Request, id int) { p.index.placed(r, id) }

// Done implements Learner.
func (p *aibrixPrefix) Done(*Request, int, *End) {}

// aibrixBalance is AIBrix's `load-balance`: requests in flight over the rate at which
// the replica finished them in the last minute; a replica without a rate counts as
// draining 1 a second, far above a real one, so that it attracts.
type aibrixBalance struct {
	named
	ends window
	best best
}

var (
	_ Policy  = (*aibrixBalance)(nil)
	_ Learner = (*aibrixBalance)(nil)
)

func aibrixBalanceRule() rule {
	return rule{
		Info: Info{Name: "aibrix-load-balance", Help: "takes the replica that would be done first at its recent rate (AIBrix load-balance)"},
		build: func(a *args, seed uint64) Policy {
			return &aibrixBalance{
				ends: window{length: time.Minute}, best: best{rand: rng.New(seed, "router/aibrix-load-balance", 0)}, named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *aibrixBalance) Pick(r *Request, up []Load) int {
	p.best.none()
	for i := range up {
		p.best.offer(i, drainTime(up[i].Outstanding, p.ends.count(up[i].ID, r.At)))
	}
	return p.best.at
}

// drainTime is how long a replica takes for so many requests if it finished so many
// in the last minute.
func drainTime(inFlight, finished int) float64 {
	rate := float64(finished) / 60
	if finished == 0 {
		rate = 1
	}
	return float64(inFlight) / rate
}

// Placed implements Learner.
func (p *aibrixBalance) Placed(*Request, int) {}

// Done implements Learner.
func (p *aibrixBalance) Done(_ *Request, id int, e *End) { p.ends.add(id, e.At) }
