package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

func TestR3StepMixesDecodeAndPrefill(t *testing.T) {
	l := newLab(t, small())
	l.submit(0, 4, 3)
	l.submit(ms, 6, 1)
	var mixed steptime.Batch
	l.onStep = func(b *steptime.Batch) {
		if len(l.steps) == 2 {
			mixed = *b
		}
	}
	l.wantSteps("1:4", "1:5 2:6", "1:6")
	want := steptime.Batch{Tokens: 7, Seqs: 2, Emit: 2, Prefills: 1, DecodeCtx: 5, DecodeMax: 5, PrefillPairs2: 36}
	if diff := cmp.Diff(want, mixed); diff != "" {
		t.Errorf("second step (-want +got):\n%s", diff)
	}
}

func TestR4RunningInOrderOfAdmissionWithinTheBudget(t *testing.T) {
	t.Run("decodes first, the budget's rest to the newest", func(t *testing.T) {
		cfg := small()
		cfg.MaxNumBatchedTokens = 10
		l := newLab(t, cfg)
		l.submit(0, 5, 9)
		l.submit(0, 12, 9)
		l.wantSteps("1:5 2:5", "1:6 2:12", "1:7 2:13")
	})
	t.Run("a spent budget leaves the tail out", func(t *testing.T) {
		cfg := small()
		cfg.MaxNumBatchedTokens = 2
		l := newLab(t, cfg)
		for range 3 {
			l.submit(0, 1, 2)
		}
		l.wantSteps("1:1 2:1", "1:2 2:2", "3:1", "3:2")
	})
	t.Run("threshold bounds running prefills", func(t *testing.T) {
		cfg := small()
		cfg.LongPrefillThreshold = 3
		l := newLab(t, cfg)
		l.submit(0, 8, 1)
		l.wantSteps("1:3", "1:6", "1:8")
	})
}

func TestR5PartialPrefillKeepsItsPlace(t *testing.T) {
	cfg := small()
	cfg.MaxNumBatchedTokens = 8
	l := newLab(t, cfg)
	l.submit(0, 20, 2)
	l.submit(0, 4, 2)
	// The second one waits until the first leaves budget over.
	l.wantSteps("1:8", "1:16", "1:20 2:4", "1:21 2:5")
}

func TestR6NewestIsPreempted(t *testing.T) {
	t.Run("tail goes first", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 7 // 6 usable; three sequences of two blocks
		cfg.PrefixCaching = false
		cfg.MaxNumBatchedTokens = 32
		l := newLab(t, cfg)
		for range 3 {
			l.submit(0, 7, 10)
		}
		// At 9 tokens each needs a third block: 1 pushes out 3, and 2 takes its other
		// block.
		l.wantSteps("1:7 2:7 3:7", "1:8 2:8 3:8", "1:9 2:9", "1:10 2:10")
		if got := []int{l.seqs[0].Preemptions, l.seqs[1].Preemptions, l.seqs[2].Preemptions}; got[0] != 0 || got[2] == 0 {
			t.Errorf("preemptions %v, want none of the first and some of the last", got)
		}
	})
	t.Run("the requester itself, then the phase stops", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 5 // 4 usable
		l := newLab(t, cfg)
		l.submit(0, 7, 6)
		l.submit(0, 7, 3)
		// Step 3: 1 needs a third block and pushes out 2. Step 6 is after 1 ended.
		l.wantSteps("1:7 2:7", "1:8 2:8", "1:9", "1:10", "1:11", "1:12", "2:9")
	})
	t.Run("a partial prefill that is the newest gives way to itself", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 5 // 4 usable
		cfg.ReserveFullISL, cfg.PrefixCaching = false, false
		cfg.MaxNumBatchedTokens = 12
		l := newLab(t, cfg)
		l.submit(0, 8, 2)
		l.submit(0, 9, 1)
		l.submit(0, 3, 1)
		// Step 2: 1 takes the last block, 2 finds none for its second chunk.
		l.wantSteps("1:8 2:4", "1:9", "2:9 3:3")
	})
}

