package trial_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/fakeengine/trial"
)

// linear is a model whose steps take 1 ms and a microsecond for each token.
type linear struct{}

func (linear) Step(b *steptime.Batch) int64 { return 1e9 + 1e6*int64(b.Tokens) }

func config() engine.Config {
	return engine.Config{
		MaxNumSeqs: 64, MaxNumBatchedTokens: 1024, MaxModelLen: 4096, BlockSize: 16, NumGPUBlocks: 4096,
		ChunkedPrefill: true, FrontEnd: 2 * time.Millisecond,
	}
}

func Example() {
	r, err := trial.Run(config(), linear{}, trial.Batch(4, 100, 11))
	if err != nil {
		fmt.Println(err)
		return
	}
	// A step of 400 tokens, then ten of 4.
	fmt.Printf("TTFT %.1f ms, TPOT %.3f ms, all done after %.2f ms\n", 1e3*r.TTFT, 1e3*r.TPOT, 1e3*r.Makespan)
	// Output: TTFT 3.4 ms, TPOT 1.004 ms, all done after 13.44 ms
}

// TestOneClient is what can be computed by hand: nothing else is in the engine.
func TestOneClient(t *testing.T) {
	r, err := trial.Run(config(), linear{}, trial.Closed(1, 2000, 101))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "TTFT", r.TTFT, 2e-3+2e-3+2000e-6) // front end, two steps
	near(t, "TPOT", r.TPOT, 1.001e-3)
	near(t, "E2E", r.E2E, r.TTFT+100*1.001e-3)
	near(t, "rate", r.OutputRate, 101/r.E2E)
	near(t, "makespan", r.Makespan, 5*r.E2E)
	if r.Counted != 4 {
		t.Errorf("%d requests count, want all but the first", r.Counted)
	}
}

func TestOneToken(t *testing.T) {
	r, err := trial.Run(config(), linear{}, trial.Batch(1, 10, 1))
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(r.TPOT) {
		t.Errorf("TPOT of one token is %v, want NaN", r.TPOT)
	}
}

// TestThroughputMeetsMakespan checks the rate that follows from the time of a
// request against all tokens over the length of the run, which leaves out nothing.
func TestThroughputMeetsMakespan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := trial.Closed(rapid.IntRange(1, 96).Draw(t, "clients"), rapid.IntRange(1, 1500).Draw(t, "input"), rapid.IntRange(2, 200).Draw(t, "output"))
		r, err := trial.Run(config(), linear{}, l)
		if err != nil {
			t.Fatal(err)
		}
		whole := float64(l.Requests*l.Output) / r.Makespan
		// Start and end, where not all clients are busy, are most of a wave at worst.
		if r.OutputRate < 0.7*whole || r.OutputRate > 1.4*whole {
			t.Errorf("%.1f tokens/s by the time of requests, %.1f over the run", r.OutputRate, whole)
		}
		if r.TTFT+r.TPOT*float64(l.Output-1)-r.E2E > 1e-9 {
			t.Errorf("TTFT %v and TPOT %v do not make E2E %v", r.TTFT, r.TPOT, r.E2E)
		}
	})
}

func TestClosedIsBounded(t *testing.T) {
	for _, c := range []struct{ clients, output, waves int }{{1, 128, 5}, {256, 1024, 5}, {512, 2048, 2}, {4096, 8192, 2}} {
		l := trial.Closed(c.clients, 1024, c.output)
		if l.Requests != c.waves*c.clients {
			t.Errorf("%d clients of %d tokens: %d requests, want %d waves", c.clients, c.output, l.Requests, c.waves)
		}
	}
}

func TestRejects(t *testing.T) {
	for name, l := range map[string]trial.Load{
		"no clients":    {0, 1, 1, 1},
		"few requests":  {4, 3, 1, 1},
		"no input":      {1, 1, 0, 1},
		"no output":     {1, 1, 1, 0},
		"longer than a": {1, 1, 4096, 1},
	} {
		if _, err := trial.Run(config(), linear{}, l); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := trial.Run(engine.Config{}, linear{}, trial.Batch(1, 1, 1)); err == nil {
		t.Error("an engine without settings: no error")
	}
}

// TestTokensAllocateNothing: requests cost something and their block tables double
// now and then, tokens cost nothing.
func TestTokensAllocateNothing(t *testing.T) {
	run := func(output int) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := trial.Run(config(), linear{}, trial.Batch(8, 16, output)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := run(200), run(2000); long > short+8*5 {
		t.Errorf("%v allocations for 200 tokens, %v for 2000", short, long)
	}
}

func BenchmarkClosed(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := trial.Run(config(), linear{}, trial.Closed(64, 256, 128)); err != nil {
			b.Fatal(err)
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
