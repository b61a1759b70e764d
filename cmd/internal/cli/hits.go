package cli

import (
	"fmt"
	"io"
	"strings"

	"goodput/datasets"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// cacheBlocks is the number of KV blocks in which the plan's engines keep prefixes: of
// all replicas together, or of those that compute prompts. 0: they keep none.
func cacheBlocks(p *plan.Plan, setup *engineSetup) int {
	if !p.EnginePrefixCaching {
		return 0
	}
	replicas := p.Replicas
	if p.Split() {
		replicas = p.PrefillReplicas
	}
	// One block of an engine is the null block, which holds nothing.
	if setup.mix != nil {
		return setup.mix.cached()
	}
	return replicas * (setup.config.NumGPUBlocks - 1 + setup.config.Offload.Blocks)
}

// poolText says for people what the target in process is.
func poolText(p *plan.Plan, setup *engineSetup) string {
	return fmt.Sprintf("%d in-process engines (%s), %s%s", p.Replicas, setup.text, routersText(p), splitText(p, setup)+scaleText(p))
}

// plannedCached tells, request by request, what an infinite cache would hold;
// nil for a set that does not say which prompts begin alike.
func plannedCached(set datasets.Set, block int) func(*datasets.Item, uint64) int32 {
	cache, known := datasets.NewIdealCache(set, block)
	if !known {
		return nil
	}
	return held(cache)
}

// poolCached tells the same of one cache as large as those of the pool.
func poolCached(set datasets.Set, block, blocks int) func(*datasets.Item, uint64) int32 {
	if blocks == 0 {
		return nil
	}
	cache, known := datasets.NewPoolCache(set, block, blocks)
	if !known {
		return nil
	}
	return held(cache)
}

// cache is one of those that tell what is found in them.
type cache interface {
	Take(it *datasets.Item, scope uint64) (tokens int, ok bool)
}

// held asks a cache for each request.
func held(c cache) func(*datasets.Item, uint64) int32 {
	return func(it *datasets.Item, scope uint64) int32 {
		if n, ok := c.Take(it, scope); ok {
			return int32(n)
		}
		return record.Null32
	}
}

// previewSet prints what to expect of a load of requests. It asks no server.
func previewSet(w io.Writer, p plan.Plan, set datasets.Set) error {
	s := &session{plan: p, set: set, targetText: strings.Join(p.BaseURL, ", ")}
	if p.InPool() {
		setup, err := newEngineSetup(&p)
		if err != nil {
			return err
		}
		s.kvBlocks, s.targetText = cacheBlocks(&p, &setup), poolText(&p, &setup)
	}
	describeLoad(w, s)
	return nil
}

// expectHits ends a line with the part of the first n prompts that an endless cache
// would hold and, if no run follows, one as large as those of the pool, when requests are
// served one after the other.
func expectHits(w io.Writer, s *session, n int) {
	block, scope := s.plan.EngineBlockSize, scopes(&s.plan)
	if hit, ok := datasets.Ideal(s.set, n, block, scope).Rate(); ok {
		fmt.Fprintf(w, ", ideal prefix hit %.1f %%", 100*hit)
	} else {
		fmt.Fprint(w, ", prefix reuse unknown")
	}
	// A run follows the pool's cache while it goes, and reports it.
	if s.pool == nil && s.kvBlocks > 0 {
		if hit, ok := datasets.PoolHit(s.set, n, block, s.kvBlocks, scope).Rate(); ok {
			fmt.Fprintf(w, ", of one cache of the pool's %d blocks %.1f %%", s.kvBlocks, 100*hit)
		}
	}
	fmt.Fprintln(w)
}
