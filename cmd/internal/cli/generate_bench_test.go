package cli

import (
	"os"
	"path/filepath"
	"testing"

	"goodput/datasets"
	"goodput/datasets/agent"
	"goodput/loadgen/plan"
)

// BenchmarkGenerate reports planned requests per second of processor time, all threads
// counted: of each generator, of each preset of sessions, and of traces from the file to
// the items (a row of the Mooncake sample has 28 ids, one of the WEKA sample 760).
func BenchmarkGenerate(b *testing.B) {
	type load struct {
		name string
		set  func(p *plan.Plan)
	}
	var loads []load
	for _, name := range []string{"random", "prefix_repetition", "shared_prefix", "rag"} {
		loads = append(loads, load{name, func(p *plan.Plan) { p.DatasetName, p.NumPrompts, p.RequestRate = name, 100_000, 1 }})
	}
	for _, name := range agent.Presets() {
		loads = append(loads, load{"agent-" + name, func(p *plan.Plan) {
			p.DatasetName, p.AgentPreset, p.NumSessions, p.SessionsRate = "agent", name, 2000, 1
		}})
	}
	samples := filepath.Join("..", "..", "..", "..", "shared", "traces")
	for _, name := range []string{
		"azure/AzureLLMInferenceTrace_conv_2023.head300.csv", "mooncake/conversation.head400.jsonl",
		"tracelab/multi_session_large.csv", "weka/trace_0277.json",
	} {
		loads = append(loads, load{filepath.Dir(name), func(p *plan.Plan) {
			p.DatasetName, p.DatasetPath, p.TraceSessions = "trace", filepath.Join(samples, name), plan.SessionsOpen
		}})
	}
	for _, l := range loads {
		b.Run(l.name, func(b *testing.B) {
			p := plan.Default()
			l.set(&p)
			if _, err := os.Stat(p.DatasetPath); p.DatasetPath != "" && err != nil {
				b.Skip("needs the trace samples: ", err)
			}
			b.ReportAllocs()
			n := 0
			before, known := processorTime()
			for b.Loop() {
				n += generate(b, p)
			}
			if after, _ := processorTime(); known {
				b.ReportMetric(float64(n)/(after-before).Seconds(), "requests/cpu-s")
			}
		})
	}
}

// generate plans all requests of a load, and counts them.
func generate(b *testing.B, p plan.Plan) (n int) {
	set, sessions, _, err := openLoad(p)
	if err != nil {
		b.Fatal(err)
	}
	if sessions == nil {
		var it datasets.Item
		for i := range set.Len() {
			set.Item(i, &it)
		}
		return set.Len()
	}
	var s datasets.Session
	for i := range sessions.Sessions() {
		sessions.Session(i, &s)
		n += s.Steps()
	}
	return n
}
