package pool_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/fakeengine/autoscale"
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/fakeengine/shaper"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// script is a run to be repeated on any loop: requests, some of which are given
// up, on a pool that is small enough to preempt.
type script struct {
	replicas, blocks, seqs int
	policy                 string
	frontEnd               time.Duration
	step                   steptime.Model
	loras                  int // places for adapters
	host                   engine.Offload
	prefill, mostLocal     int // prefill replicas; 0: none
	link                   disagg.Link
	items                  []item
	inRuns                 bool // sinks take runs of tokens
	every                  bool // engines walk every step
	faults                 fault.Script
	scale                  *autoscale.Config
	shapers                []string
	differ                 bool // replicas have caches of different sizes
}

type item struct {
	at, cancel time.Duration // cancel 0: never
	req        target.Request
}

func drawScript(t *rapid.T) script {
	s := script{
		replicas: rapid.IntRange(1, 4).Draw(t, "replicas"),
		blocks:   rapid.IntRange(12, 40).Draw(t, "blocks"),
		seqs:     rapid.IntRange(1, 6).Draw(t, "seqs"),
		policy:   rapid.SampledFrom(policies()).Draw(t, "policy"),
		frontEnd: rapid.SampledFrom([]time.Duration{0, time.Millisecond, step}).Draw(t, "front end"),
		step:     rapid.SampledFrom([]steptime.Model{flat(step), linear{}}).Draw(t, "step"),
	}
	s.differ = rapid.Bool().Draw(t, "replicas differ")
	s.loras = rapid.IntRange(1, 3).Draw(t, "places for adapters")
	if n := rapid.IntRange(-10, 40).Draw(t, "host blocks"); n > 0 {
		s.host = engine.Offload{Blocks: n, Copy: rapid.SampledFrom([]int64{1, 1e9, 1e10}).Draw(t, "copy")}
	}
	// Names and salts that are alike, to be told apart.
	names := []string{"", "a", "b"}
	if rapid.Bool().Draw(t, "split") {
		s.prefill = rapid.IntRange(1, 3).Draw(t, "prefill")
		s.mostLocal = rapid.SampledFrom([]int{0, 0, 30, 100}).Draw(t, "most local")
		s.link = disagg.Link{
			BytesPerToken: 1000,
			// A prompt takes less than a step, or some.
			Bandwidth: rapid.SampledFrom([]int64{8e6, 333_333, 1e12}).Draw(t, "bandwidth"),
			Latency:   rapid.SampledFrom([]time.Duration{0, step / 2, step}).Draw(t, "latency"),
		}
	}
	if s.prefill == 0 && rapid.Bool().Draw(t, "scaled") {
		s.scale = &autoscale.Config{
			Signal: rapid.SampledFrom([]autoscale.Signal{autoscale.Queue, autoscale.KV}).Draw(t, "signal"),
			Target: rapid.SampledFrom([]float64{0.1, 0.5, 1}).Draw(t, "target"),
			Min:    rapid.IntRange(1, s.replicas).Draw(t, "min"), Max: s.replicas + rapid.IntRange(0, 3).Draw(t, "more"),
			Every: rapid.SampledFrom([]time.Duration{step, 3 * step / 2}).Draw(t, "every"), ColdStart: drawTime(t, "cold start"),
			CoolDown: drawTime(t, "cool down"),
		}
	}
	s.shapers = rapid.SliceOfN(rapid.SampledFrom([]string{
		"vtc:in-flight=2", "vtc:in-flight=1,queue=3,variant=fixed", "priority:in-flight=2,queue=2", "deadline:in-flight=1,queue=5,slo=30ms",
		"token-bucket:rate=100,burst=2", "token-bucket:rate=2000,burst=200,by=tokens,per=tenant,over=wait",
		"session-cap:per=tenant,queue=3", "semantic-cache:hit=0.3,lost-at=50ms,lost-for=50ms",
		"cascade:escalate=0.5,at-once=2", "retry:attempts=3,backoff=10ms", "retry:attempts=2,budget=grpc",
	}), 0, rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "most shapers")).Draw(t, "shapers")
	for i := range rapid.IntRange(1, 25).Draw(t, "requests") {
		it := item{at: drawTime(t, "at"), req: target.Request{
			Seq: uint64(i),
			Out: rapid.IntRange(0, 60).Draw(t, "out"),
			Prompt: []target.Span{
				{Key: rapid.Uint64Range(0, 2).Draw(t, "prefix"), Tokens: rapid.SampledFrom([]int{5, 16, 33, 64}).Draw(t, "shared")},
				{Key: uint64(100 + i), Tokens: rapid.IntRange(1, 120).Draw(t, "private"), Private: true},
			},
		}}
		n := rapid.IntRange(0, 2).Draw(t, "adapter")
		it.req.Adapter = target.Adapter{Name: names[n], Number: uint16(n)}
		it.req.CacheSalt = names[max(0, rapid.IntRange(-2, 2).Draw(t, "salt"))]
		it.req.In = it.req.Prompt[0].Tokens + it.req.Prompt[1].Tokens
		if rapid.IntRange(0, 3).Draw(t, "gives up") == 0 {
			it.cancel = it.at + drawTime(t, "patience")
		}
		s.items = append(s.items, it)
	}
	return s
}

