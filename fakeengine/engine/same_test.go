package engine

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/kv"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// sloped is a linear model.
type sloped struct{ base, perToken, perCtx int64 }

func (m sloped) Step(b *steptime.Batch) int64 {
	return m.base + m.perToken*int64(b.Tokens) + m.perCtx*(b.DecodeCtx+b.PrefillHist)
}

func (m sloped) PerContext() int64 { return m.perCtx }

var _ steptime.Linear = sloped{}

// crooked is a model that reads all of a batch and is linear in nothing.
type crooked struct{}

func (crooked) Step(b *steptime.Batch) int64 {
	return 900_000_000 + b.DecodeMax*b.DecodeMax*1000 + b.DecodeCtx*int64(b.Seqs)*77 + int64(b.Tokens*b.Emit)*1111 + b.PrefillPairs2*13
}

// fate is what a sink hears of one sequence.
type fate struct {
	s        Seq
	at       []clock.Time
	ended    clock.Time
	why      Finish
	hold     clock.Time // from its end on
	revenge  []*fate    // aborted when it hears its first token or its end
	followed *fate      // submitted when it ends
}

// run is one engine with a workload, and what came of it.
type run struct {
	t     rapid.TB
	loop  *clock.Virtual
	e     *Engine
	fates []*fate
	log   []string // calls of sinks that act, and readings, in order
	steps [][2]int64
}

// Step implements StepSink.
func (r *run) Step(prompt, generated int64) { r.steps = append(r.steps, [2]int64{prompt, generated}) }

func (r *run) Tokens(s *Seq, now clock.Time, n int) {
	f := r.fates[s.ID]
	for range n {
		f.at = append(f.at, now)
	}
	if s.Output == 1 {
		r.note("first", f, now)
		r.avenge(f)
	}
}

// Run implements RunSink.
func (r *run) Run(s *Seq, at []clock.Time) { r.fates[s.ID].at = append(r.fates[s.ID].at, at...) }

func (r *run) Finished(s *Seq, now clock.Time, why Finish) {
	f := r.fates[s.ID]
	f.ended, f.why = now, why
	r.note("end", f, now)
	r.avenge(f)
	r.loop.At(now+f.hold, clock.RankTransit, call{s.ID, func() { r.e.Release(s) }})
	if f.followed != nil {
		r.submit(f.followed)
	}
}

func (r *run) note(what string, f *fate, now clock.Time) {
	r.log = append(r.log, fmt.Sprintf("%s %d at %d: %+v", what, f.s.ID, now, r.e.Stats()))
}

func (r *run) avenge(f *fate) {
	for _, g := range f.revenge {
		r.e.Abort(&g.s)
	}
}

func (r *run) submit(f *fate) {
	if err := r.e.Submit(&f.s); err != nil {
		r.t.Errorf("sequence %d: %v", f.s.ID, err)
	}
}

// trial is a configuration and a workload, to be run in several ways.
type trial struct {
	cfg   Config
	model func() steptime.Model
	jobs  []job
	// looks are instants at which somebody reads the engine, at different ranks,
	// with another entity.
	looks []look
	// live are the sequences that want each token at once; revenge and follow are
	// pairs of jobs.
	live            map[int]bool
	revenge, follow map[int]int
}

type look struct {
	at     clock.Time
	rank   clock.Rank
	entity uint64
}

// trace is all that shows of a run.
type trace struct {
	Log    []string
	Seqs   []string
	Steps  [][2]int64 // prompt and output tokens of those with output
	Blocks uint64     // digest of the blocks handed out, with their old names, in order
	Stats  string
}

