package agent_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/agent"
)

func preset(t testing.TB, name string) agent.Config {
	c, err := agent.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newSet(t interface{ Fatal(...any) }, c agent.Config, n int, seed uint64) *agent.Set {
	s, err := agent.New(c, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func session(s *agent.Set, i int) datasets.Session {
	var out datasets.Session
	s.Session(i, &out)
	return out
}

// checkPlan holds what every consumer of a plan relies on, and returns the context of
// each step by thread.
func checkPlan(s *datasets.Session) ([][][]datasets.Span, error) {
	contexts := make([][][]datasets.Span, len(s.Threads))
	for k, th := range s.Threads {
		if (k == 0) != (th.Parent < 0) || th.Parent >= k || len(th.Steps) == 0 {
			return nil, fmt.Errorf("thread %d has parent %d and %d steps", k, th.Parent, len(th.Steps))
		}
		var context []datasets.Span
		if k > 0 {
			parent := s.Threads[th.Parent]
			if th.Spawn < 0 || th.Spawn >= len(parent.Steps) || th.Join >= len(parent.Steps) || th.Join >= 0 && th.Join <= th.Spawn {
				return nil, fmt.Errorf("thread %d spawns at %d and joins at %d of %d", k, th.Spawn, th.Join, len(parent.Steps))
			}
			context = contexts[th.Parent][th.Spawn]
		}
		for i := range th.Steps {
			st := &th.Steps[i]
			prompt := st.Prompt(nil, context)
			if n := total(prompt); n != st.In || st.In < 1 || st.Out < 1 || st.Wait < 0 || st.Keep > total(context) {
				return nil, fmt.Errorf("thread %d step %d: prompt of %d tokens, keeps %d of %d: %+v", k, i, n, st.Keep, total(context), *st)
			}
			context = st.Context(nil, context)
			contexts[k] = append(contexts[k], context)
		}
	}
	return contexts, nil
}

func total(spans []datasets.Span) int {
	n := 0
	for _, s := range spans {
		n += s.Tokens
	}
	return n
}

// TestPlans checks plans of all presets, with more sub-agents, breaks and resumed
// sessions than usual.
func TestPlans(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := preset(t, rapid.SampledFrom(agent.Presets()).Draw(rt, "preset"))
		if c.Fanout.Types > 0 {
			c.Fanout.Probability = rapid.Float64Range(0, 0.3).Draw(rt, "fan-out")
			c.Fanout.Context = rapid.SampledFrom([]string{agent.Fresh, agent.Fork}).Draw(rt, "context")
			c.Fanout.Join = rapid.SampledFrom([]string{agent.All, agent.None}).Draw(rt, "join")
			c.Context.ResumeFraction = rapid.Float64Range(0, 1).Draw(rt, "resume")
			c.Compaction.Request = rapid.Bool().Draw(rt, "request")
			c.Compaction.At = rapid.SampledFrom([]float64{0, 0.3, 0.75}).Draw(rt, "at")
		}
		c.PrefixBreak = rapid.Float64Range(0, 0.2).Draw(rt, "break")
		set := newSet(rt, c, 100, rapid.Uint64().Draw(rt, "seed"))
		i := rapid.IntRange(0, 99).Draw(rt, "i")
		s := session(set, i)
		if _, err := checkPlan(&s); err != nil {
			rt.Fatal(err)
		}
		limit := c.Context.MaxTokens
		main := s.Threads[0].Steps
		for k := range main {
			if main[k].In > limit {
				rt.Fatalf("step %d has %d tokens, the context %d", k, main[k].In, limit)
			}
			// A step goes on with all that was there, unless it was compacted or broken.
			if k > 0 && main[k].In < main[k-1].In+main[k-1].Out && c.Compaction.At == 0 {
				rt.Fatalf("step %d shrank from %d to %d", k, main[k-1].In, main[k].In)
			}
		}
		// Memory that held another session makes no difference.
		used := session(set, (i+1)%100)
		set.Session(i, &used)
		if diff := cmp.Diff(s, used); diff != "" {
			rt.Fatalf("in used memory (-fresh +used):\n%s", diff)
		}
	})
}

// A session depends on the seed and its number alone (invariant 3), and one parameter
// does not move the choices of others.
func TestStreamsAreApart(t *testing.T) {
	base := preset(t, "coding-128k")
	few, many := newSet(t, base, 3, 7), newSet(t, base, 500, 7)
	if diff := cmp.Diff(session(few, 2), session(many, 2)); diff != "" {
		t.Errorf("by number of sessions:\n%s", diff)
	}
	other := base
	other.Append.Assistant = agent.Dist{Kind: agent.Fixed, Value: 100}
	other.Wait.Tool = agent.Dist{Kind: agent.Fixed, Value: 1}
	x, y := session(many, 2).Threads[0].Steps, session(newSet(t, other, 500, 7), 2).Threads[0].Steps
	if len(x) < 5 {
		t.Fatalf("a session of %d steps shows little", len(x))
	}
	for k := range min(len(x), len(y), 5) {
		if x[k].Trigger != y[k].Trigger || last(x[k].Append).Tokens != last(y[k].Append).Tokens {
			t.Errorf("step %d: %+v became %+v", k, x[k], y[k])
		}
	}
}

func last(s []datasets.Span) datasets.Span { return s[len(s)-1] }

// TestSiblings: fresh siblings share exactly the prefix of their type, and nothing
// with their parent; forked ones share all that the parent had.
func TestSiblings(t *testing.T) {
	for _, context := range []string{agent.Fresh, agent.Fork} {
		t.Run(context, func(t *testing.T) {
			c := preset(t, "coding-128k")
			c.Fanout.Probability, c.Fanout.Context = 0.1, context
			c.Fanout.Width = agent.Dist{Kind: agent.Fixed, Value: 3}
			set := newSet(t, c, 200, 1)
			pairs := 0
			for i := range 200 {
				s := session(set, i)
				contexts, err := checkPlan(&s)
				if err != nil {
					t.Fatal(err)
				}
				for k := 1; k+1 < len(s.Threads); k++ {
					a, b := &s.Threads[k], &s.Threads[k+1]
					if a.Spawn != b.Spawn {
						continue
					}
					pairs++
					parent := contexts[a.Parent][a.Spawn]
					pa, pb := a.Steps[0].Prompt(nil, parent), b.Steps[0].Prompt(nil, parent)
					want, withParent := c.Fanout.Prefix, 0
					if context == agent.Fork {
						want = total(parent)
						withParent = want
					}
					if got := common(pa, pb); got != want {
						t.Fatalf("siblings share %d tokens, want %d", got, want)
					}
					if got := common(pa, parent); got != withParent {
						t.Fatalf("a child shares %d tokens with its parent, want %d", got, withParent)
					}
				}
			}
			if pairs < 100 {
				t.Errorf("only %d pairs of siblings", pairs)
			}
		})
	}
}

// common is the number of leading tokens that two prompts share.
func common(a, b []datasets.Span) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i].Key != b[i].Key {
			break
		}
		n += min(a[i].Tokens, b[i].Tokens)
		if a[i].Tokens != b[i].Tokens {
			break
		}
	}
	return n
}

