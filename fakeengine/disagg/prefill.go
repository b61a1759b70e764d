package disagg

import (
	"errors"
	"fmt"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// Config says what computes prompts for the decode replicas.
type Config struct {
	// Replicas is the number of prefill replicas, at least 1. Their numbers are 0 to
	// Replicas-1; the decode replicas follow.
	Replicas int
	// Policy picks the prefill replica.
	Policy router.Policy
	// MaxLocalPrefill is the most tokens of a prompt, beside those in its prefix
	// cache, that a decode replica computes itself; 0: it never does. It is the
	// max_local_prefill_length of NVIDIA Dynamo and TensorRT-LLM; llm-d's decider
	// has the threshold one token higher.
	MaxLocalPrefill int
	Link            Link
}

// Prefill is the prefill replicas, their router, and the links from them. It
// belongs to the loop's goroutine.
type Prefill struct {
	fleet    *router.Fleet
	replica  func(i int) *engine.Engine
	net      *network
	most     int
	replicas int
}

// New returns the prefill side of a number of decode replicas. replica is the
// engine of a number, now: a crashed one may be replaced.
func New(c Config, decode int, loop clock.Loop, replica func(i int) *engine.Engine) (*Prefill, error) {
	if loop == nil || replica == nil {
		return nil, errors.New("prefill replicas need a loop and engines")
	}
	if decode < 1 {
		return nil, fmt.Errorf("prefill replicas for %d decode replicas: need at least 1", decode)
	}
	if c.MaxLocalPrefill < 0 {
		return nil, fmt.Errorf("a local prefill of at most %d tokens: need 0 or more", c.MaxLocalPrefill)
	}
	if err := c.Link.validate(); err != nil {
		return nil, fmt.Errorf("setting up the link between prefill and decode replicas: %w", err)
	}
	p := &Prefill{replica: replica, most: c.MaxLocalPrefill, replicas: c.Replicas}
	fleet, err := router.NewFleet(c.Policy, c.Replicas, func(i int, _ *router.Request, l *router.Load) {
		s := replica(i).Stats()
		l.Waiting, l.Running, l.KVUsed, l.AsOf = s.Waiting, s.Running, s.KVUsed, loop.Now()
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the router of the prefill replicas: %w", err)
	}
	p.fleet, p.net = fleet, newNetwork(loop, c.Link, c.Replicas+decode)
	return p, nil
}

// Wanted reports whether the prompt of s should be computed on a prefill replica:
// whether the decode replica would have to compute too much of it itself.
func (p *Prefill) Wanted(decode int, s *engine.Seq) bool {
	return s.Prompt-p.replica(decode).CachedTokens(s) > p.most
}

// Fleet is the router of the prefill replicas. Who picks one with it must say when
// that one is done, see Owner.
func (p *Prefill) Fleet() *router.Fleet { return p.fleet }

// Replicas is the number of prefill replicas.
func (p *Prefill) Replicas() int { return p.replicas }

// Moved is what the links have carried.
func (p *Prefill) Moved() Moved { return p.net.moved }
