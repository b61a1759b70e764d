package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/spec"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

func speculation(t testing.TB, k int, a spec.Acceptance) Speculation {
	t.Helper()
	m, err := spec.New(a, k, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Speculation{Model: m}
}

// exactly has the first n of k drafts accepted in each step.
func exactly(t testing.TB, n, k int) Speculation {
	t.Helper()
	a := spec.Acceptance{Proposes: 1}
	for i := range k {
		rate := 0.0
		if i < n {
			rate = 1
		}
		a.Rates = append(a.Rates, rate)
	}
	return speculation(t, k, a)
}

func drawSpeculation(t *rapid.T, cfg *Config) Speculation {
	k := rapid.IntRange(1, 4).Draw(t, "drafts")
	a := spec.Acceptance{Rates: []float64{0.6, 0.8}, Proposes: 1}
	a.Spread = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "spread")
	if !cfg.AsyncScheduling {
		a.Proposes = rapid.SampledFrom([]float64{1, 0.5}).Draw(t, "proposes")
	}
	m, err := spec.New(a, k, rapid.Uint64Range(0, 3).Draw(t, "luck"))
	if err != nil {
		t.Fatal(err)
	}
	return Speculation{
		Model:              m,
		Lookahead:          rapid.SampledFrom([]int{0, k}).Draw(t, "lookahead"),
		AdmissionLookahead: rapid.Bool().Draw(t, "admission lookahead"),
		DropLastHit:        rapid.Bool().Draw(t, "drop last hit"),
	}
}

// burst is the most tokens that a step can give of one sequence.
func (e *Engine) burst() int { return 1 + e.cfg.Speculation.Drafts() }

func checkSpeculated(rt *rapid.T, got Speculated, drafts, drafted, accepted int64) {
	sum, last := int64(0), got.Drafts
	for i, n := range got.AcceptedAt {
		if n > last {
			rt.Fatalf("draft %d was accepted %d times, the one before it %d times", i, n, last)
		}
		last = n
		sum += n
	}
	if got.Drafts != drafts || got.DraftTokens != drafted || got.Accepted != accepted || sum != accepted {
		rt.Fatalf("account %+v differs from the sequences' %d verifications of %d drafts, %d accepted", got, drafts, drafted, accepted)
	}
}

// checkDrafts: only decodes have drafts, no more than k, and a sequence knows of
// those that are under way.
func (w *watch) checkDrafts() {
	e := w.e
	guessed := map[*Seq]int{}
	for i := range e.pipe {
		for _, r := range e.pipe[i].rows {
			if r.s == nil {
				continue
			}
			guessed[r.s] += int(r.drafts)
			if r.prefill > 0 && r.drafts > 0 || r.prefill == 0 && r.n > e.burst() {
				w.rt.Fatalf("sequence %d: a row of %d tokens with %d drafts, prefill %d", r.s.ID, r.n, r.drafts, r.prefill)
			}
		}
	}
	for _, l := range []*list{&e.running, &e.waiting.list} {
		for s := l.head; s != nil; s = s.sched.next {
			if s.sched.guessed != guessed[s] {
				w.rt.Fatalf("sequence %d: %d drafts are under way, it knows of %d", s.ID, guessed[s], s.sched.guessed)
			}
		}
	}
}

