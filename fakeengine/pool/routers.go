package pool

import (
	"errors"
	"fmt"
	"time"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// Routers says how many routers share the load, and how old is what they see of
// engines. The zero value: one, which sees engines as they are at each pick.
type Routers struct {
	// Policies are one for each further router. Each request comes to any of them with
	// equal chance, drawn from Seed, and each router knows only its own requests.
	Policies []router.Policy
	Seed     uint64
	// By names the router of a request instead, from 0; nil: chance does.
	By func(r *target.Request) int
	// Scrape is how often a router reads what engines report; 0: at each pick. What
	// engines tell of their caches and adapters as it changes is not scraped.
	Scrape time.Duration
	// Stagger spreads the instants of the routers' scrapes over the interval; without
	// it all read at the same instants.
	Stagger bool
}

// gate is one router of the pool with what it last saw of the engines.
type gate struct {
	pool  *Pool
	fleet *router.Fleet

	every   time.Duration // 0: it sees them as they are
	phase   clock.Time
	id      uint64
	seen    []router.Load
	pending bool // a scrape is arranged
}

var _ clock.Event = (*gate)(nil)

// openGates makes the routers of so many replicas.
func (p *Pool) openGates(c *Config, replicas int) error {
	if c.Routers.Scrape < 0 {
		return errors.New("an interval of scrapes can't be negative; give 0 for none")
	}
	n := len(c.Routers.Policies) + 1
	for i := range n {
		policy := c.Policy
		if i > 0 {
			policy = c.Routers.Policies[i-1]
		}
		g := &gate{pool: p, id: uint64(i), every: c.Routers.Scrape, seen: make([]router.Load, replicas)}
		if c.Routers.Stagger {
			g.phase = clock.Time(c.Routers.Scrape) * clock.Time(i) / clock.Time(n)
		}
		for k := range g.seen {
			g.seen[k].AsOf = clock.Never
		}
		var err error
		if g.fleet, err = router.NewFleet(policy, replicas, g.observe); err != nil {
			return fmt.Errorf("setting up router %d of the pool: %w", i, err)
		}
		p.gates = append(p.gates, g)
		p.routed = p.routed || g.fleet.Reads(router.PrefixHashes)
	}
	p.toss, p.by = rng.New(c.Routers.Seed, "pool/routers", 0), c.Routers.By
	return nil
}

// gate is the router that a request comes to.
func (p *Pool) gate(r *target.Request) *gate {
	switch {
	case len(p.gates) == 1:
		return p.gates[0]
	case p.by != nil:
		return p.gates[p.by(r)]
	}
	return p.gates[p.toss.IntN(len(p.gates))]
}

// pick chooses the replica of a; router.None if there is none.
func (g *gate) pick(a *attempt) int {
	p := g.pool
	if g.every > 0 && g.fleet.Reads(router.EngineLoad) {
		for _, other := range p.gates { // each of them goes on while there is load
			other.wake(p.loop.Now())
		}
	}
	g.aged(p.loop.Now())
	p.picking = a
	i := g.fleet.Pick(&a.route)
	if i != router.None {
		i += p.first
	}
	return i
}

// aged counts how old the report is by which a pick goes, if the rule reads any and there
// was one.
func (g *gate) aged(now clock.Time) {
	if !g.fleet.Reads(router.EngineLoad) {
		return
	}
	asOf := now
	if g.every > 0 {
		asOf = g.seen[0].AsOf
	}
	if asOf.Known() {
		g.pool.n.reported++
		g.pool.n.age += now.Sub(asOf)
	}
}

// observe is what the router sees of an engine that answers.
func (g *gate) observe(i int, r *router.Request, l *router.Load) {
	p := g.pool
	e := p.engines[p.first+i]
	if g.every > 0 {
		s := &g.seen[i]
		l.Waiting, l.Running, l.KVUsed, l.AsOf = s.Waiting, s.Running, s.KVUsed, s.AsOf
	} else {
		g.read(i, l)
	}
	if g.fleet.Reads(router.EngineCache) {
		l.Cached = e.CachedTokens(&p.picking.seq)
	}
	if g.fleet.Reads(router.EngineAdapters) {
		p.running, p.waiting = e.AppendAdapters(p.running[:0], p.waiting[:0])
		l.Adapter = router.StateOf(r.Adapter, p.running, p.waiting, p.loras)
	}
}

// read fills in what an engine reports now.
func (g *gate) read(i int, l *router.Load) {
	s := g.pool.engines[g.pool.first+i].Stats()
	l.Waiting, l.Running, l.KVUsed, l.AsOf = s.Waiting, s.Running, s.KVUsed, g.pool.loop.Now()
}

// wake goes on with scrapes after a time without load. What they would have seen in
// between is what the last one saw, which found the engines idle.
func (g *gate) wake(now clock.Time) {
	if g.pending {
		return
	}
	g.pending = true
	if now < g.phase {
		g.pool.loop.At(g.phase, clock.RankSample, g)
		return
	}
	last := g.phase + (now-g.phase)/clock.Time(g.every)*clock.Time(g.every)
	for i := range g.seen {
		g.seen[i].AsOf = last
	}
	g.pool.loop.At(last.Add(g.every), clock.RankSample, g)
}

// Fire scrapes. The chain ends when nothing is in the pool, so that a run can end.
func (g *gate) Fire(now clock.Time) {
	for i := range g.seen {
		g.read(i, &g.seen[i])
	}
	if g.pending = len(g.pool.live) > 0; g.pending {
		g.pool.loop.At(now.Add(g.every), clock.RankSample, g)
	}
}

// Entity implements clock.Event.
func (g *gate) Entity() uint64 { return g.id }
