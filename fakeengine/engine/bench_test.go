package engine

import (
	"fmt"
	"testing"

	"goodput/fakeengine/spec"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// stepper is a loop that a test can stop: it holds few events and fires them
// one by one.
type stepper struct {
	now  clock.Time
	held []held
}

type held struct {
	at clock.Time
	r  clock.Rank
	e  clock.Event
}

func (l *stepper) Now() clock.Time { return l.now }

func (l *stepper) At(t clock.Time, r clock.Rank, e clock.Event) {
	l.held = append(l.held, held{max(t, l.now), r, e})
}

func (l *stepper) Post(e clock.Event) { l.At(l.now, clock.RankTransit, e) }

// fire runs the first event.
func (l *stepper) fire() {
	first := 0
	for i, h := range l.held {
		if f := l.held[first]; h.at < f.at || h.at == f.at && h.r < f.r {
			first = i
		}
	}
	h := l.held[first]
	l.held = append(l.held[:first], l.held[first+1:]...)
	l.now = h.at
	h.e.Fire(h.at)
}

// recycler submits each sequence again when it ends.
type recycler struct {
	t    testing.TB
	e    *Engine
	runs bool
}

func (r *recycler) Tokens(*Seq, clock.Time, int) {}
func (r *recycler) Run(*Seq, []clock.Time)       {}

func (r *recycler) Finished(s *Seq, _ clock.Time, _ Finish) {
	next := Seq{ID: s.ID, Prompt: s.Prompt, MaxTokens: s.MaxTokens, Priority: s.Priority, Adapter: s.Adapter, Hashes: s.Hashes, Shared: s.Shared, Sink: r}
	if r.runs {
		next.Runs = r
	}
	s.Reset()
	*s = next
	if err := r.e.Submit(s); err != nil {
		r.t.Error(err)
	}
}

// busy returns an engine that always has n sequences in it, after it has found
// its steady state; runs says that it need not tell each token at once.
func busy(t testing.TB, cfg Config, n, prompt, out int, runs bool) (*stepper, *Engine) {
	t.Helper()
	a, _ := h100(t, 8192)
	loop := &stepper{}
	e, err := New(cfg, a, loop)
	if err != nil {
		t.Fatal(err)
	}
	r := &recycler{t, e, runs}
	for i := range n {
		s := &Seq{ID: uint64(i), Prompt: prompt, MaxTokens: out, Priority: i % 3, Shared: prompt, Sink: r}
		if cfg.LoRA.MaxLoras > 0 {
			s.Adapter = uint16(i % 4)
		}
		for b := range prompt / 16 {
			s.Hashes = append(s.Hashes, uint64(i<<8|b))
		}
		if runs {
			s.Runs = r
		}
		if err := e.Submit(s); err != nil {
			t.Fatal(err)
		}
	}
	for range 5000 {
		loop.fire()
	}
	return loop, e
}

func TestStepsDoNotAllocate(t *testing.T) {
	for _, c := range []struct {
		name   string
		runs   bool
		change func(*Config)
	}{
		{"synchronous", false, func(*Config) {}},
		{"asynchronous", false, func(c *Config) { c.AsyncScheduling = true }},
		{"priority", false, func(c *Config) { c.Policy = Priority }},
		{"asynchronous priority, unhashed first", false, func(c *Config) { c.AsyncScheduling, c.Policy, c.PrependUnhashed = true, Priority, true }},
		{"synchronous, in runs", true, func(*Config) {}},
		{"asynchronous, in runs", true, func(c *Config) { c.AsyncScheduling = true }},
		{"speculation", false, func(c *Config) {
			c.Speculation = speculation(t, 3, spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 0.9})
			c.Speculation.Lookahead = 3
		}},
		{"asynchronous speculation, in runs if it could", true, func(c *Config) {
			c.AsyncScheduling = true
			c.Speculation = speculation(t, 3, spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 1})
		}},
		{"steps told", true, func(c *Config) { c.Steps = &run{steps: make([][2]int64, 0, 1<<20)} }},
		{"host memory", false, func(c *Config) { c.Offload = Offload{Blocks: 100, Copy: 1000} }},
		{"adapters", false, func(c *Config) { c.LoRA = LoRA{MaxLoras: 2, MaxCPULoras: 3, Fetch: 1000, Load: 1000, Step: 1000} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := serving(300, 8192)
			c.change(&cfg)
			loop, e := busy(t, cfg, 12, 512, 32, c.runs) // preempts all the time
			before := e.Stats()
			// What others in the process allocate counts too, so once without is enough.
			n := 1.0
			for tries := 0; n != 0 && tries < 5; tries++ {
				n = testing.AllocsPerRun(1, func() {
					for range 5000 {
						loop.fire()
					}
				})
			}
			after := e.Stats()
			if after.Finished == before.Finished || after.Preemptions == before.Preemptions ||
				after.Evictions == before.Evictions || after.PrefixHits == before.PrefixHits {
				t.Fatalf("nothing ended, was preempted, evicted or hit: %+v", after)
			}
			if n != 0 {
				t.Errorf("%v allocations in 5000 events with %d requests, want 0", n, after.Finished-before.Finished)
			}
		})
	}
}

