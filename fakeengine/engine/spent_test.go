package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

func TestSpent(t *testing.T) {
	const us = 1000
	for _, c := range []struct {
		name   string
		async  bool
		change func(*Config)
		send   func(l *lab) *Seq
		want   Spent
	}{
		{
			"alone: steps of 1.4, 1.1 and 1.1 ms", false, nil,
			func(l *lab) *Seq { return l.submit(0, 4, 3) },
			Spent{FrontEndNS: 300 * us, PrefillNS: 1400 * us, DecodeNS: 2200 * us},
		},
		{
			"a decode beside a prompt of 8 tokens", false, nil,
			func(l *lab) *Seq {
				l.submit(ms, 8, 1)
				return l.submit(0, 4, 3)
			},
			Spent{FrontEndNS: 300 * us, PrefillNS: 1400 * us, DecodeNS: 2200 * us, InterferenceNS: 800 * us},
		},
		{
			"a prompt beside a decode and another prompt", false, nil,
			func(l *lab) *Seq {
				l.submit(0, 4, 3)
				l.submit(ms, 8, 1)
				return l.submit(ms, 3, 1) // lands at 1.3, is scheduled at 1.7
			},
			// The step takes 1 + 0.1*(1+8+3) ms.
			Spent{FrontEndNS: 300 * us, QueueNS: 400 * us, PrefillNS: 1400 * us, InterferenceNS: 800 * us},
		},
		{
			"no budget left", false, func(c *Config) { c.MaxNumBatchedTokens = 10 },
			func(l *lab) *Seq {
				l.submit(0, 18, 1)
				return l.submit(0, 4, 1) // two of its tokens are in the second step
			},
			Spent{FrontEndNS: 300 * us, QueueNS: 2000 * us, PrefillNS: 1200*us + 1200*us, InterferenceNS: 800 * us},
		},
		{
			"scheduled while another step executes", true, nil,
			func(l *lab) *Seq {
				l.submit(0, 4, 9)
				return l.submit(ms, 4, 1) // scheduled at 1.7, starts at 2.8
			},
			Spent{FrontEndNS: 300 * us, QueueNS: 400 * us, PrefillNS: 1500 * us, InterferenceNS: 1100 * us},
		},
		{
			"preempted", false, func(c *Config) { c.NumGPUBlocks, c.PrefixCaching = 5, false },
			func(l *lab) *Seq {
				l.submit(0, 8, 3)
				return l.submit(0, 8, 2)
			},
			// First step 2.6 ms; then 1 computes alone twice, 1.1 ms each; then 9 tokens.
			Spent{FrontEndNS: 300 * us, PrefillNS: 1800*us + 1900*us, InterferenceNS: 800 * us, PreemptedNS: 2200 * us},
		},
		{
			"aborted amid a step", false, nil,
			func(l *lab) *Seq {
				s := l.submit(0, 4, 9)
				l.at(2*ms, func() { l.e.Abort(s) })
				return s
			},
			Spent{FrontEndNS: 300 * us, PrefillNS: 1400 * us, DecodeNS: 300 * us},
		},
		{
			"aborted by a sink, when its own step is over", false, nil,
			func(l *lab) *Seq {
				s := l.submit(0, 4, 9)
				l.onToken = func(s *Seq) {
					if s.Output == 2 {
						l.e.Abort(s)
					}
				}
				return s
			},
			Spent{FrontEndNS: 300 * us, PrefillNS: 1400 * us, DecodeNS: 1100 * us},
		},
		{
			"aborted in the queue", false, func(c *Config) { c.MaxNumSeqs = 1 },
			func(l *lab) *Seq {
				l.submit(0, 4, 9)
				s := l.submit(0, 4, 9)
				l.at(2*ms, func() { l.e.Abort(s) })
				return s
			},
			Spent{FrontEndNS: 300 * us, QueueNS: 1700 * us},
		},
		{
			"aborted in the front end", false, nil,
			func(l *lab) *Seq {
				s := l.submit(0, 4, 9)
				l.at(ms/5, func() { l.e.Abort(s) })
				return s
			},
			Spent{FrontEndNS: 200 * us},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling, cfg.FrontEnd = c.async, 300*time.Microsecond
			if c.change != nil {
				c.change(&cfg)
			}
			l := newLab(t, cfg)
			l.perToken = 100_000_000
			s := c.send(l)
			l.loop.Run()
			if diff := cmp.Diff(c.want, s.Spent); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// auditor keeps its own books of every row: what its step would have taken
// without the prefill of others, if the sequence still ran when the step ended.
type auditor struct {
	*lab
	rt              *rapid.T
	end             clock.Time // of the last scheduled step
	prefill, decode map[*Seq]int64
	over            int
}

func (a *auditor) step(b *steptime.Batch) {
	start := max(a.end, a.loop.Now())
	a.end = start + clock.Time((a.cost+a.perToken*int64(b.Tokens))/1000)
	decodes := int64(0)
	rows := a.e.pipe[a.e.next()].rows
	isPrefill := func(r row) bool { return r.s.sched.computed-r.n < r.s.sched.goal }
	for _, r := range rows {
		if !isPrefill(r) {
			decodes += int64(r.n)
		}
	}
	for _, r := range rows {
		books, tokens := a.decode, decodes
		if isPrefill(r) {
			books, tokens = a.prefill, decodes+int64(r.n)
		}
		own := (a.cost + a.perToken*tokens) / 1000
		a.loop.At(a.end, clock.RankTransit, call{0, func() {
			if r.s.sched.in == &a.e.running {
				books[r.s] += own
			}
		}})
	}
}

func (a *auditor) finished(s *Seq) {
	a.over++
	sum := s.FrontEndNS + s.QueueNS + s.PrefillNS + s.DecodeNS + s.InterferenceNS + s.PreemptedNS + s.TransferNS
	if total := int64(a.loop.Now() - s.Arrival); sum != total {
		a.rt.Fatalf("sequence %d: the parts sum to %d ns, from arrival to end are %d: %+v", s.ID, sum, total, s.Spent)
	}
	for _, part := range []int64{s.FrontEndNS, s.QueueNS, s.PrefillNS, s.DecodeNS, s.InterferenceNS, s.PreemptedNS, s.TransferNS} {
		if part < 0 {
			a.rt.Fatalf("sequence %d: a part below zero: %+v", s.ID, s.Spent)
		}
	}
}

func TestTimeSpentAddsUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t, drawConfig(rt))
		l.perToken = 1000 * rapid.Int64Range(0, 100_000).Draw(rt, "ns per token")
		jobs := drawJobs(rt)
		a := &auditor{lab: l, rt: rt, prefill: map[*Seq]int64{}, decode: map[*Seq]int64{}}
		l.onStep, l.onEnd = a.step, a.finished
		l.offer(jobs, straight(len(jobs)))
		l.loop.Run()
		if a.over != len(jobs) {
			rt.Fatalf("%d of %d sequences ended", a.over, len(jobs))
		}
		for i, s := range l.seqs {
			if jobs[i].abort.Known() {
				continue
			}
			if s.PrefillNS != a.prefill[s] || s.DecodeNS != a.decode[s] {
				rt.Fatalf("sequence %d: prefill %d, decode %d ns; audited %d, %d", s.ID, s.PrefillNS, s.DecodeNS, a.prefill[s], a.decode[s])
			}
		}
	})
}

