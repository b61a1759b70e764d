package trace_test

import (
	"testing"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// BenchmarkPlan plans all requests of a trace, from the file to the items. Most of it
// is reading: a row of Mooncake's has 28 ids, and one of WEKA's 760.
func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		format trace.Format
		file   string
	}{
		{trace.Azure, "azure/AzureLLMInferenceTrace_conv_2023.head300.csv"},
		{trace.Mooncake, "mooncake/conversation.head400.jsonl"},
		{trace.TraceLab, "tracelab/multi_session_large.csv"},
		{trace.Weka, "weka/trace_0277.json"},
		{trace.ServeGen, "servegen/m-large.chunk-0-trace.head144.csv"},
	} {
		b.Run(string(c.format), func(b *testing.B) {
			path := excerpt(b, c.file)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				set := open(b, c.format, path, 0)
				var it datasets.Item
				for i := range set.Len() {
					set.Item(i, &it)
				}
				n += set.Len()
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