// BenchmarkToken is the cost of one output token in a batch of decodes; one
// token in a thousand also pays for an admission.
func BenchmarkToken(b *testing.B) {
	for _, c := range []struct {
		n    int
		runs bool
	}{{1, false}, {16, false}, {64, false}, {256, false}, {1, true}, {16, true}, {64, true}, {256, true}} {
		b.Run(fmt.Sprintf("batch=%d,runs=%v", c.n, c.runs), func(b *testing.B) {
			loop, e := busy(b, serving(28156, 8192), c.n, 128, 1024, c.runs)
			b.ReportAllocs()
			b.ResetTimer()
			start := e.Stats().GenerationTokens
			for e.Stats().GenerationTokens-start < int64(b.N) {
				loop.fire()
			}
		})
	}
}

// BenchmarkSpeculatedToken is the same with three drafts for each step, of which
// half are accepted.
func BenchmarkSpeculatedToken(b *testing.B) {
	for _, n := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", n), func(b *testing.B) {
			cfg := serving(28156, 8192)
			cfg.Speculation = speculation(b, 3, spec.Acceptance{Rates: []float64{0.75, 0.65, 0.6}, Spread: 0.1, Proposes: 1})
			loop, e := busy(b, cfg, n, 128, 1024, false)
			b.ReportAllocs()
			b.ResetTimer()
			start := e.Stats().GenerationTokens
			for e.Stats().GenerationTokens-start < int64(b.N) {
				loop.fire()
			}
		})
	}
}

// feed offers Poisson arrivals and recycles sequences.
type feed struct {
	loop *clock.Virtual
	e    *Engine
	gaps rng.Stream
	mean float64 // ns
	left int
	id   uint64
	idle []*Seq
	err  error
	runs bool
}

func (f *feed) Run(*Seq, []clock.Time) {}

func (f *feed) Entity() uint64 { return 0 }

func (f *feed) Fire(now clock.Time) {
	var s *Seq
	if n := len(f.idle); n > 0 {
		s, f.idle = f.idle[n-1], f.idle[:n-1]
	} else {
		s = &Seq{}
	}
	f.id++
	s.ID, s.Prompt, s.MaxTokens, s.Sink = f.id, 512, 256, f
	if f.runs {
		s.Runs = f
	}
	if err := f.e.Submit(s); err != nil {
		f.err = err
	}
	if f.left--; f.left > 0 {
		f.loop.At(now+clock.Time(f.gaps.Exp()*f.mean), clock.RankArrival, f)
	}
}

func (f *feed) Tokens(*Seq, clock.Time, int) {}

func (f *feed) Finished(s *Seq, _ clock.Time, _ Finish) {
	s.Reset()
	f.idle = append(f.idle, s)
}

// BenchmarkRequests runs 100,000 requests of 512 prompt and 256 answer tokens on
// one H100, at light load and near saturation, with and without walking every
// step.
func BenchmarkRequests(b *testing.B) {
	const n = 100_000
	for _, c := range []struct {
		name string
		rate float64
		runs bool
	}{{"rate=10", 10, true}, {"rate=25", 25, true}, {"rate=10,every", 10, false}, {"rate=25,every", 25, false}} {
		b.Run(c.name, func(b *testing.B) {
			a, _ := h100(b, 8192)
			b.ReportAllocs()
			for b.Loop() {
				f := &feed{loop: clock.NewVirtual(), gaps: rng.New(1, "gaps", 0), mean: 1e9 / c.rate, left: n, runs: c.runs}
				cfg := serving(28156, 8192)
				cfg.AsyncScheduling, cfg.EveryStep = true, !c.runs
				e, err := New(cfg, a, f.loop)
				if err != nil {
					b.Fatal(err)
				}
				f.e = e
				f.loop.At(0, clock.RankArrival, f)
				f.loop.Run()
				if got := e.Stats().Finished; got != n || f.err != nil {
					b.Fatalf("%d of %d requests, %v", got, n, f.err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
