package agent

import (
	"fmt"
	"time"
)

// Presets are the names that Preset knows.
func Presets() []string { return []string{"coding", "coding-128k", "chat", "toolagent", "smoke"} }

// Preset returns the parameters of a named workload: coding agents with a context of
// 200k or 128k tokens, conversations, single requests with tools, and short sessions
// for tests.
func Preset(name string) (Config, error) {
	switch name {
	case "coding":
		return coding(), nil
	case "coding-128k":
		return coding128k(), nil
	case "chat":
		return chat(), nil
	case "toolagent":
		return toolAgent(), nil
	case "smoke":
		return smoke(), nil
	}
	return Config{}, fmt.Errorf("preset %q is unknown: use one of %v", name, Presets())
}

func coding128k() Config {
	return Config{
		Tenants: 4, TenantZipf: 0.6,
		Shape: Shape{
			UserTurns: lognormal(3, 1.4, 1, 60), StepsPerTurn: lognormal(2.5, 1.5, 1, 60), MaxSteps: 300,
		},
		Context: Context{
			MaxTokens: 128_000, System: 3000, Tools: 12_000,
			Init: lognormal(4000, 1.1, 200, 30_000), Resume: lognormal(100_000, 0.6, 0, 180_000),
		},
		Append: Append{
			User: lognormal(250, 1.7, 5, 20_000), Tool: lognormal(340, 1.8, 10, 20_000), Assistant: lognormal(230, 1, 10, 4000),
		},
		Wait: Wait{
			ToolCalls: weights(map[float64]float64{1: 0.88, 2: 0.07, 3: 0.03, 4: 0.02}),
			Tool:      Dist{Kind: LogMix, Parts: []Part{{0.61, 0.02, 1}, {0.27, 1, 10}, {0.08, 10, 60}, {0.04, 60, 1200}}},
			ToolCap:   time.Minute,
			Human:     lognormal(86, 2, 1, 0), HumanCap: 5 * time.Minute,
		},
		Fanout: Fanout{
			Probability: 0.003, Width: weights(map[float64]float64{1: 0.45, 2: 0.35, 3: 0.15, 5: 0.05}),
			Context: Fresh, Prefix: 8700, Types: 3, Join: All,
			Task: lognormal(1600, 0.5, 0, 0), Steps: lognormal(11, 0.5, 2, 40),
			Tool: lognormal(2300, 1.4, 0, 30_000), Return: lognormal(1000, 0.6, 0, 0),
		},
		Compaction: Compaction{
			At: 0.75, Request: true, Instruction: 200,
			Summary: lognormal(2000, 0.5, 0, 8000), Reattach: lognormal(13_000, 0.7, 0, 32_000),
		},
		PrefixBreak: 0.01,
	}
}

func coding() Config {
	c := coding128k()
	c.Shape = Shape{UserTurns: lognormal(3, 1.4, 1, 200), StepsPerTurn: lognormal(2.5, 1.5, 1, 200), MaxSteps: 1200}
	c.Context.MaxTokens = 200_000
	c.Context.Init.Max = 60_000
	c.Append.Tool.Max, c.Append.Assistant.Max = 40_000, 8000
	c.Compaction.Reattach = lognormal(17_000, 0.7, 0, 64_000)
	return c
}

// smoke is for tests: half a minute a session.
func smoke() Config {
	return Config{
		Tenants: 4, TenantZipf: 0.6,
		Shape:   Shape{UserTurns: fixed(1), StepsPerTurn: lognormal(8, 0.5, 2, 20)},
		Context: Context{MaxTokens: 32_000, System: 400, Tools: 1600, Init: lognormal(500, 0.5, 0, 0)},
		Append: Append{
			User: lognormal(100, 0.5, 0, 0), Tool: lognormal(300, 1, 0, 2000), Assistant: lognormal(100, 0.5, 0, 0),
		},
		Wait: Wait{
			ToolCalls: fixed(1), Tool: coding128k().Wait.Tool, ToolCap: 200 * time.Millisecond,
			Human: fixed(1),
		},
	}
}

// chat is fitted to the conversations of the Mooncake traces.
func chat() Config {
	return Config{
		Tenants: 1,
		Shape:   Shape{UserTurns: Dist{Kind: Geometric, Mean: 1.49}, StepsPerTurn: fixed(1)},
		Context: Context{MaxTokens: 128_000, GlobalPrefix: 512, Init: lognormal(6000, 1.2, 0, 100_000)},
		Append: Append{
			User: Dist{Kind: Mixture, Weight: []float64{0.75, 0.25}, Of: []Dist{
				lognormal(20, 1, 1, 0), lognormal(3500, 0.9, 1, 60_000),
			}},
			Assistant: Dist{Kind: Normal, Mean: 340, SD: 150, Min: 10},
		},
		Wait: Wait{ToolCalls: fixed(1), Human: lognormal(120, 1, 1, 0), HumanCap: 15 * time.Minute},
	}
}

// toolAgent is fitted to the means of the Mooncake trace of tools and agents, which
// are all that is published of it.
func toolAgent() Config {
	return Config{
		Tenants: 20, TenantZipf: 0.6,
		Shape:   Shape{UserTurns: fixed(1), StepsPerTurn: fixed(1)},
		Context: Context{MaxTokens: 128_000, System: 1000, Tools: 4100},
		Append:  Append{User: lognormal(2000, 1.06, 1, 60_000), Assistant: lognormal(100, 1.1, 1, 4000)},
		Wait:    Wait{ToolCalls: fixed(1), Human: fixed(1)},
	}
}
