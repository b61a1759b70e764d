package engine

import (
	"fmt"
	"strings"
	"testing"

	"goodput/fakeengine/kv"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

const ms = clock.Time(1_000_000)

// lab is one engine on a virtual clock, whose every step takes 1 ms, and a log
// of what it did.
type lab struct {
	t    testing.TB
	loop *clock.Virtual
	e    *Engine
	// cost is the picoseconds of a step, perToken what each of its tokens adds.
	cost, perToken int64
	// steps has one line for each step: "id:n" for each row, n the tokens of the
	// sequence whose KV is there when the step ends.
	steps []string
	// outputs has one line for each token and end, with the time in ms.
	outputs []string
	seqs    []*Seq
	burst   int // tokens of the last output
	onStep  func(*steptime.Batch)
	onToken func(*Seq)
	onEnd   func(*Seq)
}

// small is a configuration that fits on paper.
func small() Config {
	return Config{
		MaxNumSeqs: 8, MaxNumBatchedTokens: 16, MaxModelLen: 256, BlockSize: 4, NumGPUBlocks: 65,
		PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
	}
}

func newLab(t testing.TB, cfg Config) *lab {
	t.Helper()
	l := &lab{t: t, loop: clock.NewVirtual(), cost: 1_000_000_000}
	e, err := New(cfg, l, l.loop)
	if err != nil {
		t.Fatal(err)
	}
	l.e = e
	return l
}

// Step is the cost; it logs the step, which is fully scheduled by now, and
// checks the blocks.
func (l *lab) Step(b *steptime.Batch) int64 {
	var line []string
	for _, r := range l.e.pipe[l.e.next()].rows {
		line = append(line, fmt.Sprintf("%d:%d", r.s.ID, r.s.sched.computed))
	}
	if len(l.steps) == 10_000 {
		l.t.Fatalf("10,000 steps and no end, under %+v; the last ones: %q", l.e.cfg, l.steps[len(l.steps)-20:])
	}
	l.steps = append(l.steps, strings.Join(line, " "))
	l.checkBlocks()
	if l.onStep != nil {
		l.onStep(b)
	}
	return l.Mean(b)
}

// Mean is asked for parts of steps, which are not logged.
func (l *lab) Mean(b *steptime.Batch) int64 { return l.cost + l.perToken*int64(b.Tokens) }

func (l *lab) checkBlocks() {
	l.t.Helper()
	var tables []*kv.Table
	for _, s := range l.seqs {
		if s.sched.in != nil {
			tables = append(tables, &s.sched.table)
		}
	}
	if err := l.e.kv.Check(tables); err != nil {
		l.t.Fatalf("invariant 7, step %d: %v", len(l.steps), err)
	}
}

func (l *lab) Tokens(s *Seq, now clock.Time, n int) {
	for i := range n {
		l.outputs = append(l.outputs, fmt.Sprintf("%d token %d at %v", s.ID, s.Output-n+1+i, float64(now)/1e6))
	}
	l.burst = n
	if l.onToken != nil {
		l.onToken(s)
	}
}

func (l *lab) Finished(s *Seq, now clock.Time, why Finish) {
	name := [...]string{"length", "stop", "aborted"}[why]
	l.outputs = append(l.outputs, fmt.Sprintf("%d %s at %v", s.ID, name, float64(now)/1e6))
	if l.onEnd != nil {
		l.onEnd(s)
	}
}

// call is an event made of a function.
type call struct {
	id uint64
	f  func()
}

func (c call) Fire(clock.Time) { c.f() }
func (c call) Entity() uint64  { return c.id }

// at runs f at an instant, before anything lands or steps.
func (l *lab) at(t clock.Time, f func()) { l.loop.At(t, clock.RankArrival, call{0, f}) }

// submit sends a sequence of prompt tokens, of out answer tokens, at t.
func (l *lab) submit(t clock.Time, prompt, out int, change ...func(*Seq)) *Seq {
	s := &Seq{ID: uint64(len(l.seqs) + 1), Prompt: prompt, MaxTokens: out, Sink: l}
	for _, f := range change {
		f(s)
	}
	l.seqs = append(l.seqs, s)
	l.loop.At(t, clock.RankArrival, call{s.ID, func() {
		if err := l.e.Submit(s); err != nil {
			l.t.Errorf("sequence %d: %v", s.ID, err)
		}
	}})
	return s
}

// hashed gives a sequence shareable blocks of a family.
func hashed(family uint64, blocks int) func(*Seq) {
	return func(s *Seq) {
		s.Hashes, s.Shared = nil, s.Prompt
		for i := range blocks {
			s.Hashes = append(s.Hashes, family<<16|uint64(i))
		}
	}
}

// wantSteps runs the lab and compares the first steps.
func (l *lab) wantSteps(want ...string) {
	l.t.Helper()
	l.loop.Run()
	for i, w := range want {
		got := "no step"
		if i < len(l.steps) {
			got = l.steps[i]
		}
		if got != w {
			l.t.Errorf("step %d is %q, want %q; all steps:\n%s", i+1, got, w, strings.Join(l.steps, "\n"))
			return
		}
	}
}

// long skips a simulation of many steps under -short. One goroutine does it all,
// so the race detector, which makes it take a minute, finds nothing there.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long simulation")
	}
}
