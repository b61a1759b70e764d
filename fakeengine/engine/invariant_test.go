package engine

import (
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// job is one request of a random workload.
type job struct {
	at           clock.Time
	prompt, out  int
	stop, shared int
	priority     int
	family       uint64
	adapter      uint16
	abort        clock.Time // Never: not aborted
	fetch, hold  clock.Time // how long its KV takes, and is held afterwards; Never: not at all
}

// drawConfig keeps engines small, so that blocks run out.
func drawConfig(t *rapid.T) Config {
	cfg := Config{
		MaxNumSeqs:           rapid.IntRange(1, 8).Draw(t, "seqs"),
		MaxNumBatchedTokens:  rapid.IntRange(1, 40).Draw(t, "budget"),
		MaxModelLen:          64,
		BlockSize:            rapid.IntRange(1, 5).Draw(t, "block size"),
		PrefixCaching:        rapid.Bool().Draw(t, "prefix caching"),
		AsyncScheduling:      rapid.Bool().Draw(t, "async"),
		PrependUnhashed:      rapid.Bool().Draw(t, "prepend unhashed"),
		Policy:               Policy(rapid.IntRange(0, 1).Draw(t, "policy")),
		Batching:             Batching(max(0, rapid.IntRange(-2, 1).Draw(t, "batching"))),
		ChunkedPrefill:       rapid.IntRange(0, 3).Draw(t, "chunked") > 0,
		ReserveFullISL:       rapid.Bool().Draw(t, "reserve"),
		LongPrefillThreshold: rapid.SampledFrom([]int{0, 0, 3, 10}).Draw(t, "threshold"),
		Watermark:            rapid.SampledFrom([]float64{0, 0, 0.01, 0.2}).Draw(t, "watermark"),
		FrontEnd:             time.Duration(rapid.SampledFrom([]int{0, 300, 1000}).Draw(t, "front end")) * time.Microsecond,
	}
	if n := rapid.IntRange(0, 3).Draw(t, "adapters"); n > 0 {
		cfg.LoRA = LoRA{MaxLoras: n, MaxCPULoras: n + rapid.IntRange(0, 2).Draw(t, "more in host memory")}
	}
	if n := rapid.IntRange(-20, 40).Draw(t, "host blocks"); n > 0 && cfg.PrefixCaching {
		cfg.Offload = Offload{Blocks: n, Copy: rapid.SampledFrom([]int64{0, 1, 300_000_000, 1_500_000_000}).Draw(t, "ps of a copy")}
	}
	cfg.NumGPUBlocks = 1 + (40+cfg.BlockSize-1)/cfg.BlockSize + rapid.IntRange(0, 40).Draw(t, "more blocks")
	if rapid.IntRange(0, 2).Draw(t, "speculation") == 0 {
		cfg.Speculation = drawSpeculation(t, &cfg)
		overhang := cfg.Speculation.Lookahead + 2*cfg.Speculation.Model.Drafts()
		cfg.NumGPUBlocks += (overhang + cfg.BlockSize - 1) / cfg.BlockSize
	}
	if !cfg.ChunkedPrefill && cfg.Batching == Continuous {
		cfg.MaxNumBatchedTokens = cfg.MaxModelLen
	}
	return cfg
}

// drawJobs puts arrivals and aborts on a grid of half steps, so that many fall
// on the ends of steps.
func drawJobs(t *rapid.T) []job {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job {
		j := job{
			at:      ms / 2 * clock.Time(rapid.IntRange(0, 60).Draw(t, "at")),
			prompt:  rapid.IntRange(1, 24).Draw(t, "prompt"),
			out:     rapid.IntRange(1, 16).Draw(t, "out"),
			stop:    rapid.SampledFrom([]int{0, 0, 0, 2, 5}).Draw(t, "stop"),
			family:  rapid.Uint64Range(1, 3).Draw(t, "family"),
			adapter: uint16(rapid.IntRange(0, 5).Draw(t, "adapter")),

			priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
			abort:    clock.Never, fetch: clock.Never, hold: clock.Never,
		}
		j.shared = rapid.IntRange(0, j.prompt+j.out).Draw(t, "shared")
		if rapid.IntRange(0, 3).Draw(t, "fetched") == 0 {
			j.fetch = ms / 2 * clock.Time(rapid.IntRange(0, 20).Draw(t, "fetch"))
		}
		if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
			j.hold = ms / 2 * clock.Time(rapid.IntRange(1, 20).Draw(t, "hold"))
		}
		if rapid.IntRange(0, 4).Draw(t, "aborted") == 0 {
			j.abort = j.at + ms/2*clock.Time(rapid.IntRange(0, 40).Draw(t, "abort after"))
		}
		return j
	}), 1, 24).Draw(t, "jobs")
}

