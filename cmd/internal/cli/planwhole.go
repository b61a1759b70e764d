package cli

import (
	"sort"

	"goodput/datasets"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// planWhole makes c tell what an ideal cache would hold of a part's requests beside those of
// the other parts, which it takes from the whole schedule. Steps of sessions become due as
// others end, in other processes too, so that nothing is known of theirs.
func (s *session) planWhole(c *dispatch.Config, part schedule.Shard) error {
	held := c.PlannedCached
	if s.ofSessions() || held == nil {
		c.PlannedCached = nil
		return nil
	}
	source, err := s.source()
	if err != nil {
		return err
	}
	load, err := s.warmup(source)
	if err != nil {
		return err
	}
	scope, set := assignedScopes(c), c.Set
	var it datasets.Item
	c.PlannedCached = func(own *datasets.Item, ownScope uint64) int32 {
		for a, ok := load.source.Next(); ok && !part.Has(a.Seq); a, ok = load.source.Next() {
			set.Item(int(a.Item), &it)
			held(&it, scope(a))
		}
		return held(own, ownScope)
	}
	return nil
}

// assignedScopes tells with whom the request of an arrival shares prefixes, as the dispatcher
// assigns it.
func assignedScopes(c *dispatch.Config) func(a schedule.Arrival) uint64 {
	classes, plain := c.Classes, c.Assign
	return func(a schedule.Arrival) uint64 {
		assign, r := plain, target.Request{Seq: a.Seq}
		if n := sort.Search(len(classes), func(i int) bool { return classes[i].First > a.Item }); n > 0 {
			assign, r.Seq = classes[n-1].Assign, a.Item-classes[n-1].First
		}
		if assign != nil {
			assign.Fill(&r)
		}
		return r.Scope()
	}
}
