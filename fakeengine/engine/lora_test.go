package engine

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// adapted gives a sequence an adapter.
func adapted(n uint16) func(*Seq) { return func(s *Seq) { s.Adapter = n } }

// R9: who has no place is passed, and comes first when there is one.
func TestSequencesWithoutAPlaceForTheirAdapterArePassed(t *testing.T) {
	for _, async := range []bool{false, true} {
		cfg := small()
		cfg.AsyncScheduling = async
		cfg.LoRA = LoRA{MaxLoras: 1, MaxCPULoras: 1}
		l := newLab(t, cfg)
		l.submit(0, 2, 3, adapted(1))
		l.submit(0, 2, 1, adapted(2))
		l.submit(0, 2, 2, adapted(1))
		l.submit(0, 2, 2)
		l.submit(3*ms/2, 2, 1, adapted(3))
		l.at(ms/2, func() {
			run, wait := l.e.AppendAdapters(nil, nil)
			if diff := cmp.Diff([][]uint16{{1}, {2}}, [][]uint16{run, wait}); diff != "" {
				t.Errorf("running and waiting (-want +got):\n%s", diff)
			}
			if got := l.e.Stats().Waiting; got != 1 {
				t.Errorf("%d wait, want 1", got)
			}
		})
		l.wantSteps("1:2 3:2 4:2", "1:3 3:3 4:3", "1:4", "2:2", "5:2")
	}
}