func TestR27StepsVerifyDrafts(t *testing.T) {
	for _, c := range []struct {
		name     string
		async    bool
		accepted int
		steps    []string
		outputs  []string
	}{
		{
			"none accepted", false, 0,
			[]string{"1:4", "1:8", "1:9", "1:10"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 3", "1 token 4 at 4", "1 length at 4"},
		},
		{
			"one accepted", false, 1,
			[]string{"1:4", "1:8", "1:10"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 3", "1 length at 3"},
		},
		{
			"all accepted", false, 3,
			[]string{"1:4", "1:8"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 2", "1 length at 2"},
		},
		{
			// The third step is scheduled when the first ends, as if all drafts of the
			// second had been accepted; one of them was.
			"one accepted, ahead", true, 1,
			[]string{"1:4", "1:8", "1:12"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 3", "1 length at 3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling, cfg.Speculation = c.async, exactly(t, c.accepted, 3)
			l := newLab(t, cfg)
			l.submit(0, 4, 4)
			l.wantSteps(c.steps...)
			if diff := cmp.Diff(c.outputs, l.outputs); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestR27DraftsAreCutToWhatFits(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		send   func(*lab)
		steps  []string
	}{
		{
			"by the budget", func(c *Config) { c.MaxNumBatchedTokens = 6 },
			func(l *lab) { l.submit(0, 1, 3); l.submit(0, 1, 3) },
			[]string{"1:1 2:1", "1:5 2:3", "1:6 2:4"},
		},
		{
			"by the threshold", func(c *Config) { c.LongPrefillThreshold = 2 },
			func(l *lab) { l.submit(0, 1, 3) },
			[]string{"1:1", "1:3", "1:4"},
		},
		{
			// The last token of the context is never computed.
			"by the context length", func(c *Config) { c.MaxModelLen = 8 },
			func(l *lab) { l.submit(0, 4, 4) },
			[]string{"1:4", "1:7", "1:7", "1:7"},
		},
		{
			// Nothing is sure beyond the eighth token until the steps before are over.
			"by the context length, ahead", func(c *Config) { c.MaxModelLen, c.AsyncScheduling = 8, true },
			func(l *lab) { l.submit(0, 4, 4) },
			[]string{"1:4", "1:7", "1:7", "1:7"},
		},
		{
			"but not by the end of the answer", func(*Config) {},
			func(l *lab) { l.submit(0, 4, 2) },
			[]string{"1:4", "1:8"},
		},
		{
			"to none behind a chunk of a prompt", func(c *Config) { c.MaxNumBatchedTokens = 4 },
			func(l *lab) { l.submit(0, 6, 3) },
			[]string{"1:4", "1:6", "1:10", "1:11"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.Speculation = exactly(t, 0, 3)
			c.change(&cfg)
			l := newLab(t, cfg)
			c.send(l)
			l.wantSteps(c.steps...)
			if len(l.steps) != len(c.steps) {
				t.Errorf("%d steps, want %d: %q", len(l.steps), len(c.steps), l.steps)
			}
		})
	}
}

func TestR28LookaheadTakesBlocks(t *testing.T) {
	for _, c := range []struct {
		name      string
		lookahead int
		admission bool
		held      []int // blocks when a step is scheduled
	}{
		{"n-grams", 0, false, []int{1, 2, 3}},                    // 4, 8 and 9 tokens
		{"a model", 3, false, []int{1, 3, 3}},                    // 4, 8+3 and 9+3
		{"a model, admission included", 3, true, []int{2, 3, 3}}, // 4+3
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.Speculation = exactly(t, 0, 3)
			cfg.Speculation.Lookahead, cfg.Speculation.AdmissionLookahead = c.lookahead, c.admission
			l := newLab(t, cfg)
			s := l.submit(0, 4, 3)
			var held []int
			l.onStep = func(*steptime.Batch) { held = append(held, s.sched.table.Held()) }
			l.loop.Run()
			if !slices.Equal(held, c.held) {
				t.Errorf("blocks %v, want %v", held, c.held)
			}
		})
	}
}

// Nothing is kept behind the end of the context.
func TestR28LookaheadEndsWithTheContext(t *testing.T) {
	cfg := small()
	cfg.MaxModelLen, cfg.NumGPUBlocks, cfg.Speculation = 8, 3, exactly(t, 0, 3)
	cfg.Speculation.Lookahead = 3
	l := newLab(t, cfg)
	s := l.submit(0, 4, 4)
	l.loop.Run()
	if s.Preemptions != 0 || s.Output != 4 {
		t.Errorf("%d preemptions, %d tokens; want 0, 4", s.Preemptions, s.Output)
	}
}

func TestR29StepsCostTheirDrafts(t *testing.T) {
	cfg := small()
	cfg.Speculation = exactly(t, 1, 3)
	l := newLab(t, cfg)
	l.submit(0, 4, 5)
	var got []steptime.Batch
	l.onStep = func(b *steptime.Batch) { got = append(got, *b) }
	l.loop.Run()
	var prompt, verify, again steptime.Batch
	prompt.Add(0, 4)
	prompt.Emit = 1
	verify.Add(4, 4)
	verify.Emit, verify.Drafts = 4, 3
	again.Add(6, 4) // two of the four were right
	again.Emit, again.Drafts = 4, 3
	if diff := cmp.Diff([]steptime.Batch{prompt, verify, again}, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestR23BurstsEndWithTheAnswer(t *testing.T) {
	for _, c := range []struct {
		name    string
		max     int
		stop    int
		outputs []string
		account Speculated
	}{
		{
			"length", 3, 0,
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 length at 2"},
			Speculated{Drafts: 1, DraftTokens: 3, Accepted: 3},
		},
		{
			"stop", 20, 7,
			[]string{
				"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 2", "1 token 5 at 2",
				"1 token 6 at 3", "1 token 7 at 3", "1 stop at 3",
			},
			Speculated{Drafts: 2, DraftTokens: 6, Accepted: 6},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.Speculation = exactly(t, 3, 3)
			l := newLab(t, cfg)
			s := l.submit(0, 4, c.max, func(s *Seq) { s.StopAt = c.stop })
			l.loop.Run()
			if diff := cmp.Diff(c.outputs, l.outputs); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
			for i := range 3 {
				c.account.AcceptedAt[i] = c.account.Drafts
			}
			if diff := cmp.Diff(c.account, l.e.Speculated()); diff != "" {
				t.Errorf("account (-want +got):\n%s", diff)
			}
			if got := l.e.Stats().GenerationTokens; got != int64(s.Output) || s.FirstToken != ms {
				t.Errorf("%d tokens counted, %d given, the first at %v", got, s.Output, s.FirstToken)
			}
		})
	}
}

func TestR7PreemptionDropsDrafts(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks, cfg.Speculation = 5, exactly(t, 0, 2) // 4 usable
	l := newLab(t, cfg)
	l.submit(0, 7, 3)
	b := l.submit(0, 7, 3)
	// 1 needs a third block for its drafts. 2 comes back as a prompt of 8 tokens, of
	// which its first block is cached still, and has drafts again behind it.
	l.wantSteps("1:7 2:7", "1:10", "1:11", "2:8", "2:11")
	if b.Preemptions != 1 || b.Recomputed != 3 || b.FirstToken != ms {
		t.Errorf("%d preemptions, %d tokens recomputed, first token %v; want 1, 3, 1ms", b.Preemptions, b.Recomputed, b.FirstToken)
	}
}

// What is computed again after a preemption amid a step is all that is known but
// the newest token, what that step has accepted included, and no rejected draft.
func TestR7PreemptionAmidAStepCountsItsTokens(t *testing.T) {
	for accepted := range 3 {
		cfg := async()
		cfg.NumGPUBlocks, cfg.PrefixCaching, cfg.Speculation = 8, false, exactly(t, accepted, 2) // 7 usable
		l := newLab(t, cfg)
		a, b := l.submit(0, 7, 7), l.submit(0, 7, 7)
		seen, want := 0, 0
		l.onStep = func(*steptime.Batch) {
			if b.Preemptions > seen && b.sched.in == &l.e.running {
				seen, want = b.Preemptions, want+b.tokens()-1
			}
		}
		l.loop.Run()
		if a.Output != 7 || b.Output != 7 || seen == 0 {
			t.Fatalf("%d accepted: %d and %d tokens, %d preemptions; want 7, 7 and some", accepted, a.Output, b.Output, seen)
		}
		if b.Recomputed != want {
			t.Errorf("%d accepted: %d tokens recomputed, want %d", accepted, b.Recomputed, want)
		}
	}
}

func TestR19DraftsNameNoBlock(t *testing.T) {
	for _, async := range []bool{false, true} {
		cfg := small()
		cfg.AsyncScheduling, cfg.Speculation = async, exactly(t, 1, 3)
		l := newLab(t, cfg)
		s := l.submit(0, 4, 12)
		l.onToken = func(s *Seq) {
			if n := 4 * s.sched.table.Named(); n > s.tokens() || n < s.tokens()-8 {
				t.Errorf("async %v: %d tokens are known, blocks of %d are named", async, s.tokens(), n)
			}
		}
		l.loop.Run()
		if s.Output != 12 {
			t.Errorf("async %v: %d tokens, want 12", async, s.Output)
		}
	}
}

func TestDraftersOfHiddenStatesDropTheLastHit(t *testing.T) {
	for _, c := range []struct {
		drop   bool
		cached int
	}{{false, 8}, {true, 4}} {
		cfg := small()
		cfg.Speculation = exactly(t, 0, 2)
		cfg.Speculation.DropLastHit = c.drop
		l := newLab(t, cfg)
		l.submit(0, 12, 1, hashed(1, 3))
		s := l.submit(5*ms, 12, 1, hashed(1, 3))
		l.loop.Run()
		if hits := l.e.Stats().PrefixHits; s.Cached != c.cached || hits != int64(c.cached) {
			t.Errorf("drop %v: %d tokens cached, %d counted as hits; want %d", c.drop, s.Cached, hits, c.cached)
		}
	}
}

func TestSpeculationIsRefused(t *testing.T) {
	now := speculation(t, 2, spec.Acceptance{Rates: []float64{0.5}, Proposes: 0.5})
	ahead := small()
	ahead.Speculation, ahead.AsyncScheduling = now, true
	negative := small()
	negative.Speculation = Speculation{Model: now.Model, Lookahead: -1}
	alone := small()
	alone.Speculation.Lookahead = 2
	for name, cfg := range map[string]Config{"drafts now and then, ahead": ahead, "negative lookahead": negative, "nobody drafts": alone} {
		if _, err := New(cfg, &lab{}, clock.NewVirtual()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Alone, a sequence must get the blocks of its drafts.
	cfg := small()
	cfg.NumGPUBlocks, cfg.Speculation = 3, exactly(t, 0, 3) // 8 tokens
	l := newLab(t, cfg)
	l.at(0, func() {
		if err := l.e.Submit(&Seq{ID: 1, Prompt: 4, MaxTokens: 3, Sink: l}); err == nil {
			t.Error("a sequence of 6 tokens and 3 drafts was accepted into 8 places")
		}
		l.seqs = []*Seq{{ID: 2, Prompt: 4, MaxTokens: 2, Sink: l}}
		if err := l.e.Submit(l.seqs[0]); err != nil {
			t.Error(err)
		}
	})
	l.loop.Run()
}

// The tokens of a step are, on the mean, one and the sum of the products of the
// rates: within 2 % over some 20,000 steps, in whatever company they run.
func TestMeanTokensOfAStep(t *testing.T) {
	for _, async := range []bool{false, true} {
		for _, spread := range []float64{0, 0.2} {
			a := spec.Acceptance{Rates: []float64{0.7, 0.6, 0.5}, Spread: spread, Proposes: 1}
			cfg := small()
			cfg.MaxNumBatchedTokens, cfg.MaxModelLen, cfg.NumGPUBlocks = 64, 512, 1025
			cfg.AsyncScheduling, cfg.Speculation = async, speculation(t, 3, a)
			l := newLab(t, cfg)
			for i := range 300 {
				l.submit(clock.Time(i)*ms, 4, 150)
			}
			l.loop.Run()
			got := l.e.Speculated()
			length := 1 + float64(got.Accepted)/float64(got.Drafts)
			if want := a.Length(3); math.Abs(length-want) > 0.02*want || got.Drafts < 15_000 {
				t.Errorf("async %v, spread %v: %.3f tokens a step over %d steps, want %.3f", async, spread, length, got.Drafts, want)
			}
		}
	}
}

// How much of its drafts a sequence has accepted does not depend on its company,
// nor on preemptions: what comes behind token n is the same whenever it comes.
func TestLuckIsTheSequencesOwn(t *testing.T) {
	run := func(others, blocks int) map[int]int {
		cfg := small()
		cfg.NumGPUBlocks = blocks
		cfg.Speculation = speculation(t, 3, spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 1})
		l := newLab(t, cfg)
		bursts := map[int]int{} // by the token before
		for i := range others {
			l.submit(clock.Time(i)*ms, 8, 30, func(s *Seq) { s.ID = uint64(100 + i) })
		}
		mine := l.submit(3*ms, 8, 60, func(s *Seq) { s.ID = 7 })
		l.onToken = func(s *Seq) {
			if s == mine {
				bursts[s.Output-l.burst] = l.burst
			}
		}
		l.loop.Run()
		if blocks < 60 && mine.Preemptions == 0 {
			t.Error("nothing was preempted: the test shows less than it could")
		}
		return bursts
	}
	alone := run(0, 200)
	for name, got := range map[string]map[int]int{"in company": run(6, 200), "preempted": run(6, 28)} {
		same := 0
		for before, n := range got {
			// A step after a preemption has no drafts, and a full one fewer.
			if want, ok := alone[before]; ok && n > want {
				t.Errorf("%s: %d tokens behind token %d, alone %d", name, n, before, want)
			} else if ok && n == want {
				same++
			}
		}
		if same < 10 {
			t.Errorf("%s: %d bursts are those of the sequence alone", name, same)
		}
	}
}

func TestR7ResumedChunksHaveNoDrafts(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks, cfg.PrefixCaching, cfg.LongPrefillThreshold, cfg.Speculation = 5, false, 5, exactly(t, 0, 2)
	l := newLab(t, cfg)
	l.submit(0, 7, 3)
	l.submit(0, 7, 3)
	l.wantSteps("1:5 2:5", "1:7 2:7", "1:10", "1:11", "2:5", "2:8", "2:11")
}

func TestR6WithdrawnDraftsAreForgotten(t *testing.T) {
	cfg := small()
	cfg.NumGPUBlocks, cfg.Policy, cfg.Speculation = 5, Priority, exactly(t, 0, 2)
	l := newLab(t, cfg)
	a := l.submit(0, 4, 4, func(s *Seq) { s.Priority = 1 })
	b := l.submit(ms/2, 7, 3)
	l.onStep = func(*steptime.Batch) {
		if a.sched.in == &l.e.waiting.list && a.sched.guessed != 0 {
			t.Errorf("%d drafts are under way of a sequence that was taken out of its step", a.sched.guessed)
		}
	}
	l.loop.Run()
	if a.Preemptions == 0 || a.Output != 4 || b.Output != 3 {
		t.Errorf("%d preemptions, %d and %d tokens; want some, 4, 3: %q", a.Preemptions, a.Output, b.Output, l.steps)
	}
}
