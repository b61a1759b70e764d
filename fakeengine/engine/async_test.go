package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// async is small with two steps in the pipe.
func async() Config {
	cfg := small()
	cfg.AsyncScheduling = true
	return cfg
}

func (l *lab) wantOutputs(want ...string) {
	l.t.Helper()
	l.loop.Run()
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		l.t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestR25TwoStepsAreScheduledAhead(t *testing.T) {
	l := newLab(t, async())
	l.submit(0, 20, 4)
	var scheduled []clock.Time
	l.onStep = func(*steptime.Batch) { scheduled = append(scheduled, l.loop.Now()) }
	// The second chunk and the first decode do not wait for the step before.
	l.wantSteps("1:16", "1:20", "1:21", "1:22", "1:23")
	if diff := cmp.Diff([]clock.Time{0, 0, ms, 2 * ms, 3 * ms}, scheduled); diff != "" {
		t.Errorf("instants of scheduling (-want +got):\n%s", diff)
	}
	l.wantOutputs("1 token 1 at 2", "1 token 2 at 3", "1 token 3 at 4", "1 token 4 at 5", "1 length at 5")
}

func TestR26AnArrivalMissesTheStepThatIsScheduled(t *testing.T) {
	for _, c := range []struct {
		name  string
		cfg   Config
		first clock.Time
	}{{"synchronous", small(), 3 * ms}, {"asynchronous", async(), 4 * ms}} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, c.cfg)
			l.submit(0, 4, 9)
			s := l.submit(ms+ms/2, 4, 1)
			l.loop.Run()
			// The step more is part of the prefill, not of the queue.
			if s.Queued != 2*ms || s.Scheduled != 2*ms || s.FirstToken != c.first {
				t.Errorf("queued %v, scheduled %v, first token %v; want 2ms, 2ms, %v", s.Queued, s.Scheduled, s.FirstToken, c.first)
			}
		})
	}
	t.Run("nothing was scheduled: the executing step is still waited for", func(t *testing.T) {
		l := newLab(t, async())
		l.submit(0, 4, 1)
		s := l.submit(ms/2, 4, 1)
		l.loop.Run()
		if s.Scheduled != ms || s.FirstToken != 2*ms {
			t.Errorf("scheduled %v, first token %v; want 1ms, 2ms", s.Scheduled, s.FirstToken)
		}
	})
}

func TestR26OnlyAStopTokenWastesAStep(t *testing.T) {
	t.Run("stop", func(t *testing.T) {
		l := newLab(t, async())
		s := l.submit(0, 4, 5, func(s *Seq) { s.StopAt = 2 })
		l.at(2*ms+ms/2, func() {
			if got := l.e.Stats(); got.KVUsed != 0 || got.Running != 0 || got.Finished != 1 {
				t.Errorf("after the stop: %+v", got)
			}
		})
		l.wantSteps("1:4", "1:5", "1:6")
		l.wantOutputs("1 token 1 at 1", "1 token 2 at 2", "1 stop at 2")
		if got := l.e.Stats(); got.Steps != 3 || got.GenerationTokens != 2 || s.Output != 2 {
			t.Errorf("%d steps, %d tokens; want 3, 2", got.Steps, got.GenerationTokens)
		}
	})
	t.Run("an arrival waits for the wasted step", func(t *testing.T) {
		l := newLab(t, async())
		l.submit(0, 4, 5, func(s *Seq) { s.StopAt = 2 })
		s := l.submit(2*ms+ms/4, 4, 1)
		l.loop.Run()
		if s.Scheduled != 3*ms {
			t.Errorf("scheduled at %v, want 3ms", s.Scheduled)
		}
	})
	t.Run("length", func(t *testing.T) {
		l := newLab(t, async())
		l.submit(0, 4, 2)
		l.wantSteps("1:4", "1:5")
		l.wantOutputs("1 token 1 at 1", "1 token 2 at 2", "1 length at 2")
		if got := l.e.Stats().Steps; got != 2 {
			t.Errorf("%d steps, want 2", got)
		}
	})
}

func TestR26BlocksComeBackOneStepLater(t *testing.T) {
	for _, c := range []struct {
		name  string
		async bool
		steps []string
	}{
		{"synchronous", false, []string{"1:1 2:7", "1:2 2:8", "1:3 3:7"}},
		{"asynchronous", true, []string{"1:1 2:7", "1:2 2:8", "1:3", "1:4 3:7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling, cfg.NumGPUBlocks = c.async, 4 // 3 usable
			l := newLab(t, cfg)
			l.submit(0, 1, 4)
			l.submit(0, 7, 2)
			l.submit(0, 7, 1)
			l.wantSteps(c.steps...)
		})
	}
}

func TestR26PreemptedAmidAStepKeepsItsToken(t *testing.T) {
	for _, c := range []struct {
		name string
		out  int
		end  string
	}{
		{"and comes back", 3, "2 token 3 at 5"},
		{"and may be done", 2, "2 length at 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := async()
			cfg.NumGPUBlocks = 5 // 4 usable
			l := newLab(t, cfg)
			l.submit(0, 7, 4)
			b := l.submit(0, 7, c.out)
			l.at(ms+ms/2, func() {
				if b.Preemptions != 1 || b.Output != 1 {
					t.Errorf("after 1 ms: %d preemptions, %d tokens; want 1, 1", b.Preemptions, b.Output)
				}
			})
			// 1 pushes out 2 when step 3 is scheduled, amid step 2.
			l.wantSteps("1:7 2:7", "1:8 2:8", "1:9")
			if b.FirstToken != ms || b.Output != c.out {
				t.Errorf("first token %v, %d tokens; want 1ms, %d", b.FirstToken, b.Output, c.out)
			}
			found := false
			for _, o := range l.outputs {
				found = found || o == c.end
			}
			if !found {
				t.Errorf("no %q in %q", c.end, l.outputs)
			}
			if got := l.e.Stats(); got.Waiting+got.Running != 0 || got.KVUsed != 0 {
				t.Errorf("at the end: %+v", got)
			}
		})
	}
}

// A block that is full of tokens whose values are not known cannot be found.
func TestR19PlaceholdersNameNoBlock(t *testing.T) {
	l := newLab(t, async())
	s := l.submit(0, 4, 9)
	var full []int
	l.onStep = func(*steptime.Batch) { full = append(full, s.sched.table.Named()) }
	l.wantSteps("1:4", "1:5", "1:6", "1:7", "1:8", "1:9")
	// 8 tokens are computed with step 5; the eighth is known when step 4 ends, at
	// the scheduling of step 6.
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 2}, full[:6]); diff != "" {
		t.Errorf("named blocks (-want +got):\n%s", diff)
	}
}

func TestR24AbortDropsBothSteps(t *testing.T) {
	l := newLab(t, async())
	s := l.submit(0, 8, 9)
	l.submit(0, 4, 3)
	l.at(ms+ms/2, func() { l.e.Abort(s) })
	l.wantOutputs(
		"1 token 1 at 1", "2 token 1 at 1", "1 aborted at 1.5",
		"2 token 2 at 2", "2 token 3 at 3", "2 length at 3",
	)
}
