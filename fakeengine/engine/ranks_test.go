package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/spec"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// pieces is a model of ranks: each token takes 100 us of its rank's own part, and 10
// us of the common one, which takes 1 ms besides.
type pieces struct{ ranks int }

func (m pieces) Step(b *steptime.Batch) int64 { return m.Own(b) + m.Together(b.Tokens) }
func (m pieces) Ranks() int                   { return m.ranks }
func (m pieces) Own(b *steptime.Batch) int64  { return 100_000_000 * int64(b.Tokens) }
func (m pieces) Together(tokens int) int64    { return 1_000_000_000 + 10_000_000*int64(tokens) }
func (m pieces) Mean(b *steptime.Batch) int64 { return m.Step(b) }
func (m pieces) String() string               { return fmt.Sprintf("%d ranks", m.ranks) }
func micros(t clock.Time) string              { return fmt.Sprintf("%d", int64(t)/1000) }

var _ steptime.Ranked = pieces{}

// told is a sink that writes down what it hears.
type told struct{ lines []string }

func (x *told) Tokens(s *Seq, now clock.Time, n int) {
	x.lines = append(x.lines, fmt.Sprintf("%d token %d at %s us", s.ID, s.Output, micros(now)))
}

func (x *told) Finished(s *Seq, now clock.Time, why Finish) {
	x.lines = append(x.lines, fmt.Sprintf("%d ends at %s us", s.ID, micros(now)))
}

// sent is a sequence for a rank at an instant.
type sent struct {
	rank        int
	at          clock.Time
	prompt, out int
}

func newRanks(t rapid.TB, cfg Config, m steptime.Ranked) (*Ranks, *clock.Virtual) {
	loop := clock.NewVirtual()
	r, err := NewRanks(cfg, m, loop)
	if err != nil {
		t.Fatal(err)
	}
	return r, loop
}

// offer submits and runs all.
func (r *Ranks) offer(t rapid.TB, loop *clock.Virtual, jobs []sent) ([]Seq, []string) {
	sink := &told{}
	seqs := make([]Seq, len(jobs))
	for i, j := range jobs {
		s := &seqs[i]
		*s = Seq{ID: uint64(i + 1), Prompt: j.prompt, MaxTokens: j.out, Sink: sink}
		loop.At(j.at, clock.RankArrival, call{s.ID, func() {
			if err := r.Engines()[j.rank].Submit(s); err != nil {
				t.Errorf("sequence %d: %v", s.ID, err)
			}
		}})
	}
	loop.Run()
	return seqs, sink.lines
}

func TestRanks(t *testing.T) {
	for _, c := range []struct {
		name  string
		async bool
		jobs  []sent
		want  []string
	}{
		// 10 tokens on one rank: 1 ms of its own; the other computes one for nobody.
		// Common: 1 ms and 11 tokens.
		{"one works", false, []sent{{0, 0, 10, 2}}, []string{
			"1 token 1 at 2110 us", "1 token 2 at 3230 us", "1 ends at 3230 us",
		}},
		// The slower one's 10 tokens, and the common part of 12.
		{"both wait for the slower one", false, []sent{{0, 0, 10, 1}, {1, 0, 2, 2}}, []string{
			"1 token 1 at 2120 us", "1 ends at 2120 us", "2 token 1 at 2120 us", "2 token 2 at 3240 us", "2 ends at 3240 us",
		}},
		// The second lands within the first step, which ends at 2,110 us; the next one is
		// of 1 + 4 tokens.
		{"an idle one waits for the boundary", false, []sent{{0, 0, 10, 2}, {1, 500_000, 4, 1}}, []string{
			"1 token 1 at 2110 us", "1 token 2 at 3560 us", "1 ends at 3560 us", "2 token 1 at 3560 us", "2 ends at 3560 us",
		}},
		// Under asynchronous scheduling, too: it had nothing in the pipe.
		{"an idle one waits no step longer if all look ahead", true, []sent{{0, 0, 10, 2}, {1, 500_000, 4, 1}}, []string{
			"1 token 1 at 2110 us", "1 token 2 at 3560 us", "1 ends at 3560 us", "2 token 1 at 3560 us", "2 ends at 3560 us",
		}},
		// After a pause both are asleep, and start at once.
		{"all sleep", false, []sent{{0, 0, 10, 1}, {1, 5_000_000, 4, 1}}, []string{
			"1 token 1 at 2110 us", "1 ends at 2110 us", "2 token 1 at 6450 us", "2 ends at 6450 us",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling = c.async
			r, loop := newRanks(t, cfg, pieces{2})
			seqs, got := r.offer(t, loop, c.jobs)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want - got +:\n%s", diff)
			}
			for i := range seqs {
				s := &seqs[i]
				if sum := s.sum(); sum != int64(s.LastToken-s.Arrival) {
					t.Errorf("sequence %d: parts make %d ns of %d", s.ID, sum, s.LastToken-s.Arrival)
				}
			}
		})
	}
}

