package trace_test

import (
	"testing"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// TestSamplesOfSessions reads samples of public session traces.
func TestSamplesOfSessions(t *testing.T) {
	for _, c := range []struct {
		file            string
		format          trace.Format
		rows, sessions  int
		threads, joined int // of all sessions
	}{
		{"weka/trace_0504.json", trace.Weka, 3, 1, 1, 0},
		{"weka/trace_0277.json", trace.Weka, 53, 1, 5, 4},
		{"weka/trace_0707.json", trace.Weka, 24, 1, 1, 0},
		{"tracelab/session_workload_example.csv", trace.TraceLab, 11, 1, 1, 0},
		{"tracelab/multi_session_large.csv", trace.TraceLab, 303, 48, 48, 0},
		{"otel/simple_chain.json", trace.OTel, 3, 1, 1, 0},
		{"otel/parallel_requests.json", trace.OTel, 5, 1, 2, 1},
		{"otel/fan_in_dependencies.json", trace.OTel, 4, 1, 2, 1},
		{"burstgpt/BurstGPT_1.first3.csv", trace.BurstGPT, 3, 0, 0, 0},
		{"burstgpt/BurstGPT_3.first4.csv", trace.BurstGPT, 4, 4, 4, 0},
		{"ragpulse/0_trace.head120.jsonl", trace.RAGPulse, 120, 68, 68, 0},
		{"servegen/m-large.chunk-0-trace.head144.csv", trace.ServeGen, 54126, 0, 0, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := excerpt(t, c.file)
			if got, err := trace.Detect(path); err != nil || got != c.format {
				t.Errorf("told as %q, %v", got, err)
			}
			set, err := trace.Open(c.format, path, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			threads, joined := 0, 0
			var s datasets.Session
			for i := range set.Sessions() {
				set.Session(i, &s)
				threads += len(s.Threads)
				for _, th := range s.Threads {
					if th.Join >= 0 {
						joined++
					}
				}
			}
			t.Logf("%d rows, %d sessions, %d threads, %d joined, skipped %+v", set.Len(), set.Sessions(), threads, joined, set.Skipped())
			for _, n := range []struct {
				name      string
				got, want int
			}{{"rows", set.Len(), c.rows}, {"sessions", set.Sessions(), c.sessions}, {"threads", threads, c.threads}, {"joined", joined, c.joined}} {
				if n.want != 0 && n.got != n.want {
					t.Errorf("%d %s, want %d", n.got, n.name, n.want)
				}
			}
		})
	}
}
