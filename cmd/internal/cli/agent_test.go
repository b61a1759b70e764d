package cli

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"goodput/datasets"
	"goodput/datasets/agent"
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
		{"live history, endless cache, one at a time", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--burstiness", "inf", "--agent-history", "live",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000",
		}},
		{"live tokens, a scheduler that waits for outputs, blocks of one token", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--burstiness", "inf", "--agent-history", "live-tokens",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000", "--engine.block-size", "1", "--engine.async-scheduling=false",
		}},
		{"tenants with a salt and an adapter each", true, []string{
			"--agent-preset", "smoke", "--sessions-rate", "0.001", "--burstiness", "inf", "--cache-salt-tenants",
			"--lora-modules", "a*3", "--lora-assignment", "tenant", "--engine.enable-lora", "--engine.max-loras", "3",
			"--replicas", "1", "--engine.num-gpu-blocks", "1000000",
		}},
		{"live history, sub-agents and a small cache", false, []string{
			"--agent-preset", "coding-128k", "--sessions-rate", "0.2", "--replicas", "2", "--engine.num-gpu-blocks", "9000",
			"--agent-history", "live",
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

// TestHitsThroughFourReplicas: sessions that are spread over four endless caches lose
// just the hits that the plan says they do when its steps are dealt to four caches in
// turn; kept on one replica each, they lose no more than the first visits of a prefix.
func TestHitsThroughFourReplicas(t *testing.T) {
	for _, history := range []string{"planned", "live"} {
		lost := map[string]int64{}
		for _, rule := range []string{"round-robin", "session"} {
			rows, m := runOf(t, "--dataset-name", "agent", "--agent-preset", "smoke", "--num-sessions", "24", "--sessions-rate", "0.001",
				"--burstiness", "inf", "--agent-history", history, "--replicas", "4", "--router", rule,
				"--engine.num-gpu-blocks", "1000000", "--ignore-eos")
			slices.SortFunc(rows, func(a, b record.Request) int { return cmp.Compare(a.Seq, b.Seq) })
			home := map[string]string{}
			want := predictedHits(t, m.Seed, history == "live", len(rows), func(i int) string {
				r := &rows[i]
				if rule == "round-robin" {
					return strconv.Itoa(i % 4)
				}
				if h, ok := home[r.SessionID]; ok && h != r.Replica {
					t.Fatalf("session %s was on replica %s, now on %s", r.SessionID, h, r.Replica)
				}
				home[r.SessionID] = r.Replica
				return r.Replica
			})
			used := map[string]bool{}
			for i, r := range rows {
				used[r.Replica] = true
				if int(r.CachedTokens) != want[i] {
					t.Fatalf("%s, %s: step %d of session %s found %d tokens, the plan says %d", history, rule, r.Turn, r.SessionID, r.CachedTokens, want[i])
				}
				lost[rule] += int64(r.PlannedCachedTokens - r.CachedTokens)
			}
			if len(used) != 4 {
				t.Fatalf("%s: %d replicas were used", rule, len(used))
			}
		}
		// Four tenants of 2,000 tokens and the same again for each further replica.
		if most := int64(3 * 4 * 2000); lost["session"] > most {
			t.Errorf("%s: sessions kept together lose %d tokens, the prefixes on three more replicas are %d", history, lost["session"], most)
		}
		if lost["round-robin"] < 10*lost["session"] {
			t.Errorf("%s: round robin loses %d tokens, sessions kept together %d: the test shows nothing", history, lost["round-robin"], lost["session"])
		}
	}
}

// predictedHits deals the steps of the planned sessions, one after the other, to
// endless caches by name.
func predictedHits(t *testing.T, seed uint64, live bool, steps int, cacheOf func(i int) string) []int {
	t.Helper()
	preset, err := agent.Preset("smoke")
	if err != nil {
		t.Fatal(err)
	}
	set, err := agent.New(preset, 24, seed)
	if err != nil {
		t.Fatal(err)
	}
	caches := map[string]*datasets.IdealCache{}
	var out []int
	var s datasets.Session
	for i := range set.Sessions() {
		set.Session(i, &s)
		if len(s.Threads) != 1 {
			t.Fatalf("session %d has %d threads", i, len(s.Threads))
		}
		var context []datasets.Span
		all := s.Threads[0].Steps
		for k := range all {
			st := &all[k]
			name := cacheOf(len(out))
			if caches[name] == nil {
				caches[name], _ = datasets.NewIdealCache(nil, 16)
			}
			it := datasets.Item{
				Prompt: st.Prompt(nil, context), In: st.In, Out: st.Out, OutKey: st.OutKey, Quoted: live && k+1 < len(all),
			}
			n, _ := caches[name].Take(&it, 0)
			out = append(out, n)
			context = st.Context(nil, context)
		}
	}
	if len(out) != steps {
		t.Fatalf("%d steps planned, %d sent", len(out), steps)
	}
	return out
}