// drawTime draws instants that often fall on each other and on ends of steps.
func drawTime(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.IntRange(0, 40).Draw(t, label)) * step / 2
}

func policies() []string {
	var out []string
	for _, info := range router.Names() {
		out = append(out, info.Name)
	}
	return out
}

// run plays the script; recs[i] hears of item i. done is called when all have
// ended.
func (s script) run(tb testing.TB, loop clock.Loop, recs []recorder, done func()) *pool.Pool {
	cfg := config(tb, loop, s.replicas, s.policy)
	cfg.Engine.NumGPUBlocks, cfg.Engine.MaxNumSeqs = s.blocks, s.seqs
	cfg.Engine.MaxNumBatchedTokens, cfg.Engine.FrontEnd = 64, s.frontEnd
	cfg.Engine.EveryStep = s.every
	if s.loras > 0 {
		cfg.Engine.LoRA = engine.LoRA{MaxLoras: s.loras, MaxCPULoras: s.loras + 1, Load: 1e9, Fetch: 3e9}
	}
	cfg.Scale = s.scale
	for i, text := range s.shapers {
		one, err := shaper.New(text, uint64(i))
		if err != nil {
			tb.Fatal(err)
		}
		cfg.Shapers = append(cfg.Shapers, one)
	}
	if s.differ {
		cfg.Vary = func(i int, c *engine.Config) { c.NumGPUBlocks += 7 * i }
	}
	cfg.Step, cfg.Faults = steptime.Shared(s.step), s.faults
	if s.prefill > 0 {
		split(tb, &cfg, s.prefill, s.mostLocal)
		rule, err := router.New(s.policy, 2)
		if err != nil {
			tb.Fatal(err)
		}
		cfg.Prefill.Policy, cfg.Prefill.Link = rule, s.link
	}
	p := build(tb, cfg)
	left := len(s.items)
	for i := range s.items {
		it := &s.items[i]
		recs[i].then = func(e target.Event) {
			if e.Kind == target.End {
				if left--; left == 0 {
					done()
				}
			}
		}
		at(loop, it.at, clock.RankArrival, uint64(i), func() { p.Start(&it.req, s.sink(&recs[i])) })
		if it.cancel > 0 {
			at(loop, it.cancel, clock.RankDeadline, uint64(i), func() { p.Cancel(&it.req) })
		}
	}
	return p
}

func (s script) sink(r *recorder) target.Sink {
	if s.inRuns {
		return runRecorder{r}
	}
	return r
}

// runRecorder is a recorder that also takes runs.
type runRecorder struct{ *recorder }

var _ target.RunSink = runRecorder{}

func (r runRecorder) Run(at []clock.Time, c target.Content, n int) {
	for _, t := range at {
		r.Event(target.Event{At: t, Kind: target.Token, Content: c, N: n})
	}
}

// sloped is a model with which engines plan ahead.
type sloped struct{ linear }

var _ steptime.Linear = sloped{}

func (sloped) PerContext() int64 { return 1_234_567 }

func (m sloped) Step(b *steptime.Batch) int64 { return m.linear.Step(b) + 1_234_567*b.DecodeCtx }

// TestEveryStepMakesNoDifference: whether engines walk every step shows nowhere,
// neither to the senders nor to policies nor in the totals at any instant.
func TestEveryStepMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		// These keep engines from leaving anything out.
		s.loras, s.host, s.inRuns = 0, engine.Offload{}, true
		s.step = rapid.SampledFrom([]steptime.Model{sloped{}, linear{}}).Draw(rt, "slope")
		s.blocks += rapid.SampledFrom([]int{0, 1000}).Draw(rt, "more blocks")
		for i := range s.items {
			s.items[i].req.Adapter = target.Adapter{}
			s.items[i].req.Out *= rapid.SampledFrom([]int{1, 5}).Draw(rt, "longer")
		}
		looks := rapid.SliceOfN(rapid.IntRange(0, 400), 0, 20).Draw(rt, "looks")
		var logs [2]string
		for i := range logs {
			s.every = i == 0
			recs := make([]recorder, len(s.items))
			loop := clock.NewVirtual()
			p := s.run(t, loop, recs, func() {})
			var seen []string
			for n, x := range looks {
				at(loop, time.Duration(x)*step/2, clock.Rank(n%6), uint64(n%5), func() {
					seen = append(seen, fmt.Sprintf("%v: %+v", loop.Now(), p.Stats()))
				})
			}
			loop.Run()
			logs[i] = fmt.Sprintf("%s%q %+v", log(recs), seen, p.Stats())
		}
		if logs[0] != logs[1] {
			rt.Fatalf("every step:\n%s\nnot every step:\n%s", logs[0], logs[1])
		}
	})
}