// watch checks every step and every output of a lab.
type watch struct {
	*lab
	rt          *rapid.T
	first       map[*Seq]clock.Time
	given       map[*Seq]int
	preemptions int64
	waiting     []*Seq // at the end of the last scheduling that yielded a step
}

// offer submits and aborts the jobs, in the given order of posting, and releases
// what they hold in the end.
func (l *lab) offer(jobs []job, order []int) {
	l.seqs = make([]*Seq, len(jobs))
	ended := l.onEnd
	l.onEnd = func(s *Seq) {
		if ended != nil {
			ended(s)
		}
		l.loop.At(l.loop.Now()+max(0, jobs[s.ID-1].hold), clock.RankTransit, call{s.ID, func() { l.e.Release(s) }})
	}
	for _, i := range order {
		j := jobs[i]
		s := &Seq{ID: uint64(i + 1), Prompt: j.prompt, MaxTokens: j.out, StopAt: j.stop, Shared: j.shared, Priority: j.priority, Sink: l}
		if l.e.lora != nil {
			s.Adapter = j.adapter
		}
		for b := range (j.prompt + j.out) / l.e.cfg.BlockSize {
			s.Hashes = append(s.Hashes, uint64(s.Adapter)<<32|j.family<<16|uint64(b))
		}
		if j.fetch.Known() {
			s.Remote = &courier{e: l.e, after: j.fetch}
		}
		s.Hold = j.hold.Known()
		l.seqs[i] = s
		l.loop.At(j.at, clock.RankArrival, call{s.ID, func() {
			if err := l.e.Submit(s); err != nil {
				l.t.Errorf("sequence %d: %v", s.ID, err)
			}
		}})
		if j.abort != clock.Never {
			l.loop.At(j.abort, clock.RankDeadline, call{s.ID, func() { l.e.Abort(s) }})
		}
	}
}

