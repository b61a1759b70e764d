package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"goodput/datasets"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
)

// resetTimeout is how long a server may take to forget its cache.
const resetTimeout = 30 * time.Second

// salt is what makes the prompts of a run its own; 0: they are those of all runs of
// the seed. Engines of this process begin empty, and need none.
func (s *session) salt(run uint64) uint64 {
	if s.pool != nil || s.plan.Cache == plan.CacheKeep {
		return 0
	}
	r := rng.New(run, "prompts of a run", 0)
	return r.Uint64() | 1
}

// preceded is the load with what precedes its window.
type preceded struct {
	set    datasets.Set
	source schedule.Source
	// lasts is how long the warm-up is; 0: until its requests have ended.
	lasts time.Duration
	// first tells where the items of a class begin; nil: the load has no classes.
	first func(class int) int
}

// warmup puts before the arrivals of source what the plan asks for.
func (s *session) warmup(source schedule.Source) (preceded, error) {
	if m := mixOf(s.set); m != nil {
		return m.warmup(source)
	}
	out := preceded{set: s.set, source: source}
	w, err := newWarming(&s.plan, s.set)
	if err != nil || w.source == nil {
		return out, err
	}
	return preceded{set: w.set, source: schedule.Warm(w.source, uint64(s.set.Len()), source), lasts: w.lasts}, nil
}

// warming is what precedes a window: the requests are behind the items of the set.
type warming struct {
	set    datasets.Set
	source schedule.Source // nil: nothing precedes it
	lasts  time.Duration   // 0: until its requests have ended
}

// arrivals are none where nothing precedes the window.
func (w *warming) arrivals() schedule.Source {
	if w.source == nil {
		return schedule.None{}
	}
	return w.source
}

// newWarming makes what the plan asks for.
func newWarming(p *plan.Plan, set datasets.Set) (warming, error) {
	out := warming{set: set}
	d, n, err := p.Warming()
	if err != nil {
		return out, fmt.Errorf("--warmup: %w", err)
	}
	prefixes := p.Cache == plan.CacheWarm
	if set == nil || d == 0 && n == 0 && !prefixes {
		return out, nil
	}
	if d > 0 {
		if n, err = warmed(p, set, d); err != nil {
			return out, err
		}
	}
	w, err := datasets.WithWarmup(set, prefixes, n, p.Seed)
	if err != nil {
		return out, fmt.Errorf("--cache %s: %w", p.Cache, err)
	}
	if d > 0 {
		if n < w.Prefixes() {
			return out, fmt.Errorf("--warmup: %v hold %d requests, fewer than the %d prefixes that --cache %s sends once: make it longer", d, n, w.Prefixes(), plan.CacheWarm)
		}
		w = w.Reduced(n - w.Prefixes())
	}
	source, err := warmupArrivals(p, set, w.Warmups(), d)
	return warming{w, source, d}, err
}

// warmed is the number of requests of a warm-up that lasts for d, at least 1.
func warmed(p *plan.Plan, set datasets.Set, d time.Duration) (int, error) {
	source, err := warmupArrivals(p, set, 0, d)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, ok := source.Next(); ok; _, ok = source.Next() {
		if n++; n > plan.MostWarmups {
			return 0, fmt.Errorf("--warmup: %v hold more than %d requests: make it shorter", d, plan.MostWarmups)
		}
	}
	return max(n, 1), nil
}

// warmupArrivals makes n arrivals (0: those of d) at the mean rate of the load, by its
// process or, if that is recorded, by Poisson's. A rate that changes over time is the
// one that it begins with.
func warmupArrivals(p *plan.Plan, set datasets.Set, n int, d time.Duration) (schedule.Source, error) {
	c, err := generated(p, p.RequestRate, n)
	if err != nil {
		return nil, err
	}
	c.Duration, c.Rescale = d, false
	for _, stage := range c.Stages {
		if c.Rate == 0 {
			c.Rate = stage.Rate
		}
	}
	c.Stages = nil
	seed := rng.New(p.Seed, "warmup arrivals", 0)
	c.Seed = seed.Uint64()
	if c.Process == schedule.Trace {
		c.Process = schedule.Poisson
	}
	if c.Rate == 0 {
		recorded, ok := datasets.Describe(set, set.Len()).Rate()
		if !ok && d > 0 {
			return nil, fmt.Errorf("--warmup: %v is recorded at one instant, which has no rate: say how many requests, such as 20req", set)
		}
		if !ok {
			recorded = math.Inf(1)
		}
		c.Rate = recorded
	}
	source, err := schedule.New(c)
	if err != nil {
		return nil, fmt.Errorf("--warmup: %w", err)
	}
	return source, nil
}

// resetCache has the server forget what it has cached, if the plan asks for it.
func (s *session) resetCache(reset func(context.Context) error) error {
	if !s.plan.ResetCache {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
	defer cancel()
	if err := reset(ctx); err != nil {
		return exitf(exitTarget, "--reset-prefix-cache: %w", err)
	}
	s.facts[record.TargetCacheReset] = "done"
	return nil
}

// describeWarmup prints what precedes the window.
func describeWarmup(w io.Writer, p *plan.Plan) {
	d, n, _ := p.Warming() // checked with the plan
	var what []string
	if p.Cache == plan.CacheWarm {
		what = append(what, "each shared prefix once")
	}
	switch {
	case n > 0:
		what = append(what, fmt.Sprintf("%d requests, which end first", n))
	case d > 0:
		what = append(what, fmt.Sprintf("%v of the load", d))
	}
	if len(what) > 0 {
		fmt.Fprintf(w, "warm-up    %s\n", strings.Join(what, ", "))
	}
}