// wavering is a model with chance in it: every second step takes twice as long.
type wavering struct{ n int64 }

func (w *wavering) Mean(b *steptime.Batch) int64 { return 1_000_000_000 + 100_000_000*int64(b.Tokens) }

func (w *wavering) Step(b *steptime.Batch) int64 {
	w.n++
	return w.Mean(b) * (2 - w.n%2)
}

// Parts of a step are in proportion to what the model expects, and cost no draw.
func TestSpentInStepsThatVary(t *testing.T) {
	loop := clock.NewVirtual()
	w := &wavering{}
	e, err := New(small(), w, loop)
	if err != nil {
		t.Fatal(err)
	}
	q := &quiet{}
	a, b := &Seq{ID: 1, Prompt: 4, MaxTokens: 3, Sink: q}, &Seq{ID: 2, Prompt: 8, MaxTokens: 1, Sink: q}
	for _, s := range []*Seq{a, b} {
		loop.At(clock.Time(s.ID-1)*ms, clock.RankArrival, call{s.ID, func() {
			if err := e.Submit(s); err != nil {
				t.Error(err)
			}
		}})
	}
	loop.Run()
	// Steps of 1.4, 2*1.9 and 1.1 ms: the second would have taken 2*1.1 without b.
	if diff := cmp.Diff(Spent{PrefillNS: 1_400_000, DecodeNS: 3_300_000, InterferenceNS: 1_600_000}, a.Spent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.n != 3 || b.PrefillNS != 3_800_000 {
		t.Errorf("%d draws in 3 steps; b's prefill %d ns, want 3.8 ms", w.n, b.PrefillNS)
	}
}