// play runs the trial; every means that each boundary is an event.
func (tr *trial) play(t rapid.TB, every bool) (trace, *run) {
	cfg := tr.cfg
	cfg.EveryStep, cfg.ID = every, 5
	r := &run{t: t, loop: clock.NewVirtual()}
	cfg.Steps = r
	e, err := New(cfg, tr.model(), r.loop)
	if err != nil {
		t.Fatal(err)
	}
	r.e = e
	digest := fnv.New64a()
	e.kv.Watch(func(id int32, name uint64) { fmt.Fprintln(digest, id, name) })
	for i, j := range tr.jobs {
		f := &fate{s: Seq{ID: uint64(i), Prompt: j.prompt, MaxTokens: j.out, StopAt: j.stop, Shared: j.shared, Priority: j.priority, Sink: r}}
		if !tr.live[i] {
			f.s.Runs = r
		}
		if e.lora != nil {
			f.s.Adapter = j.adapter
		}
		for b := range (j.prompt + j.out) / cfg.BlockSize {
			f.s.Hashes = append(f.s.Hashes, uint64(f.s.Adapter)<<48|j.family<<32|uint64(b))
		}
		if j.fetch.Known() {
			f.s.Remote = &courier{e: e, after: j.fetch}
		}
		f.s.Hold, f.hold = j.hold.Known(), max(0, j.hold)
		r.fates = append(r.fates, f)
	}
	followers := map[int]bool{}
	for a, b := range tr.follow {
		r.fates[a].followed = r.fates[b]
		followers[b] = true
	}
	for a, b := range tr.revenge {
		r.fates[a].revenge = append(r.fates[a].revenge, r.fates[b])
	}
	for i, j := range tr.jobs {
		f := r.fates[i]
		if !followers[i] {
			r.loop.At(j.at, clock.RankArrival, call{f.s.ID, func() { r.submit(f) }})
		}
		if j.abort.Known() {
			r.loop.At(j.abort, clock.RankDeadline, call{f.s.ID, func() { e.Abort(&f.s) }})
		}
	}
	for _, l := range tr.looks {
		r.loop.At(l.at, l.rank, call{l.entity, func() { r.log = append(r.log, fmt.Sprintf("look at %d: %+v", l.at, e.Stats())) }})
	}
	r.loop.Run()
	return r.trace(digest.Sum64()), r
}

func (r *run) trace(blocks uint64) trace {
	var tables []*kv.Table
	if err := r.e.kv.Check(tables); err != nil {
		r.t.Errorf("invariant 7: %v", err)
	}
	o := trace{Log: r.log, Steps: r.steps, Blocks: blocks, Stats: fmt.Sprintf("%+v", r.e.Stats())}
	r.checkSteps()
	for _, f := range r.fates {
		s := &f.s
		o.Seqs = append(o.Seqs, fmt.Sprintf("%d: %d %d %d %d %d ended %d why %d output %d cached %d preempted %d recomputed %d %+v tokens %v",
			s.ID, s.Arrival, s.Queued, s.Scheduled, s.FirstToken, s.LastToken, f.ended, f.why, s.Output, s.Cached, s.Preemptions, s.Recomputed, s.Spent, f.at))
	}
	return o
}

// checkSteps holds what the step sink heard against the sequences and the tokens
// that their sinks heard of.
func (r *run) checkSteps() {
	var got, want [2]int64
	for _, s := range r.steps {
		got[0], got[1] = got[0]+s[0], got[1]+s[1]
		if s[1] < 1 {
			r.t.Errorf("a step without output was told: %v", s)
		}
	}
	instants := map[clock.Time]bool{}
	for _, f := range r.fates {
		want[1] += int64(f.s.Output)
		if f.s.Output > 0 {
			want[0] += int64(f.s.Prompt)
		}
		for _, at := range f.at {
			instants[at] = true
		}
	}
	if got != want || len(r.steps) < len(instants) || int64(len(r.steps)) > r.e.Stats().Steps {
		r.t.Errorf("%d steps gave output, with %v tokens of prompts and output; want %v, at %d instants at least", len(r.steps), got, want, len(instants))
	}
}

// compare plays the trial in both ways.
func (tr *trial) compare(t rapid.TB) *run {
	want, _ := tr.play(t, true)
	got, r := tr.play(t, false)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-every step +not every step):\n%s\nconfig %+v\njobs %+v\n%+v", diff, tr.cfg, tr.jobs, tr)
	}
	return r
}