func TestR7PreemptedKeepsOutputAndComesBackFirst(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 6 // 5 usable
	cfg.PrefixCaching = false
	cfg.MaxNumBatchedTokens = 32
	l := newLab(t, cfg)
	a := l.submit(0, 8, 6)
	b := l.submit(0, 8, 4)
	l.submit(2*ms, 4, 1)
	// b is out from step 3 on. It needs 10 tokens = 3 blocks when it comes back,
	// ahead of 3, which would have fitted long before.
	l.wantSteps("1:8 2:8", "1:9", "1:10", "1:11", "1:12", "1:13", "2:9 3:4", "2:10", "2:11")
	if b.Preemptions != 1 || a.Preemptions != 0 {
		t.Errorf("preemptions %d and %d, want 0 and 1", a.Preemptions, b.Preemptions)
	}
	if b.FirstToken != ms || b.Output != 4 {
		t.Errorf("first token at %v, %d tokens; want 1ms, 4: a preemption moves no token that was out", b.FirstToken, b.Output)
	}
	if b.Recomputed != 8 || b.PreemptedNS != int64(5*ms) {
		t.Errorf("recomputed %d tokens, preempted %d ns; want 8, 5 ms", b.Recomputed, b.PreemptedNS)
	}
	if got := l.e.Stats(); got.Preemptions != 1 || got.Recomputed != 8 {
		t.Errorf("stats %+v, want 1 preemption, 8 recomputed", got)
	}
}

func TestR7RecomputedIsWhatIsScheduledTwice(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 7 // 6 usable
	cfg.ReserveFullISL, cfg.PrefixCaching = false, false
	cfg.MaxNumBatchedTokens = 8
	l := newLab(t, cfg)
	scheduled := 0
	l.onStep = func(b *steptime.Batch) { scheduled += b.Tokens }
	a := l.submit(0, 4, 10)
	b := l.submit(0, 24, 1)
	// 2 is pushed out with 11 tokens, with 14, and again with 7: the last time it
	// loses less than it once had.
	l.wantSteps("1:4 2:4", "1:5 2:11", "1:6", "1:7 2:7", "1:8 2:14", "1:9", "1:10 2:7", "1:11", "1:12 2:7")
	once := a.Prompt + a.Output - 1 + b.Prompt
	if b.Recomputed != scheduled-once {
		t.Errorf("recomputed %d tokens; %d were scheduled where %d would do", b.Recomputed, scheduled, once)
	}
}

func TestAbortWhilePreempted(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 5
	l := newLab(t, cfg)
	l.submit(0, 8, 8)
	b := l.submit(0, 8, 8)
	l.at(3*ms+ms/2, func() { l.e.Abort(b) })
	l.loop.Run()
	// Out at 1 ms, when 1 needs its third block.
	if b.Preemptions != 1 || b.PreemptedNS != int64(2*ms+ms/2) {
		t.Errorf("%d preemptions of %d ns, want 1 of 2.5 ms", b.Preemptions, b.PreemptedNS)
	}
}

func TestArrivalsOfAnInstantAreInOneStepInOrderOfID(t *testing.T) {
	l := newLab(t, small())
	send := func(id uint64) func() {
		return func() {
			s := &Seq{ID: id, Prompt: 3, MaxTokens: 1, Sink: l}
			l.seqs = append(l.seqs, s)
			if err := l.e.Submit(s); err != nil {
				t.Error(err)
			}
		}
	}
	// As messages of a router whose own events come after the engine's.
	l.loop.At(ms, clock.RankTransit, call{8, func() { send(3)(); send(2)() }})
	l.loop.At(ms, clock.RankTransit, call{9, send(1)})
	l.wantSteps("2:3 3:3 1:3")
}

func TestR8AdmissionStops(t *testing.T) {
	t.Run("at the cap of sequences", func(t *testing.T) {
		cfg := small()
		cfg.MaxNumSeqs = 2
		l := newLab(t, cfg)
		for range 3 {
			l.submit(0, 2, 2)
		}
		l.wantSteps("1:2 2:2", "1:3 2:3", "3:2")
	})
	t.Run("in a step that preempted", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 7 // 6 usable
		cfg.ReserveFullISL, cfg.PrefixCaching = false, false
		cfg.MaxNumBatchedTokens = 8
		l := newLab(t, cfg)
		l.submit(0, 4, 5)
		l.submit(0, 24, 1)
		// Step 3: the next chunk of 2 needs two blocks and one is free, so 2 is out.
		// Its first chunk would fit at once, but is not admitted before step 4.
		l.wantSteps("1:4 2:4", "1:5 2:11", "1:6", "1:7 2:7", "1:8 2:14")
	})
}