func straight(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func (w *watch) step(b *steptime.Batch) {
	e := w.e
	if b.Tokens > e.budget || b.Tokens < 1 {
		w.rt.Fatalf("invariant 8: a step of %d tokens, budget %d", b.Tokens, e.budget)
	}
	if b.Seqs > e.cfg.MaxNumSeqs || e.running.n > e.cfg.MaxNumSeqs {
		w.rt.Fatalf("invariant 8: %d rows, %d running, at most %d sequences", b.Seqs, e.running.n, e.cfg.MaxNumSeqs)
	}
	if e.preempted && e.counters.preemptions == w.preemptions {
		w.rt.Fatalf("a scheduling is said to have preempted, and has not")
	}
	w.preemptions = e.counters.preemptions
	for _, s := range w.waiting {
		if e.preempted && s.sched.in == &e.running {
			w.rt.Fatalf("invariant 8: sequence %d was admitted in a step that preempted", s.ID)
		}
	}
	w.checkDrafts()
	for s := e.running.head; s != nil; s = s.sched.next {
		if n := s.sched.table.Named() * e.cfg.BlockSize; n > s.tokens() {
			w.rt.Fatalf("sequence %d: blocks of %d tokens are named, %d are known", s.ID, n, s.tokens())
		}
	}
	w.waiting = w.waiting[:0]
	for _, l := range []*list{&e.waiting.list, &e.aside} {
		for s := l.head; s != nil; s = s.sched.next {
			w.waiting = append(w.waiting, s)
		}
	}
	w.checkAdapters(b)
	w.checkWork(b)
}

// checkAdapters: no step has more adapters than places, and nobody waits for a
// place that there is.
func (w *watch) checkAdapters(b *steptime.Batch) {
	e := w.e
	in := map[uint16]bool{}
	for _, r := range e.pipe[e.next()].rows {
		if r.s.Adapter != 0 {
			in[r.s.Adapter] = true
		}
	}
	if len(in) > e.cfg.LoRA.MaxLoras {
		w.rt.Fatalf("a step has %d adapters, and there are %d places", len(in), e.cfg.LoRA.MaxLoras)
	}
	if e.preempted || b.Tokens == e.budget || e.running.n == e.cfg.MaxNumSeqs || e.cfg.Batching == Static || e.waiting.n > 0 {
		return // the queue was not read to its end
	}
	for s := e.aside.head; s != nil; s = s.sched.next {
		if len(in) < e.cfg.LoRA.MaxLoras || in[s.Adapter] {
			w.rt.Fatalf("sequence %d was set aside for adapter %d; the step has %v and %d places", s.ID, s.Adapter, in, e.cfg.LoRA.MaxLoras)
		}
	}
}

// checkWork: a step leaves nothing undone that it could have done.
func (w *watch) checkWork(b *steptime.Batch) {
	e := w.e
	if b.Tokens == e.budget {
		return
	}
	// Who preempts himself ends the phase, and need not be the last one there
	// under the priority policy (R6).
	for s := e.running.head; s != nil && (!e.preempted || e.cfg.Policy == FCFS); s = s.sched.next {
		if e.wants(s) > 0 && e.pipe[e.next()].find(s) == nil {
			w.rt.Fatalf("invariant 9: sequence %d runs, has no row, and %d tokens of budget are left", s.ID, e.budget-b.Tokens)
		}
	}
	if e.fetched.n > 0 && e.lora == nil && e.cfg.ChunkedPrefill && !e.preempted && e.cfg.Batching != Static && e.running.n < e.cfg.MaxNumSeqs {
		w.rt.Fatalf("invariant 9: sequence %d has its KV and was not admitted", e.fetched.head.ID)
	}
	s := e.waiting.first()
	if s == nil || e.preempted || e.cfg.Batching == Static || e.running.n == e.cfg.MaxNumSeqs || !e.cfg.ChunkedPrefill {
		return
	}
	// The head's first chunk, after its hits, in blocks that are free beside the
	// watermark.
	hit := e.match(s)
	n := min(e.chunk(s.tokens()-hit*e.cfg.BlockSize), e.budget-b.Tokens)
	need := hit*e.cfg.BlockSize + n
	if e.cfg.Speculation.AdmissionLookahead {
		need = e.slots(need)
	}
	if s.Remote != nil && !s.sched.asked {
		need = s.Prompt
	}
	if e.cfg.ReserveFullISL || e.host != nil { // what is loaded takes room for all
		need = max(need, s.tokens())
	}
	if e.kv.Blocks(need)+e.watermark <= e.kv.Free() {
		w.rt.Fatalf("invariant 9: sequence %d waits for %d blocks, %d are free", s.ID, e.kv.Blocks(need), e.kv.Free())
	}
}

func (w *watch) token(s *Seq) {
	w.given[s] += w.burst
	if most := w.e.burst(); w.burst < 1 || w.burst > most {
		w.rt.Fatalf("sequence %d gave %d tokens in a step, at most %d", s.ID, w.burst, most)
	}
	if w.given[s] != s.Output {
		w.rt.Fatalf("invariant 8: sequence %d gave %d tokens, counts %d", s.ID, w.given[s], s.Output)
	}
	if s.Output == w.burst {
		w.first[s] = s.FirstToken
	}
	if s.FirstToken != w.first[s] || s.LastToken != w.loop.Now() {
		w.rt.Fatalf("invariant 8: sequence %d: first token moved from %v to %v", s.ID, w.first[s], s.FirstToken)
	}
}

func TestInvariants7To9UnderRandomLoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLab(t, drawConfig(rt))
		jobs := drawJobs(rt)
		w := &watch{lab: l, rt: rt, first: map[*Seq]clock.Time{}, given: map[*Seq]int{}}
		l.onStep, l.onToken = w.step, w.token
		l.offer(jobs, straight(len(jobs)))
		l.loop.Run()
		l.checkBlocks()

		got := l.e.Stats()
		if got.Arriving+got.Waiting+got.Running != 0 || got.KVUsed != 0 {
			rt.Fatalf("invariant 9: the engine sleeps with work left: %+v", got)
		}
		var tokens, recomputed, preemptions int64
		var drafts, drafted, accepted int64
		for i, s := range l.seqs {
			j := jobs[i]
			want := j.out
			if j.stop > 0 {
				want = min(want, j.stop)
			}
			if s.Output != want && (j.abort == clock.Never || s.Output > want) {
				rt.Fatalf("sequence %d gave %d tokens, want %d", s.ID, s.Output, want)
			}
			checkAccount(rt, s)
			tokens += int64(s.Output)
			recomputed += int64(s.Recomputed)
			preemptions += int64(s.Preemptions)
			drafts += int64(s.Verified)
			drafted += int64(s.Drafted)
			accepted += int64(s.Accepted)
		}
		checkSpeculated(rt, l.e.Speculated(), drafts, drafted, accepted)
		if got.GenerationTokens != tokens || got.Recomputed != recomputed || got.Preemptions != preemptions ||
			got.Finished+got.Aborted != int64(len(jobs)) || got.Steps != int64(len(l.steps)) || got.BusyPS != got.Steps*l.cost {
			rt.Fatalf("totals %+v differ from the sequences' %d tokens, %d recomputed, %d preemptions, %d steps", got, tokens, recomputed, preemptions, len(l.steps))
		}
	})
}