func drawTrial(t *rapid.T) *trial {
	tr := &trial{cfg: drawConfig(t), jobs: drawJobs(t), live: map[int]bool{}, revenge: map[int]int{}, follow: map[int]int{}}
	if rapid.IntRange(0, 3).Draw(t, "as it is") > 0 {
		tr.cfg.LoRA, tr.cfg.Speculation = LoRA{}, Speculation{} // without a group
	}
	if rapid.Bool().Draw(t, "roomy") {
		tr.cfg.NumGPUBlocks += rapid.IntRange(0, 1000).Draw(t, "blocks more")
		tr.cfg.MaxNumBatchedTokens += 64
		tr.cfg.MaxModelLen = 200
		if !tr.cfg.ChunkedPrefill {
			tr.cfg.MaxNumBatchedTokens = 200
		}
		for i := range tr.jobs {
			tr.jobs[i].out += rapid.IntRange(0, 100).Draw(t, "longer")
		}
		for i := range tr.jobs {
			need := (tr.jobs[i].prompt+tr.jobs[i].out)/tr.cfg.BlockSize + 40
			tr.cfg.NumGPUBlocks = max(tr.cfg.NumGPUBlocks, need)
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "model") {
	case 0:
		tr.model = func() steptime.Model { return crooked{} }
	case 1:
		tr.model = func() steptime.Model { return &wavering{} }
	case 2:
		tr.model = func() steptime.Model { return sloped{base: 1_000_000_000} }
	default:
		m := sloped{
			base: rapid.Int64Range(1, 2_000_000_000).Draw(t, "base"), perToken: rapid.Int64Range(0, 1_000_000).Draw(t, "per token"),
			perCtx: rapid.Int64Range(0, 5000).Draw(t, "per context"),
		}
		tr.model = func() steptime.Model { return m }
	}
	n := len(tr.jobs)
	for range rapid.IntRange(0, 3).Draw(t, "lives") {
		tr.live[rapid.IntRange(0, n-1).Draw(t, "live")] = true
	}
	for range rapid.IntRange(0, 2).Draw(t, "revenges") {
		tr.revenge[rapid.IntRange(0, n-1).Draw(t, "avenger")] = rapid.IntRange(0, n-1).Draw(t, "victim")
	}
	for range rapid.IntRange(0, 2).Draw(t, "follows") {
		a := rapid.IntRange(0, n-1).Draw(t, "before")
		b := rapid.IntRange(0, n-1).Draw(t, "after")
		if a < b {
			tr.follow[a] = b
		}
	}
	// One comes after one other at most.
	seen := map[int]bool{}
	for a := range n {
		if b, ok := tr.follow[a]; ok {
			if seen[b] {
				delete(tr.follow, a)
			}
			seen[b] = true
		}
	}
	for range rapid.IntRange(0, 10).Draw(t, "looks") {
		tr.looks = append(tr.looks, look{
			at:     ms / 2 * clock.Time(rapid.IntRange(0, 200).Draw(t, "look at")),
			rank:   clock.Rank(rapid.IntRange(0, int(clock.RankSample)).Draw(t, "rank")),
			entity: uint64(rapid.SampledFrom([]int{4, 6}).Draw(t, "entity")),
		})
	}
	return tr
}

// The engine that leaves things out does, to the nanosecond and the block, what
// the one that walks every step does.
func TestSameAsEveryStep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { drawTrial(rt).compare(rt) })
}

