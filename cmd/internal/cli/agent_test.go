package cli

import (
	"testing"

	"goodput/loadgen/record"
)

// What the engine finds in its cache is never more than the plan offers to an endless
// cache, and just that if its own is large enough, alone, and asked one step at a time.
func TestSessionHitsAndThePlan(t *testing.T) {
	for _, c := range []struct {
		name  string
		equal bool
		args  []string
	}{
		{"endless cache, one at a time", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--arrival", "constant", "--burstiness", "inf",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000",
		}},
		{"blocks of one token", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--burstiness", "inf",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000", "--engine.block-size", "1",
		}},
		{"sub-agents, compaction and a small cache", false, []string{
			"--agent-preset", "coding-128k", "--sessions-rate", "0.2", "--replicas", "2", "--engine.num-gpu-blocks", "9000",
		}},
		{"no two sessions share", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--burstiness", "inf", "--agent-cache-scope", "session",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows, _ := runOf(t, append([]string{"--dataset-name", "agent", "--num-sessions", "12", "--ignore-eos"}, c.args...)...)
			found, planned := int64(0), int64(0)
			for _, r := range rows {
				if r.Outcome != record.OK {
					continue
				}
				found += int64(r.CachedTokens)
				planned += int64(r.PlannedCachedTokens)
				if r.CachedTokens > r.PlannedCachedTokens || c.equal && r.CachedTokens != r.PlannedCachedTokens {
					t.Fatalf("session %s, thread %s, step %d (%s): %d tokens cached, the plan offers %d of %d",
						r.SessionID, r.Thread, r.Turn, r.Trigger, r.CachedTokens, r.PlannedCachedTokens, r.PromptTokens)
				}
			}
			if planned == 0 || !c.equal && found >= planned {
				t.Errorf("%d of %d tokens found: the test shows nothing", found, planned)
			}
		})
	}
}

// TestSlowEnginesChangeNoSession is invariant 3 through the whole program: on slower
// engines each step is the same, and so is each session's arrival.
func TestSlowEnginesChangeNoSession(t *testing.T) {
	type key struct {
		session, thread string
		turn            int32
	}
	type step struct {
		in, out int32
		trigger string
	}
	play := func(gpu string) (map[key]step, int64) {
		rows, _ := runOf(t, "--dataset-name", "agent", "--agent-preset", "smoke", "--sessions-rate", "1", "--num-sessions", "30",
			"--replicas", "1", "--gpu", gpu, "--ignore-eos")
		out, spent := map[key]step{}, int64(0)
		for _, r := range rows {
			out[key{r.SessionID, r.Thread, r.Turn}] = step{r.PlannedPromptTokens, r.PlannedOutputTokens, r.Trigger}
			spent += r.E2E()
		}
		return out, spent
	}
	fast, quick := play("h100-sxm")
	slow, long := play("a100-sxm-40gb")
	if long < quick*3/2 {
		t.Fatalf("the slow engines took %d ns, the fast ones %d", long, quick)
	}
	if len(fast) != len(slow) {
		t.Fatalf("%d and %d steps", len(fast), len(slow))
	}
	for k, s := range fast {
		if slow[k] != s {
			t.Errorf("%+v: %+v on fast engines, %+v on slow ones", k, s, slow[k])
		}
	}
}
