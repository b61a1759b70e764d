package agent

import (
	"fmt"
	"math"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// Whatever a distribution draws, a thread has no more than mostSteps steps, and a step
// no more than mostParallel tool calls or sub-agents beside each other.
const (
	mostSteps    = math.MaxUint16
	mostParallel = 1024
	// mostCalls of one answer have a result of their own in a chat, as servers bound it.
	mostCalls = 128
)

// Scope says which sessions share the content of their prefixes.
type Scope string

// The scopes.
const (
	ScopeRun     Scope = "run"     // those of one run: a cache that others have filled does not help
	ScopeSession Scope = "session" // none
	ScopeNone    Scope = "none"    // those of all runs: equal seeds give equal bytes
)

// Set is a set of planned sessions.
type Set struct {
	cfg     Config
	n       int
	seed    uint64
	scope   Scope
	nonce   uint64
	tenants picker
	dist    dists
	streams streams
}

var _ datasets.SessionSet = (*Set)(nil)

// dists are the compiled distributions of a Config.
type dists struct {
	turns, steps, init, resume, user, tool, assistant, calls, wait, human sampler
	reasoning                                                             sampler
	width, task, subSteps, subTool, giveBack, summary, reattach           sampler
}

// named pairs each distribution with its key in the configuration.
func (c *Config) named() []struct {
	name string
	dist Dist
	to   func(*dists) *sampler
} {
	human := c.Wait.Human
	if most := c.Wait.HumanCap.Seconds(); most > 0 && (human.Max == 0 || most < human.Max) {
		human.Max = most
	}
	return []struct {
		name string
		dist Dist
		to   func(*dists) *sampler
	}{
		{"shape.user_turns", c.Shape.UserTurns, func(d *dists) *sampler { return &d.turns }},
		{"shape.steps_per_turn", c.Shape.StepsPerTurn, func(d *dists) *sampler { return &d.steps }},
		{"context.init", c.Context.Init, func(d *dists) *sampler { return &d.init }},
		{"context.resume", c.Context.Resume, func(d *dists) *sampler { return &d.resume }},
		{"append.user", c.Append.User, func(d *dists) *sampler { return &d.user }},
		{"append.tool", c.Append.Tool, func(d *dists) *sampler { return &d.tool }},
		{"append.reasoning", c.Append.Reasoning, func(d *dists) *sampler { return &d.reasoning }},
		{"append.assistant", c.Append.Assistant, func(d *dists) *sampler { return &d.assistant }},
		{"wait.tool_calls_per_step", c.Wait.ToolCalls, func(d *dists) *sampler { return &d.calls }},
		{"wait.tool", c.Wait.Tool, func(d *dists) *sampler { return &d.wait }},
		{"wait.human", human, func(d *dists) *sampler { return &d.human }},
		{"fanout.width", c.Fanout.Width, func(d *dists) *sampler { return &d.width }},
		{"fanout.task", c.Fanout.Task, func(d *dists) *sampler { return &d.task }},
		{"fanout.steps", c.Fanout.Steps, func(d *dists) *sampler { return &d.subSteps }},
		{"fanout.tool", c.Fanout.Tool, func(d *dists) *sampler { return &d.subTool }},
		{"fanout.return", c.Fanout.Return, func(d *dists) *sampler { return &d.giveBack }},
		{"compaction.summary_output", c.Compaction.Summary, func(d *dists) *sampler { return &d.summary }},
		{"compaction.reattach", c.Compaction.Reattach, func(d *dists) *sampler { return &d.reattach }},
	}
}

// New returns n sessions, or an error that names the parameter at fault. Its size in
// memory does not depend on n.
func New(c Config, n int, seed uint64) (*Set, error) {
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("dataset agent: %d sessions: use 1 to %d", n, math.MaxInt32)
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("dataset agent: %w", err)
	}
	s := &Set{cfg: c, n: n, seed: seed, scope: ScopeNone, streams: newStreams(seed)}
	for _, d := range c.named() {
		var err error
		if *d.to(&s.dist), err = compile(d.dist); err != nil {
			return nil, fmt.Errorf("dataset agent: %s: %w", d.name, err)
		}
	}
	var err error
	if s.tenants, err = newPicker(zipfWeights(c.Tenants, c.TenantZipf)); err != nil {
		return nil, fmt.Errorf("dataset agent: tenants: %w", err)
	}
	return s, nil
}

// Scoped is the set with other content: of its run, which the nonce names, of each
// session, or of none in particular. Lengths, waits and shapes stay.
func (s *Set) Scoped(scope Scope, nonce uint64) (*Set, error) {
	out := *s
	out.scope, out.nonce = scope, nonce
	switch scope {
	case ScopeRun, ScopeSession, ScopeNone:
		return &out, nil
	}
	return nil, fmt.Errorf("cache scope %q is unknown: use %s, %s or %s", scope, ScopeRun, ScopeSession, ScopeNone)
}

// salt is what makes the content of session i that of its scope.
func (s *Set) salt(i int) uint64 {
	switch s.scope {
	case ScopeRun:
		r := rng.New(s.nonce, "agent run", 0)
		return r.Uint64()
	case ScopeSession:
		r := rng.New(s.nonce, "agent session", uint64(i))
		return r.Uint64()
	}
	return 0
}

// Sessions is the number of sessions.
func (s *Set) Sessions() int { return s.n }

// Session fills dst with session i. It reuses the memory of dst.
func (s *Set) Session(i int, dst *datasets.Session) {
	p := planner{set: s, dst: dst, salt: s.salt(i)}
	p.streams(uint64(i))
	p.plan(i)
}

// String names the set and its parameters in short.
func (s *Set) String() string {
	c := &s.cfg
	return fmt.Sprintf("agent(%d sessions, %d tenants, prefix %d, context %d, fan-out %v, cache scope %s, seed %d)",
		s.n, c.Tenants, c.prefix(), c.Context.MaxTokens, c.Fanout.Probability, s.scope, s.seed)
}

// Realised is the mean of a distribution as its bounds leave it.
type Realised struct {
	// Name is the key in the configuration.
	Name string
	Dist Dist
	// Mean is over draws, not over a run: what a run draws depends on its length.
	Mean float64
}

// Realised draws from each distribution that is not constantly 0, n times.
func (s *Set) Realised(n int) []Realised {
	var out []Realised
	for _, d := range s.cfg.named() {
		if d.dist.Kind != "" {
			out = append(out, Realised{d.name, d.dist, d.to(&s.dist).realised(n)})
		}
	}
	return out
}