// seeded makes a trial of a few hundred requests from a number.
func seeded(n uint64) *trial {
	s := rng.New(n, "trial", 0)
	pick := func(xs ...int) int { return xs[s.IntN(len(xs))] }
	cfg := Config{
		MaxNumSeqs: pick(4, 32, 256), MaxNumBatchedTokens: pick(64, 512, 8192), MaxModelLen: 2048,
		BlockSize: 16, NumGPUBlocks: pick(130, 300, 1000, 28156), PrefixCaching: pick(0, 1, 1) == 1, ChunkedPrefill: true,
		AsyncScheduling: pick(0, 1) == 1, ReserveFullISL: pick(0, 1, 1) == 1, PrependUnhashed: pick(0, 0, 1) == 1,
		LongPrefillThreshold: pick(0, 0, 100), Watermark: []float64{0, 0, 0.01}[pick(0, 1, 2)],
		Policy: Policy(pick(0, 0, 0, 1)), Batching: Batching(pick(0, 0, 0, 0, 1)),
		FrontEnd: []time.Duration{0, 6 * time.Millisecond}[pick(0, 1)],
	}
	if pick(0, 0, 0, 1) == 1 {
		cfg.ChunkedPrefill, cfg.MaxNumBatchedTokens = false, 4096
	}
	tr := &trial{cfg: cfg, live: map[int]bool{}}
	grid, remote := pick(0, 1) == 1, pick(0, 0, 1) == 1
	models := []func() steptime.Model{
		func() steptime.Model { return crooked{} },
		func() steptime.Model { return sloped{base: 5_000_000_000} }, // on the grid of arrivals
		func() steptime.Model { return sloped{base: 4_999_999_900, perToken: 23_000_017, perCtx: 40_013} },
		func() steptime.Model { return sloped{base: 6_000_000_000, perToken: 20_000_000, perCtx: 60_000} },
	}
	tr.model = models[s.IntN(len(models))]
	rate := []float64{2, 8, 20, 60}[s.IntN(4)]
	at := 0.0
	for i := range 200 {
		at += s.Exp() / rate
		j := job{at: clock.Time(at * 1e9), prompt: 1 + s.IntN(900), out: 1 + s.IntN(400), family: 1 + uint64(s.IntN(5)), abort: clock.Never, priority: s.IntN(3), fetch: clock.Never, hold: clock.Never}
		if remote && s.IntN(3) == 0 {
			j.fetch = clock.Time(s.IntN(20)) * 5 * ms / 2
		}
		if remote && s.IntN(3) == 0 {
			j.hold = clock.Time(s.IntN(100)) * 5 * ms / 2
		}
		if grid {
			j.at = j.at / (5 * ms) * (5 * ms)
		}
		j.shared = []int{0, j.prompt, s.IntN(j.prompt + 1), j.prompt + s.IntN(j.out+1)}[s.IntN(4)]
		if s.IntN(8) == 0 {
			j.abort = j.at + clock.Time(s.IntN(400))*5*ms
		}
		if s.IntN(5) == 0 {
			j.stop = 1 + s.IntN(j.out)
		}
		if s.IntN(50) == 0 {
			tr.live[i] = true
		}
		tr.jobs = append(tr.jobs, j)
	}
	for range 60 {
		tr.looks = append(tr.looks, look{
			at: clock.Time(s.IntN(int(at*220))) * 5 * ms, rank: clock.Rank(s.IntN(int(clock.RankSample) + 1)), entity: uint64(4 + 2*s.IntN(2)),
		})
	}
	return tr
}

// Larger trials, fixed by their numbers, which together must have met all that
// could make a difference.
func TestSameAsEveryStepInSeededTrials(t *testing.T) {
	const trials = 25
	var total Stats
	for n := range trials {
		s := seeded(uint64(n)).compare(t).e.Stats()
		total.Preemptions += s.Preemptions
		total.Evictions += s.Evictions
		total.PrefixHits += s.PrefixHits
		total.Aborted += s.Aborted
		total.Steps += s.Steps
	}
	if total.Preemptions == 0 || total.Evictions == 0 || total.PrefixHits == 0 || total.Aborted == 0 {
		t.Errorf("some of it never happened: %+v", total)
	}
	t.Logf("%d trials: %+v", trials, total)
}

// counting counts what is put on a loop.
type counting struct {
	*clock.Virtual
	n int
}

func (c *counting) At(t clock.Time, r clock.Rank, e clock.Event) {
	c.n++
	c.Virtual.At(t, r, e)
}

// What makes the difference is that decodes are neither walked nor events.
func TestDecodesAreNeitherWalkedNorEvents(t *testing.T) {
	const out = 1000
	for _, async := range []bool{false, true} {
		loop := &counting{Virtual: clock.NewVirtual()}
		cfg := serving(28156, 8192)
		cfg.AsyncScheduling = async
		e, err := New(cfg, sloped{base: 5_000_000_000, perCtx: 1000}, loop)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{t: t, loop: loop.Virtual, e: e}
		for i := range 20 {
			f := &fate{s: Seq{ID: uint64(i), Prompt: 100, MaxTokens: out, Sink: r, Runs: r}}
			r.fates = append(r.fates, f)
			r.submit(f)
		}
		rows := 0
		loop.At(clock.Time(time.Second), clock.RankSample, call{0, func() {
			e.Stats()
			rows = len(e.pipe[0].rows) + len(e.pipe[1].rows) + e.running.n
		}})
		loop.Run()
		if got := e.Stats(); got.Steps < out || got.GenerationTokens != 20*out {
			t.Fatalf("%+v", got)
		}
		if rows > 0 || loop.n > 20 {
			t.Errorf("async %v: %d rows and %d events, want none and few in %d steps", async, rows, loop.n, out)
		}
	}
}
