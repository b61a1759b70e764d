package engine

import (
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
)

func byPriority() Config {
	cfg := small()
	cfg.Policy = Priority
	return cfg
}

func priority(p int) func(*Seq) { return func(s *Seq) { s.Priority = p } }

func TestPriorityOrdersAdmission(t *testing.T) {
	cfg := byPriority()
	cfg.MaxNumSeqs = 1
	l := newLab(t, cfg)
	l.submit(0, 3, 2)
	l.submit(ms/4, 3, 1, priority(1))
	l.submit(ms/2, 3, 1)
	l.submit(ms/2, 3, 1, priority(-1))
	l.submit(ms/4, 3, 1)
	// Priority, then arrival; a running sequence stays.
	l.wantSteps("1:3", "1:4", "4:3", "5:3", "3:3", "2:3")
}

func TestR6PriorityVictim(t *testing.T) {
	t.Run("the last by priority, not the newest", func(t *testing.T) {
		cfg := byPriority()
		cfg.NumGPUBlocks = 7 // 6 usable; three sequences of two blocks
		cfg.PrefixCaching = false
		cfg.MaxNumBatchedTokens = 32
		l := newLab(t, cfg)
		l.submit(0, 7, 3)
		l.submit(0, 7, 3, priority(1))
		l.submit(ms/2, 7, 3)
		// Step 3: 1 takes the last token of its block, and needs the next in step 3.
		l.wantSteps("1:7 2:7", "1:8 2:8 3:7", "1:9 3:8")
		if got := l.seqs[1].Preemptions; got != 1 || l.seqs[2].Preemptions != 0 {
			t.Errorf("%d and %d preemptions of 2 and 3, want 1, 0", got, l.seqs[2].Preemptions)
		}
	})
	t.Run("one that was served in this step gives its tokens back", func(t *testing.T) {
		cfg := byPriority()
		cfg.NumGPUBlocks, cfg.PrefixCaching = 5, false // 4 usable
		cfg.MaxNumBatchedTokens = 9
		l := newLab(t, cfg)
		a := l.submit(0, 7, 6, priority(1))
		b := l.submit(ms/2, 8, 2)
		// Step 3: 1 is served first, then gives way to 2, which needs a third block.
		l.wantSteps("1:7", "1:8 2:8", "2:9", "1:9")
		if a.Preemptions != 1 || b.Preemptions != 0 || a.Recomputed != 8 {
			t.Errorf("preemptions %d and %d, %d tokens recomputed; want 1, 0, 8", a.Preemptions, b.Preemptions, a.Recomputed)
		}
		if got := l.e.Stats(); got.GenerationTokens != 8 || got.Recomputed != 8 {
			t.Errorf("%d tokens, %d recomputed; want 8, 8", got.GenerationTokens, got.Recomputed)
		}
	})
	t.Run("the requester itself ends the phase", func(t *testing.T) {
		cfg := byPriority()
		cfg.NumGPUBlocks, cfg.PrefixCaching = 5, false
		cfg.MaxNumBatchedTokens = 32
		l := newLab(t, cfg)
		l.submit(0, 8, 6, priority(1))
		l.submit(0, 7, 3)
		l.submit(0, 1, 1, priority(2))
		// Step 2: 1 finds no block and goes, with 2 unserved: a second scheduling at
		// the same instant serves 2.
		l.wantSteps("2:7 1:8", "2:8", "2:9", "1:9 3:1")
	})
}

// TestQueueIsSorted: the first of the heap is the smallest, whatever comes and
// goes.
func TestQueueIsSorted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q := queue{byPriority: true}
		var in []*Seq
		for id := range rapid.Uint64Range(1, 60).Draw(rt, "operations") {
			if len(in) > 0 && rapid.IntRange(0, 2).Draw(rt, "remove") == 0 {
				i := rapid.IntRange(0, len(in)-1).Draw(rt, "which")
				q.remove(in[i])
				in = append(in[:i], in[i+1:]...)
			} else {
				s := &Seq{ID: id, Priority: rapid.IntRange(0, 3).Draw(rt, "priority"), Arrival: clock.Time(rapid.IntRange(0, 3).Draw(rt, "arrival"))}
				q.add(s)
				in = append(in, s)
			}
			var want *Seq
			for _, s := range in {
				if want == nil || before(s, want) {
					want = s
				}
			}
			if q.first() != want || q.n != len(in) || len(q.heap) != len(in) {
				rt.Fatalf("first %v, want %v; %d in the list, %d in the heap, want %d", q.first(), want, q.n, len(q.heap), len(in))
			}
		}
	})
}
