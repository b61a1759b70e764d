package query

import (
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Trigger are the figures of the steps of one kind: of those that follow on the same
// kind of thing, or have about the same number in their thread.
type Trigger struct {
	Name string
	// N steps were sent, of which so many succeeded.
	N, OK int64
	// TTFT, TPOT and E2E are those of successes, in nanoseconds.
	TTFT, TPOT, E2E stats.Summary
	// PlannedHit and MeasuredHit are those of Figures.
	PlannedHit, MeasuredHit Ratio
}

// triggered accumulates the figures of one kind of step.
type triggered struct {
	Trigger
	ttft, tpot, e2e stats.Sample
}

// triggers finds its kinds in order of their first appearance; there are few.
type triggers struct {
	kinds   []*triggered
	byIndex [4]triggered // as byStepIndex has it
}

// mostTriggers bounds what a file of other origin can make of memory.
const mostTriggers = 64

func (t *triggers) of(name string) *triggered {
	for _, k := range t.kinds {
		if k.Name == name {
			return k
		}
	}
	if len(t.kinds) == mostTriggers {
		return nil
	}
	k := &triggered{Trigger: Trigger{Name: name}}
	t.kinds = append(t.kinds, k)
	return k
}

func (t *triggers) add(r *record.Request) {
	if r.Trigger == "" {
		return
	}
	if k := t.of(r.Trigger); k != nil {
		k.add(r)
	}
	if i := bucketOf(byStepIndex, r.Turn+1); i >= 0 && r.Turn >= 0 {
		t.byIndex[i].add(r)
	}
}

// add takes a step that was sent.
func (k *triggered) add(r *record.Request) {
	k.N++
	if r.Outcome != record.OK {
		return
	}
	k.OK++
	for _, m := range []struct {
		to *stats.Sample
		v  int64
	}{{&k.ttft, r.TTFT()}, {&k.tpot, r.TPOT()}, {&k.e2e, r.E2E()}} {
		if m.v != record.Null {
			m.to.Add(m.v)
		}
	}
	k.PlannedHit.hit(r.PlannedCachedTokens, r.PlannedPromptTokens)
	k.MeasuredHit.hit(r.CachedTokens, r.PromptTokens)
}

// hit adds cached tokens of a prompt, if both are known.
func (r *Ratio) hit(cached, prompt int32) {
	if cached != record.Null32 && prompt != record.Null32 {
		r.Part += int64(cached)
		r.Whole += int64(prompt)
	}
}

// triggerOrder is how the kinds are printed; others come behind.
var triggerOrder = []string{"user", "tool", "join", "compaction", "spawn"}

func (t *triggers) finish() []Trigger {
	var out []Trigger
	take := func(k *triggered) {
		out = append(out, k.finish())
		k.Name = ""
	}
	for _, name := range triggerOrder {
		for _, k := range t.kinds {
			if k.Name == name {
				take(k)
			}
		}
	}
	for _, k := range t.kinds {
		if k.Name != "" {
			take(k)
		}
	}
	return out
}

func (k *triggered) finish() Trigger {
	k.TTFT, k.TPOT, k.E2E = k.ttft.Summary(), k.tpot.Summary(), k.e2e.Summary()
	return k.Trigger
}

// indexed are the steps by their number in their thread, if there are any.
func (t *triggers) indexed() []Trigger {
	var out []Trigger
	for i := range t.byIndex {
		if k := &t.byIndex[i]; k.N > 0 {
			k.Name = byStepIndex[i].name
			out = append(out, k.finish())
		}
	}
	return out
}
