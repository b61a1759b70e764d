package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// courier brings the KV of a prompt after a while, and keeps what it was asked.
type courier struct {
	e     *Engine
	after clock.Time
	asked []string // "id: tokens at ms"
}

var _ Fetcher = (*courier)(nil)

func (c *courier) Fetch(s *Seq, now clock.Time, tokens int) {
	c.asked = append(c.asked, fmt.Sprintf("%d: %d at %v", s.ID, tokens, float64(now)/1e6))
	c.e.loop.At(now+c.after, clock.RankTransit, call{s.ID, func() { c.e.Fetched(s) }})
}

// from has a sequence's KV brought by c.
func from(c *courier) func(*Seq) { return func(s *Seq) { s.Remote = c } }

func hold(s *Seq) { s.Hold = true }

// A sequence whose KV comes from elsewhere is passed by others (R9), and computes
// one token of its prompt when it is there: that gives the first token.
func TestFetchedSequenceComputesItsLastToken(t *testing.T) {
	for name, c := range map[string]struct {
		async bool
		steps []string
		first clock.Time
		spent Spent
	}{
		"synchronous": {
			false,
			[]string{"2:4", "2:5", "2:6", "2:7 1:8", "2:8 1:9"},
			4 * ms,
			Spent{QueueNS: 5e5, PrefillNS: 1e6, DecodeNS: 1e6, TransferNS: 25e5},
		},
		// The step that begins at 3 ms is scheduled by then: it waits for one more.
		"asynchronous": {
			true,
			[]string{"2:4", "2:5", "2:6", "2:7", "2:8 1:8", "2:9 1:9"},
			5 * ms,
			Spent{QueueNS: 5e5, PrefillNS: 1e6, DecodeNS: 1e6, InterferenceNS: 1e6, TransferNS: 25e5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling = c.async
			l := newLab(t, cfg)
			far := &courier{e: l.e, after: 5 * ms / 2}
			s := l.submit(0, 8, 2, from(far))
			l.submit(0, 4, 8)
			l.wantSteps(c.steps...)
			if s.FirstToken != c.first {
				t.Errorf("first token at %v, want %v", s.FirstToken, c.first)
			}
			if diff := cmp.Diff(c.spent, s.Spent); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"1: 8 at 0"}, far.asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What the prefix cache holds is not fetched, and what is fetched is found by
// others only when it is there.
func TestFetchedBlocksAreNamedWhenTheyArrive(t *testing.T) {
	l := newLab(t, small())
	far := &courier{e: l.e, after: 5 * ms}
	l.submit(0, 8, 1, hashed(7, 2))                     // leaves two blocks
	s := l.submit(2*ms, 16, 1, hashed(7, 4), from(far)) // lacks two
	early := l.submit(4*ms, 16, 1, hashed(7, 4))
	late := l.submit(9*ms, 16, 1, hashed(7, 4))
	l.at(1*ms, func() {
		if got := l.e.CachedTokens(s); got != 8 {
			t.Errorf("%d tokens are said to be cached, want 8", got)
		}
	})
	l.loop.Run()
	if diff := cmp.Diff([]string{"2: 8 at 2"}, far.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := [3]int{s.Cached, early.Cached, late.Cached}; got != [3]int{8, 8, 12} {
		t.Errorf("cached %v, want 8, 8 and 12", got)
	}
	if st := l.e.Stats(); st.PrefixQueries != 8+3*16 || st.PrefixHits != 8+8+12 {
		t.Errorf("%d tokens asked for, %d hit", st.PrefixQueries, st.PrefixHits)
	}
}

// A sequence that holds fetched blocks comes before one that waits for blocks:
// the other order would be a deadlock.
func TestFetchedSequencesComeFirst(t *testing.T) {
	for _, policy := range []Policy{FCFS, Priority} {
		cfg := small()
		cfg.NumGPUBlocks, cfg.Policy = 6, policy // five usable
		l := newLab(t, cfg)
		far := &courier{e: l.e, after: 10 * ms}
		grows := l.submit(0, 8, 9, func(s *Seq) { s.Priority = -1 }) // two blocks, four at last
		s := l.submit(0, 12, 2, from(far))                           // three, then four
		l.loop.Run()
		if grows.Preemptions == 0 {
			t.Fatal("the one that grows was not preempted")
		}
		if s.Output != 2 || grows.Output != 9 || s.LastToken > grows.LastToken {
			t.Errorf("%v: %d tokens until %v, %d until %v", policy, s.Output, s.LastToken, grows.Output, grows.LastToken)
		}
	}
}

// What finds no room for its blocks holds up those behind it, and asks once.
func TestNoRoomToFetchInto(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 6
	l := newLab(t, cfg)
	far := &courier{e: l.e, after: ms}
	l.submit(0, 12, 4)
	l.submit(0, 12, 1, from(far)) // three blocks, when four are in use
	l.submit(0, 4, 1)
	l.wantSteps("1:12", "1:13", "1:14", "1:15", "3:4", "2:12")
	if diff := cmp.Diff([]string{"2: 12 at 4"}, far.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := l.e.Stats().KVWaits; n != 1 {
		t.Errorf("%d sequences waited for blocks, want 1", n)
	}
}

// After a preemption there is nothing to fetch any more.
func TestPreemptedAfterFetchComputesItself(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks, cfg.PrefixCaching = 6, false
	l := newLab(t, cfg)
	far := &courier{e: l.e, after: ms}
	s := l.submit(0, 10, 6)
	p := l.submit(0, 8, 6, from(far))
	l.loop.Run()
	if p.Preemptions == 0 || p.Output != 6 || s.Output != 6 || len(far.asked) != 1 {
		t.Errorf("%d preemptions, %d and %d tokens, asked %q", p.Preemptions, p.Output, s.Output, far.asked)
	}
}

// The blocks of a sequence that holds them are in use until they are released,
// which wakes an engine that has no room for what waits.
func TestHeldBlocks(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks = 6
	l := newLab(t, cfg)
	s := l.submit(0, 12, 1, hold)
	late := l.submit(0, 12, 1)
	l.at(5*ms, func() {
		st := l.e.Stats()
		if st.KVUsed != 0.6 || st.Finished != 1 || st.Waiting != 1 || st.Running != 0 || l.e.ResetPrefixCache() {
			t.Errorf("while the blocks are held: %+v", st)
		}
		if err := l.e.Submit(s); err == nil {
			t.Error("a sequence that holds blocks was taken again")
		}
		l.e.Abort(s) // it is over
		l.e.Release(s)
		l.e.Release(s)
		if got := l.e.Stats().KVUsed; got != 0 {
			t.Errorf("%v of the blocks used after the release", got)
		}
	})
	l.loop.Run()
	if s.LastToken != ms || late.FirstToken != 6*ms {
		t.Errorf("tokens at %v and %v, want 1ms and 6ms", s.LastToken, late.FirstToken)
	}
}

// An abort frees the blocks at once, whatever the sequence waits for, and lets in
// what waits for them.
func TestAbortsAroundAFetch(t *testing.T) {
	for name, c := range map[string]struct {
		at    clock.Time
		spent Spent
	}{
		"on the way": {3 * ms, Spent{TransferNS: 3e6}},
		"there":      {4 * ms, Spent{TransferNS: 4e6}},
		"in a step":  {9 * ms / 2, Spent{TransferNS: 4e6, PrefillNS: 5e5}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := small()
			cfg.NumGPUBlocks = 4
			l := newLab(t, cfg)
			far := &courier{e: l.e, after: 4 * ms}
			s := l.submit(0, 12, 1, from(far))
			next := l.submit(ms, 8, 1)
			l.loop.At(c.at, clock.RankTransit, call{9, func() { l.e.Abort(s) }})
			l.loop.Run()
			if diff := cmp.Diff(c.spent, s.Spent); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if st := l.e.Stats(); st.Aborted != 1 || st.Finished != 1 || st.KVUsed != 0 {
				t.Errorf("%+v", st)
			}
			if want := c.at + ms; next.FirstToken != want && name != "in a step" {
				t.Errorf("the next one's token came at %v, want %v", next.FirstToken, want)
			}
		})
	}
	t.Run("of one that was to hold its blocks", func(t *testing.T) {
		l := newLab(t, small())
		s := l.submit(0, 8, 4, hold)
		l.at(3*ms/2, func() { l.e.Abort(s) })
		l.loop.Run()
		if got := l.e.Stats().KVUsed; got != 0 {
			t.Errorf("%v of the blocks used", got)
		}
	})
}

// A sink that releases blocks, or aborts a fetch, amid a step does not make the
// engine take two steps at once.
func TestRoomMadeAmidAStep(t *testing.T) {
	cfg := small()
	cfg.MaxNumSeqs = 2
	l := newLab(t, cfg)
	far := &courier{e: l.e, after: 50 * ms}
	held := l.submit(0, 4, 1, hold)
	stuck := l.submit(0, 4, 1, from(far))
	l.submit(0, 4, 6)
	l.submit(0, 4, 6)
	l.submit(0, 4, 6)
	l.onToken = func(s *Seq) {
		if s.ID == 3 && s.Output == 2 {
			l.e.Release(held)
			l.e.Abort(stuck)
		}
	}
	var ends []clock.Time
	l.onStep = func(*steptime.Batch) { ends = append(ends, l.loop.Now()) }
	l.loop.Run()
	for i := 1; i < len(ends); i++ {
		if ends[i] == ends[i-1] {
			t.Errorf("two steps began at %v: %q", ends[i], l.steps)
		}
	}
	if st := l.e.Stats(); st.BusyPS != st.Steps*l.cost || st.Finished != 4 || st.KVUsed != 0 {
		t.Errorf("%+v", st)
	}
}