func TestR9HeadOfLineBlocks(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 9 // 8 usable
	cfg.MaxNumBatchedTokens = 64
	l := newLab(t, cfg)
	l.submit(0, 15, 2) // 4 blocks
	l.submit(0, 20, 1) // 5 blocks: does not fit
	l.submit(0, 4, 1)  // would
	l.wantSteps("1:15", "1:16", "2:20 3:4")
	if p := l.e.Stats().Preemptions; p != 0 {
		t.Errorf("%d preemptions: waiting sequences never preempt", p)
	}
	if n := l.e.Stats().KVWaits; n != 1 {
		t.Errorf("%d sequences waited for blocks, want 1: those behind it were not next", n)
	}
}

func TestR10HitsAreReadAtAdmissionOnly(t *testing.T) {
	t.Run("the last token is always computed", func(t *testing.T) {
		l := newLab(t, small())
		l.submit(0, 12, 1, hashed(1, 3))
		b := l.submit(ms, 12, 1, hashed(1, 3))
		l.wantSteps("1:12", "2:12")
		if b.Cached != 8 {
			t.Errorf("%d tokens cached, want 8 of 12", b.Cached)
		}
	})
	t.Run("running sequences take no new hits", func(t *testing.T) {
		cfg := small()
		cfg.LongPrefillThreshold = 4
		l := newLab(t, cfg)
		// Both start in the same step; 1 is always one block ahead in the queue, so
		// that 2 finds its first block, and computes the others itself.
		l.submit(0, 12, 1, hashed(1, 3))
		l.submit(0, 12, 1, hashed(1, 3))
		l.wantSteps("1:4 2:8", "1:8 2:12", "1:12")
		if got := l.seqs[1].Cached; got != 4 {
			t.Errorf("%d tokens cached, want 4", got)
		}
	})
}

func TestR11FirstChunk(t *testing.T) {
	t.Run("budget", func(t *testing.T) {
		l := newLab(t, small())
		l.submit(0, 10, 1)
		l.submit(0, 10, 1)
		l.wantSteps("1:10 2:6", "2:10")
	})
	t.Run("threshold", func(t *testing.T) {
		cfg := small()
		cfg.LongPrefillThreshold = 5
		l := newLab(t, cfg)
		l.submit(0, 10, 1)
		l.submit(0, 3, 1)
		l.wantSteps("1:5 2:3", "1:10")
	})
	t.Run("without chunks a prompt waits for budget, and so do those behind", func(t *testing.T) {
		cfg := small()
		cfg.ChunkedPrefill, cfg.MaxModelLen = false, 16
		l := newLab(t, cfg)
		l.submit(0, 10, 1)
		l.submit(0, 10, 1)
		l.submit(0, 2, 1)
		l.wantSteps("1:10", "2:10 3:2")
	})
	t.Run("a resumed sequence computes prompt and output", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 5
		cfg.PrefixCaching = false
		l := newLab(t, cfg)
		l.submit(0, 6, 4)
		l.submit(0, 6, 4)
		// At step 4 both have 8 tokens in two blocks and three outputs; 2 is pushed
		// out and comes back with 6 + 3 tokens.
		l.wantSteps("1:6 2:6", "1:7 2:7", "1:8 2:8", "1:9", "2:9")
		if got := l.seqs[1].Recomputed; got != 8 {
			t.Errorf("recomputed %d tokens, want 8", got)
		}
	})
}

func TestR12WholePromptGate(t *testing.T) {
	run := func(t *testing.T, change func(*Config), want ...string) {
		t.Helper()
		cfg := small()
		cfg.NumGPUBlocks = 9 // 8 usable
		cfg.MaxNumBatchedTokens = 14
		change(&cfg)
		l := newLab(t, cfg)
		l.submit(0, 10, 3) // 3 blocks
		l.submit(0, 24, 1) // 6 blocks; 5 are free
		l.wantSteps(want...)
	}
	t.Run("reserve", func(t *testing.T) {
		run(t, func(*Config) {}, "1:10", "1:11", "1:12", "2:14", "2:24")
	})
	t.Run("no reserve", func(t *testing.T) {
		run(t, func(c *Config) { c.ReserveFullISL = false }, "1:10 2:4", "1:11 2:17", "1:12", "2:24")
	})
	t.Run("output growth is not reserved", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 5
		l := newLab(t, cfg)
		l.submit(0, 8, 8)
		l.submit(0, 8, 8)
		l.wantSteps("1:8 2:8", "1:9")
	})
	t.Run("watermark while others run", func(t *testing.T) {
		run(t, func(c *Config) { c.ReserveFullISL, c.Watermark = false, 0.5 }, "1:10 2:4", "1:11 2:17")
		run(t, func(c *Config) { c.ReserveFullISL, c.Watermark = false, 0.6 }, "1:10", "1:11", "1:12", "2:14")
	})
	t.Run("no watermark for the first", func(t *testing.T) {
		run(t, func(c *Config) { c.Watermark = 0.9 }, "1:10", "1:11", "1:12", "2:14")
	})
}