// checkAccount verifies the order of a sequence's instants.
func checkAccount(rt *rapid.T, s *Seq) {
	last := s.Arrival
	for _, at := range []clock.Time{s.Queued, s.Scheduled, s.FirstToken, s.LastToken} {
		if !at.Known() {
			return
		}
		if at < last {
			rt.Fatalf("sequence %d: instants out of order: %+v", s.ID, s)
		}
		last = at
	}
	if s.Preemptions == 0 && (s.Recomputed != 0 || s.PreemptedNS != 0) {
		rt.Fatalf("sequence %d recomputed %d tokens without a preemption", s.ID, s.Recomputed)
	}
}

// digest names everything that a run did: steps, outputs, block order.
func (l *lab) digest() uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, l.steps)
	fmt.Fprintln(h, l.outputs)
	fmt.Fprintf(h, "%+v %+v\n", l.e.Stats(), l.e.Speculated())
	for _, s := range l.seqs {
		fmt.Fprintln(h, s.Arrival, s.Queued, s.Scheduled, s.FirstToken, s.LastToken, s.Cached, s.Recomputed, s.PreemptedNS)
	}
	return h.Sum64()
}

// The same jobs give the same run, in whatever order they are put on the loop.
func TestRunsRepeatWhateverTheOrderOfPosting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg, jobs := drawConfig(rt), drawJobs(rt)
		run := func(order []int) uint64 {
			l := newLab(t, cfg)
			l.cost = 1_000_000_300 // steps end between nanoseconds
			l.offer(jobs, order)
			l.loop.Run()
			return l.digest()
		}
		first := run(straight(len(jobs)))
		shuffled := rapid.Permutation(straight(len(jobs))).Draw(rt, "order")
		if second := run(shuffled); second != first {
			rt.Fatalf("digest %x, then %x", first, second)
		}
	})
}

// Steps are laid end to end in picoseconds; only their ends are rounded, up, to
// the nanoseconds of the loop.
func TestStepsContinueFromUnroundedPicoseconds(t *testing.T) {
	l := newLab(t, small())
	l.cost = 1_000_400 // 1,000.4 ns
	l.submit(0, 1, 5)
	l.loop.Run()
	want := []string{
		"1 token 1 at 0.001001", "1 token 2 at 0.002001", "1 token 3 at 0.003002",
		"1 token 4 at 0.004002", "1 token 5 at 0.005002", "1 length at 0.005002",
	}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSinksMaySubmitAndAbort(t *testing.T) {
	l := newLab(t, small())
	a := l.submit(0, 4, 3)
	b := l.submit(0, 4, 3)
	again := true
	l.onToken = func(s *Seq) {
		if s == a && s.Output == 2 {
			l.e.Abort(b) // has a row in this step, after a's
			l.e.Abort(a) // amid its own token
		}
	}
	l.onEnd = func(s *Seq) {
		if s == a && again {
			again = false
			s.Reset()
			s.ID, s.Prompt, s.MaxTokens, s.Sink = 9, 2, 1, l
			if err := l.e.Submit(s); err != nil {
				t.Error(err)
			}
		}
	}
	l.loop.Run()
	want := []string{
		"1 token 1 at 1", "2 token 1 at 1",
		"1 token 2 at 2", "2 aborted at 2", "1 aborted at 2",
		"9 token 1 at 3", "9 length at 3",
	}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAbortBeforeTheSchedulerSaw(t *testing.T) {
	cfg := small()
	cfg.FrontEnd = time.Millisecond
	l := newLab(t, cfg)
	a := l.submit(0, 4, 3)
	b := l.submit(0, 4, 1)
	l.at(ms/2, func() { l.e.Abort(a) })
	l.loop.Run()
	want := []string{"1 aborted at 0.5", "2 token 1 at 2", "2 length at 2"}
	if diff := cmp.Diff(want, l.outputs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a.Queued.Known() || b.Queued != ms {
		t.Errorf("queued %v and %v, want never and 1ms", a.Queued, b.Queued)
	}
}
