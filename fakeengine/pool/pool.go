package pool

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"goodput/fakeengine/autoscale"
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/router"
	"goodput/fakeengine/shaper"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// Config says what a pool is made of.
type Config struct {
	// Replicas is the number of engines that answer, at least 1.
	Replicas int
	// Scale changes that number from then on; nil: nothing does. Prefill must be nil then.
	Scale *autoscale.Config
	// Prefill is what computes prompts for them; nil: they do that themselves.
	Prefill *disagg.Config
	// Engine configures each of them; its ID is replaced by the replica number.
	Engine engine.Config
	// Vary, if not nil, changes what replica i's engine differs in from Engine, such as
	// its KV blocks. All share what routers and prompts rest on: the size of a block,
	// the policy and prefix caching.
	Vary func(i int, c *engine.Config)
	// Name is what results call replica i; nil: its number.
	Name func(i int) string
	// Step makes the step-time model of each replica; steptime.Shared gives all of
	// them the same. With a steptime.Ranked of several ranks so many replicas in a row
	// step together; Replicas must be a multiple, and Prefill and Faults nil.
	Step func(replica int) steptime.Model
	// Policy picks the replica that answers. It belongs to the pool from then on.
	Policy router.Policy
	// Routers are further ones, and how old is what they see.
	Routers Routers
	// Shapers are in front of the routers, which share them: a request passes one after
	// the other. They belong to the pool from then on. Engines then take any priority.
	Shapers []shaper.Shaper
	// Loop is where everything happens.
	Loop clock.Loop
	// TTFTTimeout and RequestTimeout are the sender's patience, from the intended
	// time of a request: until the first token, and until the end. 0 is none.
	TTFTTimeout    time.Duration
	RequestTimeout time.Duration
	// Faults is what goes wrong, and when; nil: nothing. Metrics is not among it:
	// there are none in process.
	Faults fault.Script
}

// Pool is a number of engines behind one router. It belongs to the loop's
// goroutine: every method is called from within an event, or before the loop
// runs.
type Pool struct {
	loop    clock.Loop
	prefill *disagg.Prefill // nil: none
	// engines are all replicas: those for prefill, then those that answer, from
	// number first on.
	engines []*engine.Engine
	names   []string // replica i as results name it
	gates   []*gate
	toss    rng.Stream // which of several gates a request comes to, if by is nil
	by      func(r *target.Request) int
	first   int
	block   int // tokens of a KV block

	cached bool // engines have a prefix cache
	drafts bool // engines speculate
	routed bool // the policy reads prefix hashes
	ranked bool // engines schedule by priority

	// What observe needs: whose place is being picked, and scratch for the adapters of
	// a replica, which holds so many.
	picking          *attempt
	running, waiting []uint16
	loras            int

	fronts []*front
	meters []shaper.Meter
	redoes bool                         // some shapers send on again what is refused
	held   map[*shaper.Request]*attempt // those that a shaper holds

	patience    [2]time.Duration // to the first token, to the end; 0: no end
	ttft, total clock.Deadlines

	live map[*target.Request]*attempt // those in an engine, for Cancel
	free *attempt                     // list of attempts to be used again
	n    counts

	scaler  *autoscale.Scaler // nil: the number of replicas stays
	faults  *fault.Player
	faulty  bool                                // there are any
	cuts    bool                                // and some of them cut single events
	equip   func(i int) (*engine.Engine, error) // makes replica i
	retired engine.Stats                        // totals of engines that are no more
}

var (
	_ target.Target   = (*Pool)(nil)
	_ target.Canceler = (*Pool)(nil)
)