func TestR14AdmissionIsCountedOnceAndOnlyThen(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 6 // 5 usable
	l := newLab(t, cfg)
	l.submit(0, 9, 4, hashed(1, 2))       // 3 blocks
	b := l.submit(0, 13, 1, hashed(1, 3)) // 2 shared + 2 new: fits
	c := l.submit(0, 9, 1, hashed(2, 2))  // 3 blocks: waits until the first ends
	l.wantSteps("1:9 2:13", "1:10", "1:11", "1:12", "3:9")
	if b.Cached != 8 || b.Scheduled != 0 || c.Scheduled != 4*ms || c.Queued != 0 {
		t.Errorf("b cached %d at %v; c scheduled %v, queued %v; want 8 at 0s; 4ms, 0s", b.Cached, b.Scheduled, c.Scheduled, c.Queued)
	}
	// 9 + 13 + 9 tokens looked up, though c was looked up in five steps.
	if got := l.e.Stats(); got.PrefixQueries != 31 || got.PrefixHits != 8 {
		t.Errorf("queries %d, hits %d; want 31, 8", got.PrefixQueries, got.PrefixHits)
	}
}

func TestR14ScheduledIsTheFirstTime(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 5
	l := newLab(t, cfg)
	l.submit(0, 8, 4)
	b := l.submit(0, 8, 4)
	l.loop.Run()
	if b.Preemptions == 0 {
		t.Fatal("nothing was preempted")
	}
	if b.Scheduled != 0 || b.Cached != 0 {
		t.Errorf("scheduled %v, cached %d; want the first admission's 0s and 0", b.Scheduled, b.Cached)
	}
	if got := l.e.Stats().PrefixHits; got != 4 {
		t.Errorf("%d tokens hit, want 4: one block of b was still there on resume", got)
	}
}

func TestR15ComputedMovesWhenScheduled(t *testing.T) {
	l := newLab(t, small())
	s := l.submit(0, 10, 1)
	l.at(ms/2, func() {
		if s.sched.computed != 10 || s.Output != 0 {
			t.Errorf("amid the step: %d computed, %d out; want 10, 0", s.sched.computed, s.Output)
		}
	})
	l.loop.Run()
}

func TestR18UnhashedBlocksAreUsedFirst(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepend bool
		hit     int
	}{{"at the back", false, 4}, {"in front", true, 8}} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.NumGPUBlocks, cfg.PrependUnhashed = 6, c.prepend // 5 usable
			l := newLab(t, cfg)
			l.submit(0, 9, 1, hashed(1, 2)) // two blocks with content, one without
			l.submit(2*ms, 3, 1)            // one block, without content
			l.submit(4*ms, 3, 1)            // another
			l.submit(6*ms, 3, 1)            // another
			l.submit(8*ms, 3, 1)            // the last of five: the next in line has content
			s := l.submit(10*ms, 9, 1, hashed(1, 2))
			l.loop.Run()
			if s.Cached != c.hit {
				t.Errorf("%d tokens cached, want %d", s.Cached, c.hit)
			}
		})
	}
}

func TestR20SameStepHits(t *testing.T) {
	l := newLab(t, small())
	l.submit(0, 9, 1, hashed(1, 2))
	b := l.submit(0, 9, 1, hashed(1, 2))
	l.wantSteps("1:9 2:9")
	if b.Cached != 8 {
		t.Errorf("%d tokens cached, want 8", b.Cached)
	}
}

func TestR20NothingBeyondSharedIsFound(t *testing.T) {
	l := newLab(t, small())
	l.submit(0, 9, 1, hashed(1, 2))
	b := l.submit(ms, 9, 1, hashed(1, 2), func(s *Seq) { s.Shared = 7 })
	l.loop.Run()
	if b.Cached != 4 {
		t.Errorf("%d tokens cached, want 4: one full block within 7 tokens", b.Cached)
	}
}