// TestRunsAreTheTokensOneByOne: a sink that takes runs sees the same events, in
// the same order.
func TestRunsAreTheTokensOneByOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		var logs [2][]byte
		for i := range logs {
			s.inRuns = i > 0
			recs := make([]recorder, len(s.items))
			loop := clock.NewVirtual()
			s.run(t, loop, recs, func() {})
			loop.Run()
			logs[i] = log(recs)
		}
		if !bytes.Equal(logs[0], logs[1]) {
			rt.Fatalf("one by one:\n%s\nin runs:\n%s", logs[0], logs[1])
		}
	})
}

// TestInvariants plays random scripts and holds each attempt to invariants 1
// (conservation), 2 (causality), 7 (no block is lost) and 8 (each token once).
func TestInvariants(t *testing.T) {
	var preempted, canceled, refused, hits, remote, local, moved int64
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		s.shapers = nil // below, nothing may lie between client and engine
		loop := clock.NewVirtual()
		recs := make([]recorder, len(s.items))
		p := s.run(t, loop, recs, func() {})
		for k := range 200 {
			at(loop, time.Duration(k)*step/4, clock.RankSample, 0, func() { checkConservation(rt, p) })
		}
		loop.Run()
		for i := range recs {
			if err := checkAttempt(&s.items[i], recs[i].events); err != nil {
				rt.Fatalf("request %d: %v\n%s", i, err, log(recs[i:i+1]))
			}
		}
		checkTenants(rt, s.items, recs)
		checkConservation(rt, p)
		checkIdle(t, p)
		st := p.Stats()
		preempted += st.Engines.Preemptions
		hits += st.Engines.PrefixHits
		canceled += int64(st.Canceled)
		refused += int64(st.Refused)
		remote += int64(st.Remote)
		local += int64(st.Local)
		moved += st.Moved.Transfers
	})
	if remote == 0 || local == 0 || moved == 0 || moved == remote {
		t.Errorf("the scripts are too tame: %d prompts were computed elsewhere, %d not, %d moved", remote, local, moved)
	}
	if preempted == 0 || canceled == 0 || refused == 0 || hits == 0 {
		t.Errorf("the scripts are too tame: %d preemptions, %d cancellations, %d refusals, %d tokens hit", preempted, canceled, refused, hits)
	}
}

// checkTenants: who finds cached tokens has the adapter, the salt and the beginning
// of somebody else's prompt who came before.
func checkTenants(t *rapid.T, items []item, recs []recorder) {
	for i := range items {
		r, cached := &items[i].req, 0
		for _, e := range recs[i].events {
			if e.Kind == target.End && e.Result.Server != nil {
				cached = e.Result.Server.CachedTokens
			}
		}
		if cached <= 0 {
			continue
		}
		ok := slices.ContainsFunc(items, func(o item) bool {
			return &o.req != r && o.at <= items[i].at && o.req.Adapter == r.Adapter && o.req.CacheSalt == r.CacheSalt &&
				o.req.Prompt[0].Key == r.Prompt[0].Key && o.req.Prompt[0].Tokens >= cached
		})
		if !ok || cached > r.Prompt[0].Tokens {
			t.Fatalf("request %d of %+v and salt %q found %d tokens that nobody of its own had", i, r.Adapter, r.CacheSalt, cached)
		}
	}
}

// checkConservation: what was started is somewhere, and the router's count is the
// engine's.
func checkConservation(t *rapid.T, p *pool.Pool) {
	s := p.Stats()
	if s.Started != s.Completed+s.Canceled+s.Refused+s.Broken+s.Shed+s.Live {
		t.Fatalf("requests are lost: %+v", s)
	}
	if n := s.Engines.Arriving + s.Engines.Waiting + s.Engines.Running; n != int(s.Live-s.Held) {
		t.Fatalf("%d requests in the engines, %d live, of which shapers hold %d", n, s.Live, s.Held)
	}
	split := s.Remote+s.Local > 0
	answering := 0
	for i := range p.Replicas() {
		e := p.Engine(i).Stats()
		n, out := e.Arriving+e.Waiting+e.Running, p.Load(i).Outstanding
		// A replica that answers is charged for prompts that another one computes.
		if prefill := i < p.First(); n > out || n < out && (prefill || !split) {
			t.Fatalf("replica %d has %d requests, the router believes %d", i, n, out)
		}
		if i >= p.First() {
			answering += out
		}
	}
	if answering != int(s.Live-s.Held) {
		t.Fatalf("%d requests live, %d of them held, the router believes %d", s.Live, s.Held, answering)
	}
}