func TestAdapterLoads(t *testing.T) {
	const us = 1_000_000 // ps
	cfg := small()
	cfg.MaxNumSeqs = 2
	cfg.LoRA = LoRA{MaxLoras: 2, MaxCPULoras: 3, Fetch: 10_000 * us, Load: 500 * us}
	l := newLab(t, cfg)
	for i, n := range []uint16{
		1, // read and copied
		2, // the same
		1, // is there
		3, // read and copied, in the place of 2 on the GPU
		2, // copied, in the place of 1
		4, // read and copied, in the place of 3 on the GPU, of 1 in host memory
		1, // read and copied
		0, // the base model
	} {
		l.submit(clock.Time(i)*100*ms, 4, 1, adapted(n))
	}
	l.loop.Run()
	var got []clock.Time
	for i, s := range l.seqs {
		took := s.LastToken - clock.Time(i)*100*ms
		got = append(got, took)
		if s.TransferNS != int64(took-ms) || s.PrefillNS != int64(ms) || s.QueueNS != 0 {
			t.Errorf("request %d took %v, and says %+v", i+1, took, s.Spent)
		}
	}
	const cold, warm = 11*ms + ms/2, ms + ms/2
	if diff := cmp.Diff([]clock.Time{cold, cold, ms, cold, warm, cold, cold, ms}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := l.e.Stats(); s.AdapterLoads != 6 || s.AdapterFetches != 5 {
		t.Errorf("%d loads and %d fetches, want 6 and 5", s.AdapterLoads, s.AdapterFetches)
	}
}

// All in a step wait for the loads before it: their own, or somebody else's.
func TestAdapterLoadsHoldUpTheStep(t *testing.T) {
	cfg := small()
	cfg.LoRA = LoRA{MaxLoras: 2, MaxCPULoras: 2, Load: 2_000_000_000}
	l := newLab(t, cfg)
	decode := l.submit(0, 4, 3)
	first := l.submit(ms/2, 4, 1, adapted(1))
	second := l.submit(ms/2, 4, 1, adapted(2))
	l.loop.Run()
	for _, c := range []struct {
		s    *Seq
		want Spent
	}{
		{decode, Spent{PrefillNS: 1e6, DecodeNS: 2e6, InterferenceNS: 4e6}},
		{first, Spent{QueueNS: 5e5, PrefillNS: 1e6, TransferNS: 2e6, InterferenceNS: 2e6}},
		{second, Spent{QueueNS: 5e5, PrefillNS: 1e6, TransferNS: 2e6, InterferenceNS: 2e6}},
	} {
		if diff := cmp.Diff(c.want, c.s.Spent); diff != "" {
			t.Errorf("sequence %d (-want +got):\n%s", c.s.ID, diff)
		}
	}
}

func TestStepsWithAdaptersTakeLonger(t *testing.T) {
	cfg := small()
	cfg.LoRA = LoRA{MaxLoras: 2, MaxCPULoras: 2, Step: 100_000_000, Each: 10_000_000, Token: 1_000_000}
	l := newLab(t, cfg)
	l.submit(0, 4, 1)
	l.submit(ms, 4, 2, adapted(1)) // 1.114 ms, then 1.111
	l.submit(10*ms, 4, 1, adapted(1))
	l.submit(10*ms, 4, 1, adapted(2))
	l.submit(10*ms, 4, 1) // 1.128 ms together
	l.loop.Run()
	want := []string{
		"1 token 1 at 1", "1 length at 1", "2 token 1 at 2.114", "2 token 2 at 3.225", "2 length at 3.225",
		"3 token 1 at 11.128", "3 length at 11.128", "4 token 1 at 11.128", "4 length at 11.128", "5 token 1 at 11.128", "5 length at 11.128",
	}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAdaptersLoadedAndUnloadedByName(t *testing.T) {
	cfg := small()
	cfg.LoRA = LoRA{MaxLoras: 1, MaxCPULoras: 1, Fetch: 3_000_000_000, Load: 1_000_000_000}
	l := newLab(t, cfg)
	l.at(0, func() { l.e.LoadAdapter(1) }) // while idle
	warm := l.submit(10*ms, 4, 3, adapted(1))
	l.at(21*ms/2, func() { l.e.UnloadAdapter(1) })
	l.at(30*ms, func() { l.e.LoadAdapter(1) })
	busy := l.submit(40*ms, 4, 3)
	l.at(81*ms/2, func() { l.e.LoadAdapter(2) })
	l.loop.Run()
	if warm.FirstToken != 11*ms || warm.LastToken != 17*ms {
		t.Errorf("tokens from %v to %v, want 11 to 17 ms: no load, then one after the unloading", warm.FirstToken, warm.LastToken)
	}
	if busy.FirstToken != 41*ms || busy.LastToken != 47*ms {
		t.Errorf("tokens from %v to %v, want 41 to 47 ms: a load between two steps", busy.FirstToken, busy.LastToken)
	}
}

func TestNoAdaptersWithoutPlaces(t *testing.T) {
	l := newLab(t, small())
	err := l.e.Submit(&Seq{ID: 1, Prompt: 1, MaxTokens: 1, Adapter: 7, Sink: l})
	var r *Rejected
	if !errors.As(err, &r) || r.Why != NoAdapters {
		t.Errorf("error %v, want NoAdapters", err)
	}
	l.e.LoadAdapter(1)
	l.e.UnloadAdapter(1)
	for _, bad := range []LoRA{{MaxCPULoras: 1}, {MaxLoras: 2, MaxCPULoras: 1}, {MaxLoras: 1, MaxCPULoras: 1, Load: -1}} {
		cfg := small()
		cfg.LoRA = bad
		if _, err := New(cfg, l, l.loop); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

// caches is what the two caches of adapters should hold, the most recently used
// last: written for this test, one step after the other.
type caches struct {
	gpu, cpu       []uint16
	loads, fetches int64
}

func (c *caches) step(in []uint16, cfg *LoRA) {
	use := func(l []uint16, n uint16) ([]uint16, bool) {
		i := slices.Index(l, n)
		if i < 0 {
			return l, false
		}
		return append(slices.Delete(l, i, i+1), n), true
	}
	var missing []uint16
	for _, n := range in {
		var there bool
		c.cpu, _ = use(c.cpu, n)
		if c.gpu, there = use(c.gpu, n); !there {
			missing = append(missing, n)
		}
	}
	for _, n := range missing {
		if !slices.Contains(c.cpu, n) {
			c.fetches++
			if len(c.cpu) == cfg.MaxCPULoras {
				gone := c.cpu[0]
				c.cpu = c.cpu[1:]
				c.gpu = slices.DeleteFunc(c.gpu, func(x uint16) bool { return x == gone })
			}
			c.cpu = append(c.cpu, n)
		}
		c.loads++
		if len(c.gpu) == cfg.MaxLoras {
			c.gpu = c.gpu[1:]
		}
		c.gpu = append(c.gpu, n)
	}
}

// The time of adapters is in the steps and in the account of each sequence, and
// the loads are those of two LRU caches. Sequences come one after the other, so
// that each step has one adapter and the order of use has no ties.
func TestAdapterTimeAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := drawConfig(rt)
		n := rapid.IntRange(1, 3).Draw(rt, "places")
		cost := rapid.Int64Range(0, 3_000_000)
		cfg.LoRA = LoRA{
			MaxLoras: n, MaxCPULoras: n + rapid.IntRange(0, 2).Draw(rt, "host"),
			Fetch: 1000 * cost.Draw(rt, "fetch"), Load: 1000 * cost.Draw(rt, "load"),
			Step: cost.Draw(rt, "step"), Each: cost.Draw(rt, "each"), Token: cost.Draw(rt, "token"),
		}
		alone := rapid.Bool().Draw(rt, "one at a time")
		if alone {
			cfg.MaxNumSeqs = 1
		}
		l := newLab(t, cfg)
		jobs := drawJobs(rt)
		a := &auditor{lab: l, rt: rt}
		model := &caches{}
		var extra int64
		l.onStep = func(*steptime.Batch) {
			var in []uint16
			tokens := 0
			for _, r := range l.e.pipe[l.e.next()].rows {
				if r.s.Adapter == 0 {
					continue
				}
				tokens += r.n
				if !slices.Contains(in, r.s.Adapter) {
					in = append(in, r.s.Adapter)
				}
			}
			model.step(in, &cfg.LoRA)
			if len(in) > 0 {
				extra += cfg.LoRA.Step + cfg.LoRA.Each*int64(len(in)) + cfg.LoRA.Token*int64(tokens)
			}
		}
		l.onEnd = a.finished
		l.offer(jobs, straight(len(jobs)))
		l.loop.Run()
		got := l.e.Stats()
		if alone && (got.AdapterLoads != model.loads || got.AdapterFetches != model.fetches) {
			rt.Fatalf("%d loads and %d fetches, want %d and %d", got.AdapterLoads, got.AdapterFetches, model.loads, model.fetches)
		}
		want := got.Steps*l.cost + extra + got.AdapterLoads*cfg.LoRA.Load + got.AdapterFetches*cfg.LoRA.Fetch
		if got.BusyPS != want || a.over != len(jobs) {
			rt.Fatalf("busy for %d ps, want %d; %d of %d sequences ended", got.BusyPS, want, a.over, len(jobs))
		}
	})
}