func TestR21ResetPrefixCache(t *testing.T) {
	l := newLab(t, small())
	l.submit(0, 9, 1, hashed(1, 2))
	l.at(ms/2, func() {
		if l.e.ResetPrefixCache() {
			t.Error("the cache was reset while a sequence ran")
		}
	})
	l.at(2*ms, func() {
		if !l.e.ResetPrefixCache() {
			t.Error("an idle engine's cache was not reset")
		}
	})
	b := l.submit(3*ms, 9, 1, hashed(1, 2))
	l.loop.Run()
	if b.Cached != 0 {
		t.Errorf("%d tokens cached after the reset, want 0", b.Cached)
	}
}

func TestR22OnlyTheLastChunkEmits(t *testing.T) {
	l := newLab(t, small())
	s := l.submit(0, 40, 2)
	l.loop.Run()
	want := []string{"1 token 1 at 3", "1 token 2 at 4", "1 length at 4"}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.FirstToken != 3*ms || s.LastToken != 4*ms {
		t.Errorf("first token %v, last %v; want 3ms, 4ms", s.FirstToken, s.LastToken)
	}
}

func TestR23EndsAfterTheStep(t *testing.T) {
	t.Run("stop token, length, both", func(t *testing.T) {
		l := newLab(t, small())
		l.submit(0, 4, 5, func(s *Seq) { s.StopAt = 2 })
		l.submit(0, 4, 3)
		l.submit(0, 4, 3, func(s *Seq) { s.StopAt = 3 })
		l.submit(0, 4, 2, func(s *Seq) { s.StopAt = 3 })
		l.loop.Run()
		want := []string{
			"1 token 1 at 1", "2 token 1 at 1", "3 token 1 at 1", "4 token 1 at 1",
			"1 token 2 at 2", "1 stop at 2", "2 token 2 at 2", "3 token 2 at 2", "4 token 2 at 2", "4 length at 2",
			"2 token 3 at 3", "2 length at 3", "3 token 3 at 3", "3 stop at 3",
		}
		if diff := cmp.Diff(want, l.outputs); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("blocks are there for the next step", func(t *testing.T) {
		cfg := small()
		cfg.NumGPUBlocks = 4 // 3 usable
		l := newLab(t, cfg)
		l.submit(0, 12, 1)
		l.submit(0, 12, 1)
		l.wantSteps("1:12", "2:12")
	})
}

func TestR24LastTokenTakesNoBlock(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 3 // 2 usable: 8 tokens
	l := newLab(t, cfg)
	l.submit(0, 4, 5) // 9 tokens, the last is never fed back
	l.wantSteps("1:4", "1:5", "1:6", "1:7", "1:8")
	var r *Rejected
	if err := l.e.Submit(&Seq{Prompt: 5, MaxTokens: 5, Sink: l}); !errors.As(err, &r) || r.Why != LargerThanPool {
		t.Errorf("ten tokens in two blocks: %v, want a rejection", err)
	}
}

func TestR24AbortFreesAtOnce(t *testing.T) {
	l := newLab(t, small())
	s := l.submit(0, 8, 9)
	l.at(ms+ms/2, func() {
		l.e.Abort(s)
		if got := l.e.Stats(); got.KVUsed != 0 || got.Running != 0 || got.Aborted != 1 {
			t.Errorf("after the abort: %+v", got)
		}
		l.e.Abort(s) // does nothing
	})
	l.loop.Run()
	want := []string{"1 token 1 at 1", "1 aborted at 1.5"}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("the step in flight gave output (-want +got):\n%s", diff)
	}
	if l.loop.Now() != 2*ms {
		t.Errorf("the loop ended at %v, want 2ms: the step in flight still runs", l.loop.Now())
	}
}

func TestR32Instants(t *testing.T) {
	cfg := small()
	cfg.FrontEnd = 300 * time.Microsecond
	l := newLab(t, cfg)
	a := l.submit(0, 4, 3)
	b := l.submit(ms/2, 4, 2) // lands at 0.8 ms, amid a's first step
	l.loop.Run()
	type instants struct{ Arrival, Queued, Scheduled, FirstToken, LastToken clock.Time }
	got := []instants{
		{a.Arrival, a.Queued, a.Scheduled, a.FirstToken, a.LastToken},
		{b.Arrival, b.Queued, b.Scheduled, b.FirstToken, b.LastToken},
	}
	want := []instants{
		{0, 0.3e6, 0.3e6, 1.3e6, 3.3e6},
		// Queued is when the scheduler looks, not when the request lands.
		{0.5e6, 1.3e6, 1.3e6, 2.3e6, 3.3e6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