// checkAttempt checks the order of kinds and instants, and that client and server
// agree: nothing lies between them.
func checkAttempt(it *item, events []target.Event) error {
	if len(events) == 0 || events[len(events)-1].Kind != target.End {
		return fmt.Errorf("no End")
	}
	var wrote, firstToken, lastToken, done clock.Time = clock.Never, clock.Never, clock.Never, clock.Never
	tokens, prev, header := 0, target.Event{At: clock.Time(it.at)}, clock.Never
	var usage *target.Usage
	for i, e := range events {
		if e.At < prev.At {
			return fmt.Errorf("event %d goes back from %v to %v", i, prev.At, e.At)
		}
		if i > 0 && (e.Kind < prev.Kind || e.Kind == prev.Kind && e.Kind != target.Token) {
			return fmt.Errorf("event %d: kind %d after %d", i, e.Kind, prev.Kind)
		}
		switch e.Kind {
		case target.Wrote:
			wrote = e.At
		case target.FirstByte:
			header = e.At
		case target.Token:
			if tokens == 0 {
				firstToken = e.At
			}
			tokens += e.N
			lastToken = e.At
		case target.UsageSeen:
			usage = e.Usage
		case target.Done:
			done = e.At
		}
		prev = e
	}
	r := prev.Result
	switch {
	case r.Cause == target.CauseCanceled:
		if prev.At != clock.Time(it.cancel) || usage != nil || tokens > it.req.Out {
			return fmt.Errorf("canceled at %v with %d tokens", prev.At, tokens)
		}
	case r.Status == 400:
		if prev.At != clock.Time(it.at) || tokens != 0 || r.Err == "" || r.Server != nil {
			return fmt.Errorf("refused at %v: %+v", prev.At, r)
		}
		return nil
	default:
		if r.Status != 200 || tokens != it.req.Out || usage.Completion != tokens || usage.Prompt != it.req.In {
			return fmt.Errorf("%d tokens, usage %+v, status %d", tokens, usage, r.Status)
		}
		if it.cancel > 0 && prev.At > clock.Time(it.cancel) {
			return fmt.Errorf("went on to %v", prev.At)
		}
	}
	if header != firstToken {
		return fmt.Errorf("the response began at %v, its first token came at %v", header, firstToken)
	}
	if most := it.req.Prompt[0].Tokens / 16 * 16; r.Server.CachedTokens > most {
		return fmt.Errorf("%d tokens cached, only %d can be", r.Server.CachedTokens, most)
	}
	parts := &r.Server.Spent
	sum := parts.FrontEnd + parts.Queue + parts.Prefill + parts.Decode + parts.Interference + parts.Transfer + r.Server.Preempted
	if whole := span(wrote, prev.At); sum != whole {
		return fmt.Errorf("it took %d ns, but its parts are %+v and %d preempted", whole, *parts, r.Server.Preempted)
	}
	return checkServer(r.Server, tokens, span(wrote, firstToken), span(wrote, done), span(firstToken, lastToken), done.Known())
}

// checkServer: the time from the write to the first token is the server's TTFT,
// which is made of front end, queue and prefill.
func checkServer(s *target.Server, tokens int, ttft, e2e, decode int64, complete bool) error {
	if s.TTFT != ttft || s.E2E != e2e {
		return fmt.Errorf("client saw TTFT %d and E2E %d, server says %d and %d", ttft, e2e, s.TTFT, s.E2E)
	}
	if complete && (s.Decode != decode || s.TTFT+s.Decode != s.E2E) {
		return fmt.Errorf("decode %d (client: %d), TTFT %d, E2E %d", s.Decode, decode, s.TTFT, s.E2E)
	}
	if tokens > 0 && (s.Queue < 0 || s.Prefill <= 0 || s.Queue+s.Prefill > s.TTFT || s.CachedTokens < 0) {
		return fmt.Errorf("queue %d, prefill %d, TTFT %d, %d cached", s.Queue, s.Prefill, s.TTFT, s.CachedTokens)
	}
	if (s.Preemptions == 0) != (s.Preempted == 0) && complete {
		return fmt.Errorf("%d preemptions of %d ns", s.Preemptions, s.Preempted)
	}
	return nil
}

func span(from, to clock.Time) int64 {
	if !from.Known() || !to.Known() {
		return -1
	}
	return int64(to - from)
}