// TestScopes: sessions of a tenant share its prefix within a run, or in all runs, or
// not at all; lengths are the same.
func TestScopes(t *testing.T) {
	c := preset(t, "smoke")
	c.Tenants = 1
	base := newSet(t, c, 2, 1)
	shared := func(scope agent.Scope, nonce, other uint64) int {
		a, err := base.Scoped(scope, nonce)
		if err != nil {
			t.Fatal(err)
		}
		b, err := base.Scoped(scope, other)
		if err != nil {
			t.Fatal(err)
		}
		x, y := session(a, 0), session(b, 1)
		return common(x.Threads[0].Steps[0].Append, y.Threads[0].Steps[0].Append)
	}
	for _, w := range []struct {
		scope        agent.Scope
		nonce, other uint64
		want         int
	}{
		{agent.ScopeRun, 1, 1, 2000},
		{agent.ScopeRun, 1, 2, 0},
		{agent.ScopeSession, 1, 1, 0},
		{agent.ScopeNone, 1, 2, 2000},
	} {
		if got := shared(w.scope, w.nonce, w.other); got != w.want {
			t.Errorf("scope %s, runs %d and %d: sessions share %d tokens, want %d", w.scope, w.nonce, w.other, got, w.want)
		}
	}
	if _, err := base.Scoped("planet", 0); err == nil {
		t.Error("an unknown scope was accepted")
	}
}