// New returns an idle pool. The errors are those of the engine's configuration
// and of things left out.
func New(c Config) (*Pool, error) {
	if c.Loop == nil {
		return nil, errors.New("a pool needs a loop to run on")
	}
	if c.Step == nil {
		return nil, errors.New("a pool needs a step-time model for its engines")
	}
	p := &Pool{
		loop:   c.Loop,
		block:  c.Engine.BlockSize,
		cached: c.Engine.PrefixCaching,
		drafts: c.Engine.Speculation.Model != nil,
		ranked: c.Engine.Policy == engine.Priority,
		live:   make(map[*target.Request]*attempt),
		loras:  c.Engine.LoRA.MaxLoras,
	}
	p.patience = [2]time.Duration{c.TTFTTimeout, c.RequestTimeout}
	p.ttft.Init(c.Loop, uint64(target.CauseTTFTTimeout))
	p.total.Init(c.Loop, uint64(target.CauseTotalTimeout))
	p.openFronts(c.Shapers)
	replicas, err := p.prepareScale(&c)
	if err != nil {
		return nil, err
	}
	if err := p.openGates(&c, replicas); err != nil {
		return nil, err
	}
	if c.Prefill != nil {
		if p.prefill, err = disagg.New(*c.Prefill, c.Replicas, c.Loop, p.Engine); err != nil {
			return nil, fmt.Errorf("setting up the pool: %w", err)
		}
		p.first = p.prefill.Replicas()
		p.routed = p.routed || p.prefill.Fleet().Reads(router.PrefixHashes)
	}
	if err := p.prepare(c.Faults, p.first+replicas); err != nil {
		return nil, err
	}
	var build engine.Builder
	p.equip = func(i int) (*engine.Engine, error) {
		own := c.Engine
		if c.Vary != nil {
			c.Vary(i, &own)
		}
		own.ID = i
		return build.New(own, p.faults.Model(i, c.Step(i)), c.Loop)
	}
	name := c.Name
	if name == nil {
		name = strconv.Itoa
	}
	for i := range p.first + replicas {
		e, err := p.equip(i)
		if err != nil {
			return nil, fmt.Errorf("setting up replica %d of the pool: %w", i, err)
		}
		p.engines = append(p.engines, e)
		p.names = append(p.names, name(i))
	}
	if p.scaler != nil {
		p.scaler.Start()
	}
	p.faults.Start()
	return p, nil
}

// Start implements target.Target: it routes r and hands it to the replica. The
// same r may be started again after its End, not before.
func (p *Pool) Start(r *target.Request, s target.Sink) {
	a := p.take()
	p.n.started++
	a.begin(r, s)
	now := p.loop.Now()
	// In one process there is no connection, and a request is written at once.
	for _, k := range [...]target.Kind{target.Dispatched, target.Writing, target.Wrote} {
		s.Event(target.Event{At: now, Kind: k})
	}
	p.live[r] = a
	if p.scaler != nil {
		p.scaler.Wake(now)
	}
	p.enter(a)
}

// place routes a to a replica.
func (p *Pool) place(a *attempt) {
	a.sends++
	a.wish = 0
	a.route.At = p.loop.Now()
	a.gate = p.gate(a.req)
	a.replica = a.gate.pick(a)
	if err := p.submit(a); err != nil {
		a.turnAway(err)
		return
	}
	a.watch()
}

// noReplica is the answer to a request that the router has no replica for.
func (g *gate) noReplica() error {
	return &struck{status: statusUnavailable, why: "the router has no replica that takes it", retryAfter: g.fleet.RetryAfter(g.pool.loop.Now())}
}

// submit hands a to its replica, unless a server would refuse it.
func (p *Pool) submit(a *attempt) error {
	if a.replica == router.None {
		return a.gate.noReplica()
	}
	if err := p.strike(a.replica); err != nil {
		return err
	}
	if a.req.Priority != 0 && !p.ranked && len(p.fronts) == 0 {
		return fmt.Errorf("priority is %d, but the engines serve by arrival", a.req.Priority)
	}
	return a.submit()
}

// Cancel implements target.Canceler. The replica drops r and frees its blocks at
// once; the End follows as an event of its own at the same instant. It does
// nothing if r is not under way.
func (p *Pool) Cancel(r *target.Request) {
	if a, ok := p.live[r]; ok {
		a.abort()
	}
}

// Replicas is the number of engines, those for prefill included.
func (p *Pool) Replicas() int { return len(p.engines) }

// First is the number of the first replica that answers; those before it compute
// prompts for it and the following ones.
func (p *Pool) First() int { return p.first }

// Name is what results call replica i.
func (p *Pool) Name(i int) string { return p.names[i] }

// Engine is replica i.
func (p *Pool) Engine(i int) *engine.Engine { return p.engines[i] }

// Load is what its router believes of replica i; of several routers the first one's.
func (p *Pool) Load(i int) router.Load {
	if i < p.first {
		return p.prefill.Fleet().Load(i)
	}
	return p.gates[0].fleet.Load(i - p.first)
}

// take returns an attempt that nobody uses: one that has ended, or a new one.
func (p *Pool) take() *attempt {
	a := p.free
	if a == nil {
		return &attempt{pool: p}
	}
	p.free, a.next = a.next, nil
	return a
}

// give takes back an attempt whose End was delivered.
func (p *Pool) give(a *attempt) {
	a.req, a.sink, a.runs = nil, nil, nil
	a.next, p.free = p.free, a
}
