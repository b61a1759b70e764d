package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets/agent"
)

const example = `
tenants: {count: 8, zipf: 1}
append:
  tool: {dist: lognormal, p50: 500, p90: 5000, max: 20000}
wait:
  tool_calls_per_step: {dist: weights, values: {1: 0.9, 2: 0.1}}
  tool: {dist: logmix, parts: [[0.6, 0.02, 1], [0.4, 1s, 1m]]}
  tool_cap: 30s
  human: {dist: lognormal, median: 2m, sigma: 1, min: 1s}
fanout: {probability: 0.02, context: fork, width: 3}
prefix_break: {probability: 0}
`

// What a text gives replaces the preset's, a distribution as a whole; all else stays.
func TestWith(t *testing.T) {
	base := preset(t, "coding-128k")
	got, err := base.With([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	want := base
	want.Tenants, want.TenantZipf, want.PrefixBreak = 8, 1, 0
	want.Append.Tool = agent.Dist{Kind: agent.Lognormal, P50: 500, P90: 5000, Max: 20_000}
	want.Wait.ToolCalls = agent.Dist{Kind: agent.Weights, Values: []float64{1, 2}, Weight: []float64{0.9, 0.1}}
	want.Wait.Tool = agent.Dist{Kind: agent.LogMix, Parts: []agent.Part{{Weight: 0.6, Low: 0.02, High: 1}, {Weight: 0.4, Low: 1, High: 60}}}
	want.Wait.ToolCap = 30 * time.Second
	want.Wait.Human = agent.Dist{Kind: agent.Lognormal, Median: 120, Sigma: 1, Min: 1}
	want.Fanout.Probability, want.Fanout.Context, want.Fanout.Width = 0.02, agent.Fork, agent.Dist{Kind: agent.Fixed, Value: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	newSet(t, got, 1, 1)
	if same, err := base.With([]byte("# nothing\n")); err != nil || !cmp.Equal(base, same) {
		t.Errorf("an empty text changed the preset, or %v", err)
	}
}

func TestWithRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "tennants: {count: 1}", "tennants"},
		{"unknown nested key", "shape: {turns: 3}", "turns"},
		{"no kind", "append: {tool: {median: 3}}", "which one"},
		{"unknown parameter", "append: {tool: {dist: lognormal, mode: 3}}", "mode"},
		{"no number", "append: {tool: {dist: lognormal, median: much}}", "neither a number nor a duration"},
		{"not finite", "append: {tool: .inf}", "finite"},
		{"broken part", "wait: {tool: {dist: logmix, parts: [[1, 2]]}}", "WEIGHT, LOW, HIGH"},
		{"what is kept", "prefix_break: {keep: all}", "prefix_break.keep"},
		{"no YAML", "tenants: {", "reading"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := preset(t, "smoke").With([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Whatever a text says, it is refused or makes plans that hold.
func FuzzWith(f *testing.F) {
	f.Add(example)
	f.Add("context: {max_tokens: 20000}\ncompaction: {at: 0}")
	f.Add("append: {tool: {dist: empirical, values: [1, 2, 3]}, user: {dist: mixture, weight: [1, 1], of: [3, {dist: zipf, n: 9, s: 1}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		base, err := agent.Preset("smoke")
		if err != nil {
			t.Fatal(err)
		}
		c, err := base.With([]byte(text))
		if err != nil {
			return
		}
		c.Shape.MaxSteps = min(max(c.Shape.MaxSteps, 1), 50)
		c.Fanout.Steps, c.Fanout.Width = agent.Dist{}, agent.Dist{}
		set, err := agent.New(c, 3, 1)
		if err != nil {
			return
		}
		for i := range 3 {
			s := session(set, i)
			if _, err := checkPlan(&s); err != nil {
				t.Fatal(err)
			}
		}
	})
}