// The published means of conversations, and of tools and agents.
func TestMeansOfSmallPresets(t *testing.T) {
	for _, c := range []struct {
		preset          string
		steps, in, out  float64
		withinIn, share float64
	}{
		{"toolagent", 1, 8596, 182, 0.05, 0.59},
		{"chat", 1.49, math.NaN(), 343, 0, math.NaN()},
	} {
		cfg := preset(t, c.preset)
		f := measure(newSet(t, cfg, 20_000, 1), cfg.Context.GlobalPrefix+cfg.Context.System+cfg.Context.Tools)
		if got := mean(f.steps); math.Abs(got-c.steps) > 0.05*c.steps {
			t.Errorf("%s: %v steps, want %v", c.preset, got, c.steps)
		}
		if got := mean(f.in); math.Abs(got-c.in) > 0.05*c.in {
			t.Errorf("%s: %v tokens in, want %v", c.preset, got, c.in)
		}
		if got := mean(f.out); math.Abs(got-c.out) > 0.05*c.out {
			t.Errorf("%s: %v tokens out, want %v", c.preset, got, c.out)
		}
		if got := f.hit / f.sumIn; math.Abs(got-c.share) > 0.05*c.share {
			t.Errorf("%s: %v reused, want %v", c.preset, got, c.share)
		}
	}
}

// Tenants are asked for in proportion to k^-s.
func TestTenants(t *testing.T) {
	c := preset(t, "smoke")
	c.Tenants, c.TenantZipf = 3, 1
	set := newSet(t, c, 20_000, 1)
	var n [4]float64
	var s datasets.Session
	for i := range 20_000 {
		set.Session(i, &s)
		n[s.Tenant]++
	}
	for k, want := range []float64{0, 6. / 11, 3. / 11, 2. / 11} {
		if math.Abs(n[k]/20_000-want) > 0.012 { // three standard deviations and more
			t.Errorf("tenant %d has a share of %v, want %v", k, n[k]/20_000, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, edit := range map[string]func(*agent.Config){
		"tenants":          func(c *agent.Config) { c.Tenants = 0 },
		"leaves no room":   func(c *agent.Config) { c.Context.Tools = 200_000 },
		"fanout.context":   func(c *agent.Config) { c.Fanout.Context = "stale" },
		"fanout.join":      func(c *agent.Config) { c.Fanout.Join = "some" },
		"shares":           func(c *agent.Config) { c.PrefixBreak = math.NaN() },
		"append.assistant": func(c *agent.Config) { c.Append.Assistant.Max = 1e-3 },
		"context.system":   func(c *agent.Config) { c.Context.System = -1 },
	} {
		c := preset(t, "coding-128k")
		edit(&c)
		if _, err := agent.New(c, 1, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := agent.New(preset(t, "smoke"), 0, 1); err == nil {
		t.Error("no sessions were accepted")
	}
	if _, err := agent.Preset("writing"); err == nil {
		t.Error("an unknown preset was accepted")
	}
}

func TestRealised(t *testing.T) {
	set := newSet(t, preset(t, "coding-128k"), 1, 1)
	all := set.Realised(5000)
	i := slices.IndexFunc(all, func(r agent.Realised) bool { return r.Name == "append.tool" })
	if i < 0 || all[i].Mean < 1100 || all[i].Mean > 1500 { // 1718 without the maximum
		t.Errorf("realised means %+v", all)
	}
}

// A session planned into used memory allocates only for what is longer than before.
func TestSessionAllocatesLittle(t *testing.T) {
	set := newSet(t, preset(t, "coding-128k"), 1<<20, 1)
	var s datasets.Session
	for i := range 300 {
		set.Session(i, &s)
	}
	i := 0
	if n := testing.AllocsPerRun(300, func() { set.Session(i, &s); i++ }); n > 1 {
		t.Errorf("%v allocations a session", n)
	}
}

// BenchmarkPlan plans sessions until b.N requests are planned.
func BenchmarkPlan(b *testing.B) {
	for _, name := range agent.Presets() {
		b.Run(name, func(b *testing.B) {
			set := newSet(b, preset(b, name), 1<<30, 1)
			b.ReportAllocs()
			var s datasets.Session
			for n, i := 0, 0; n < b.N; i++ {
				set.Session(i, &s)
				n += s.Steps()
			}
		})
	}
}

func Example() {
	c, err := agent.Preset("smoke")
	if err != nil {
		panic(err)
	}
	set, err := agent.New(c, 10, 1)
	if err != nil {
		panic(err)
	}
	var s datasets.Session
	set.Session(0, &s)
	for _, st := range s.Threads[0].Steps[:3] {
		fmt.Println(st.Trigger, st.In, st.Out)
	}
	// Output:
	// user 2612 502
	// tool 5007 171
	// tool 5444 117
}