func (s *Spent) sum() int64 {
	return s.FrontEndNS + s.QueueNS + s.PrefillNS + s.DecodeNS + s.InterferenceNS + s.PreemptedNS + s.TransferNS
}

// One rank is an engine.
func TestOneRankIsAnEngine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := drawConfig(rt)
		cfg.LoRA, cfg.Offload, cfg.Speculation = LoRA{}, Offload{}, Speculation{}
		jobs := drawJobs(rt)
		play := func(alone bool) *lab {
			l := &lab{t: t, loop: clock.NewVirtual()}
			var err error
			if alone {
				l.e, err = New(cfg, pieces{1}, l.loop)
			} else {
				var r *Ranks
				if r, err = NewRanks(cfg, pieces{1}, l.loop); err == nil {
					l.e = r.Engines()[0]
				}
			}
			if err != nil {
				rt.Fatal(err)
			}
			l.offer(jobs, straight(len(jobs)))
			l.loop.Run()
			return l
		}
		want, got := play(true), play(false)
		if diff := cmp.Diff(want.outputs, got.outputs); diff != "" {
			rt.Fatalf("an engine - one rank +:\n%s", diff)
		}
		for i, s := range want.seqs {
			if diff := cmp.Diff(s.Spent, got.seqs[i].Spent); diff != "" {
				rt.Errorf("sequence %d: an engine - one rank +:\n%s", s.ID, diff)
			}
		}
		if diff := cmp.Diff(want.e.Stats(), got.e.Stats()); diff != "" {
			rt.Errorf("an engine - one rank +:\n%s", diff)
		}
	})
}

// Whatever is sent to whom: all is answered, blocks come back, the account of each
// sequence adds up, and the run can be repeated.
func TestRanksServeAll(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := small()
		cfg.AsyncScheduling = rapid.Bool().Draw(rt, "async")
		m := pieces{rapid.IntRange(2, 4).Draw(rt, "ranks")}
		jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sent {
			return sent{
				rank: rapid.IntRange(0, m.ranks-1).Draw(t, "rank"), at: clock.Time(rapid.IntRange(0, 30).Draw(t, "at")) * 500_000,
				prompt: rapid.IntRange(1, 40).Draw(t, "prompt"), out: rapid.IntRange(1, 12).Draw(t, "out"),
			}
		}), 1, 20).Draw(rt, "jobs")
		r, loop := newRanks(rt, cfg, m)
		seqs, lines := r.offer(rt, loop, jobs)
		again, loop2 := newRanks(rt, cfg, m)
		if _, other := again.offer(rt, loop2, jobs); !slices.Equal(lines, other) {
			rt.Fatalf("two runs differ:\n%s\n\n%s", strings.Join(lines, "\n"), strings.Join(other, "\n"))
		}
		var last clock.Time
		for i := range seqs {
			s := &seqs[i]
			if s.Output != s.MaxTokens {
				rt.Fatalf("sequence %d has %d of %d tokens", s.ID, s.Output, s.MaxTokens)
			}
			if got, want := s.sum(), int64(s.LastToken-s.Arrival); got != want {
				rt.Fatalf("sequence %d: parts make %d ns of %d", s.ID, got, want)
			}
			last = max(last, s.LastToken)
		}
		for i, e := range r.Engines() {
			st := e.Stats()
			if st.Running+st.Waiting != 0 || e.kv.Free() != e.kv.Usable() {
				rt.Errorf("rank %d is not empty: %+v", i, st)
			}
			if st.BusyPS > int64(last)*1000 {
				rt.Errorf("rank %d was busy for %d ps of %d ns", i, st.BusyPS, last)
			}
		}
	})
}

