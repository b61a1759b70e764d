package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

// tiered is a GPU of 10 usable blocks of 4 tokens, and host memory to which a block
// takes half a millisecond.
func tiered(blocks int) Config {
	cfg := small()
	cfg.MaxNumBatchedTokens, cfg.NumGPUBlocks = 64, 11
	cfg.Offload = Offload{Blocks: blocks, Copy: 500_000_000}
	return cfg
}

// What was evicted from the GPU is loaded from host memory, others pass meanwhile.
func TestEvictedBlocksAreLoadedFromHostMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		cached int
		want   Spent
	}{
		{"with a tier", func(*Config) {}, 12, Spent{QueueNS: 5e5, PrefillNS: 1e6, TransferNS: 15e5}},
		{"without", func(c *Config) { c.Offload = Offload{} }, 0, Spent{PrefillNS: 1e6}},
		{"a tier of two blocks, which later ones took", func(c *Config) { c.Offload.Blocks = 2 }, 0, Spent{PrefillNS: 1e6}},
		{"not stored yet", func(c *Config) { c.Offload.Copy = 100_000_000_000 }, 0, Spent{PrefillNS: 1e6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := tiered(100)
			c.change(&cfg)
			l := newLab(t, cfg)
			l.submit(0, 16, 1, hashed(1, 4))
			l.submit(20*ms, 40, 1, hashed(2, 10)) // evicts all of it
			s := l.submit(40*ms, 16, 1, hashed(1, 4))
			l.submit(40*ms, 4, 3) // passes while the blocks come
			l.loop.Run()
			l.checkBlocks()
			if s.Cached != c.cached {
				t.Errorf("%d tokens cached, want %d", s.Cached, c.cached)
			}
			// Without a load it is in the first step of the other one.
			if diff := cmp.Diff(c.want, s.Spent); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if passing := l.seqs[3]; passing.FirstToken != 41*ms {
				t.Errorf("the one behind it got its first token at %v, want 41 ms", passing.FirstToken)
			}
		})
	}
}

func TestHostStats(t *testing.T) {
	l := newLab(t, tiered(100))
	l.submit(0, 16, 1, hashed(1, 4))
	l.submit(20*ms, 40, 1, hashed(2, 10))
	l.submit(40*ms, 16, 1, hashed(1, 4))
	l.loop.Run()
	got := l.e.Stats()
	want := Stats{
		PrefixQueries: 72, Evictions: got.Evictions, PromptTokens: 72, GenerationTokens: 3, Finished: 3, Steps: 3, BusyPS: 3e9,
		HostQueries: 72, HostHits: 12, HostLoads: 3, HostLoadPS: 15e8,
		// 4 and 10 blocks; what was loaded is not stored again.
		HostStores: 14, HostStorePS: 70e8,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Loads share the link, and one that would bring what is on its way already waits
// for it.
func TestLoadsShareTheLink(t *testing.T) {
	l := newLab(t, tiered(100))
	l.submit(0, 16, 1, hashed(1, 4))
	l.submit(20*ms, 16, 1, hashed(3, 4))
	l.submit(40*ms, 40, 1, hashed(2, 10))
	a := l.submit(60*ms, 16, 1, hashed(1, 4))
	same := l.submit(60*ms, 16, 1, hashed(1, 4))
	b := l.submit(60*ms, 16, 1, hashed(3, 4))
	l.loop.Run()
	// a's blocks are there at 61.5 ms and b's at 63; steps take 1 ms.
	for _, c := range []struct {
		name   string
		s      *Seq
		first  clock.Time
		cached int
		waited int64
	}{
		{"first", a, 125 * ms / 2, 12, 15e5},
		{"same content", same, 125 * ms / 2, 12, 15e5},
		{"other content", b, 64 * ms, 12, 30e5},
	} {
		if c.s.FirstToken != c.first || c.s.Cached != c.cached || c.s.TransferNS != c.waited {
			t.Errorf("%s: first token at %v, %d cached, %d ns waited; want %v, %d, %d",
				c.name, c.s.FirstToken, c.s.Cached, c.s.TransferNS, c.first, c.cached, c.waited)
		}
	}
	if got := l.e.Stats(); got.HostLoads != 6 || got.PrefixHits != 12 {
		t.Errorf("%d blocks loaded, %d tokens hit on the GPU; want 6 and 12", got.HostLoads, got.PrefixHits)
	}
}

func TestAbortOfALoad(t *testing.T) {
	l := newLab(t, tiered(100))
	l.submit(0, 16, 1, hashed(1, 4))
	l.submit(20*ms, 40, 1, hashed(2, 10))
	a := l.submit(40*ms, 16, 1, hashed(1, 4))
	b := l.submit(40*ms, 16, 1, hashed(1, 4))
	l.at(41*ms, func() { l.e.Abort(a) })
	l.loop.Run()
	l.checkBlocks()
	// b looks again when a is gone; the link is busy with a's blocks until 41.5 ms.
	if b.Cached != 12 || b.TransferNS != 3e6 || b.FirstToken != 44*ms {
		t.Errorf("%d tokens cached, %d ns waited, first token at %v; want 12, 3e6 and 44 ms", b.Cached, b.TransferNS, b.FirstToken)
	}
	if diff := cmp.Diff(Spent{TransferNS: 1e6}, a.Spent); diff != "" {
		t.Errorf("aborted (-want +got):\n%s", diff)
	}
}

// A preempted sequence finds its own blocks, which nobody else could have, in host
// memory, and the account of the preemption lacks the time of the load.
func TestPreemptedSequencesComeBackFromHostMemory(t *testing.T) {
	run := func(blocks int) (*lab, *Seq) {
		cfg := tiered(blocks)
		cfg.Offload.Copy = 100_000_000 * int64(min(blocks, 1))
		cfg.ReserveFullISL = false
		l := newLab(t, cfg)
		l.submit(0, 16, 20)
		s := l.submit(ms/2, 16, 8)
		l.loop.Run()
		l.checkBlocks()
		return l, s
	}
	cold, without := run(0)
	warm, with := run(100)
	if without.Preemptions == 0 || with.Preemptions == 0 {
		t.Fatalf("%d and %d preemptions: the test needs some", without.Preemptions, with.Preemptions)
	}
	if with.Recomputed >= without.Recomputed || warm.e.Stats().HostLoads == 0 {
		t.Errorf("recomputed %d tokens with the tier, %d without", with.Recomputed, without.Recomputed)
	}
	if with.TransferNS == 0 || with.PreemptedNS == 0 || without.TransferNS != 0 {
		t.Errorf("with %+v, without %+v", with.Spent, without.Spent)
	}
	if cold.e.Stats().HostQueries != 0 {
		t.Error("an engine without the tier asked it")
	}
}

func TestOffloadIsChecked(t *testing.T) {
	l := newLab(t, small())
	for _, bad := range []func(*Config){
		func(c *Config) { c.Offload = Offload{Blocks: -1} },
		func(c *Config) { c.Offload = Offload{Copy: 1} },
		func(c *Config) { c.Offload = Offload{Blocks: 1, Copy: -1} },
		func(c *Config) { c.Offload, c.PrefixCaching = Offload{Blocks: 1}, false },
	} {
		cfg := small()
		bad(&cfg)
		if _, err := New(cfg, l, l.loop); err == nil {
			t.Errorf("%+v was accepted", cfg.Offload)
		}
	}
}