func TestNewRanksRefuses(t *testing.T) {
	model, err := spec.New(spec.Acceptance{Rates: []float64{0.5}, Proposes: 1}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"adapters", func(c *Config) { c.LoRA.MaxLoras = 1 }, "LoRA"},
		{"drafts", func(c *Config) { c.Speculation.Model = model }, "Speculation"},
		{"host memory", func(c *Config) { c.Offload.Blocks = 1 }, "Offload"},
		{"what an engine refuses", func(c *Config) { c.MaxNumSeqs = 0 }, "MaxNumSeqs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			c.change(&cfg)
			if _, err := NewRanks(cfg, pieces{2}, clock.NewVirtual()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := NewRanks(small(), nil, clock.NewVirtual()); err == nil {
		t.Error("no error without a model")
	}
}

func TestBuilder(t *testing.T) {
	var b Builder
	loop := clock.NewVirtual()
	var engines []*Engine
	for i, m := range []steptime.Model{pieces{1}, pieces{2}, pieces{2}, pieces{2}, pieces{2}, crooked{}} {
		cfg := small()
		cfg.ID = i
		e, err := b.New(cfg, m, loop)
		if err != nil {
			t.Fatal(err)
		}
		if e.cfg.ID != i {
			t.Errorf("engine %d has ID %d", i, e.cfg.ID)
		}
		engines = append(engines, e)
	}
	if engines[0].ranks != nil || engines[5].ranks != nil {
		t.Error("an engine that steps by itself is in a group")
	}
	if engines[1].ranks != engines[2].ranks || engines[3].ranks != engines[4].ranks || engines[1].ranks == engines[3].ranks {
		t.Error("want two groups of two")
	}
	cfg := small()
	cfg.Offload.Blocks = 1
	if _, err := b.New(cfg, pieces{2}, loop); err == nil {
		t.Error("no error for what ranks refuse")
	}
}

// Steps allocate nothing: answers ten times as long take no more allocations.
func TestStepsOfRanksDoNotAllocate(t *testing.T) {
	cfg := small()
	cfg.MaxModelLen, cfg.NumGPUBlocks, cfg.AsyncScheduling = 4096, 4096, true
	allocs := func(out int) float64 {
		return testing.AllocsPerRun(5, func() {
			r, loop := newRanks(t, cfg, pieces{2})
			sink := &quiet{}
			seqs := []Seq{{ID: 1, Prompt: 4, MaxTokens: out, Sink: sink}, {ID: 2, Prompt: 4, MaxTokens: out, Sink: sink}}
			for i, e := range r.Engines() {
				if err := e.Submit(&seqs[i]); err != nil {
					t.Fatal(err)
				}
			}
			loop.Run()
			if sink.tokens != 2*out {
				t.Fatalf("%d tokens, want %d", sink.tokens, 2*out)
			}
		})
	}
	if few, many := allocs(300), allocs(3000); many > few+20 { // tables of blocks grow
		t.Errorf("%v allocations for 300 tokens, %v for 3,000", few, many)
	}
}
