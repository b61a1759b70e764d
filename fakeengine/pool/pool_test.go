package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// flat is a model in which each step takes the same time.
type flat time.Duration

var _ steptime.Model = flat(0)

func (f flat) Step(*steptime.Batch) int64 { return int64(f) * 1000 }

const step = 10 * time.Millisecond

// linear makes steps longer with their tokens, by amounts that are no whole
// numbers of nanoseconds.
type linear struct{}

var _ steptime.Model = linear{}

func (linear) Step(b *steptime.Batch) int64 { return 3_333_333_333 + 12_345*int64(b.Tokens) }

// config is a small pool; 1024 blocks of 16 tokens per replica.
func config(tb testing.TB, loop clock.Loop, replicas int, policy string) pool.Config {
	tb.Helper()
	p, err := router.New(policy, 1)
	if err != nil {
		tb.Fatal(err)
	}
	return pool.Config{
		Replicas: replicas,
		Engine: engine.Config{
			MaxNumSeqs: 8, MaxNumBatchedTokens: 2048, MaxModelLen: 4096, BlockSize: 16, NumGPUBlocks: 1025,
			PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
		},
		Step: steptime.Shared(flat(step)), Policy: p, Loop: loop,
	}
}

func build(tb testing.TB, c pool.Config) *pool.Pool {
	tb.Helper()
	p, err := pool.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// call is an event that runs a function.
type call struct {
	id uint64
	f  func()
}

func (c call) Fire(clock.Time) { c.f() }
func (c call) Entity() uint64  { return c.id }

func at(loop clock.Loop, t time.Duration, r clock.Rank, id uint64, f func()) {
	loop.At(clock.Time(t), r, call{id, f})
}

// recorder keeps the events of one attempt, with all that they point to.
type recorder struct {
	events []target.Event
	then   func(e target.Event) // called with each event, if set
}

func (r *recorder) Event(e target.Event) {
	if r.then != nil {
		defer r.then(e)
	}
	if e.Usage != nil {
		u := *e.Usage
		e.Usage = &u
	}
	if e.Result != nil {
		res := *e.Result
		if res.Server != nil {
			s := *res.Server
			res.Server = &s
		}
		e.Result = &res
	}
	r.events = append(r.events, e)
}

// result is the result of the attempt, which must have ended.
func (r *recorder) result(tb testing.TB) target.Result {
	tb.Helper()
	if len(r.events) == 0 || r.events[len(r.events)-1].Kind != target.End {
		tb.Fatalf("no End after %d events", len(r.events))
	}
	return *r.events[len(r.events)-1].Result
}

func (r *recorder) has(k target.Kind) bool {
	return slices.ContainsFunc(r.events, func(e target.Event) bool { return e.Kind == k })
}

// request asks for out tokens after a prompt of private content.
func request(seq uint64, in, out int) *target.Request {
	return &target.Request{
		Seq: seq, In: in, Out: out,
		Prompt: []target.Span{{Key: 1000 + seq, Tokens: in, Private: true}},
	}
}

// checkIdle fails unless the pool holds nothing any more.
func checkIdle(tb testing.TB, p *pool.Pool) {
	tb.Helper()
	s := p.Stats()
	if s.Live != 0 || s.Engines.Arriving+s.Engines.Waiting+s.Engines.Running != 0 || s.Engines.KVUsed != 0 {
		tb.Errorf("the pool is not idle: %+v", s)
	}
	if s.Started != s.Completed+s.Canceled+s.Refused+s.Broken+s.Shed || s.Held != 0 {
		tb.Errorf("%d started, but %d completed + %d canceled + %d refused", s.Started, s.Completed, s.Canceled, s.Refused)
	}
	for i := range p.Replicas() {
		if l := p.Load(i); l.Outstanding != 0 || l.Tokens != 0 {
			tb.Errorf("replica %d: the router believes that %d requests of %d tokens are out", i, l.Outstanding, l.Tokens)
		}
	}
}

func TestEventsOfOneRequest(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "round-robin:start=1")
	c.Engine.FrontEnd = time.Millisecond
	p := build(t, c)
	var r recorder
	at(loop, 5*time.Millisecond, clock.RankArrival, 0, func() { p.Start(request(7, 40, 3), &r) })
	loop.Run()

	ms := func(n int64) clock.Time { return clock.Time(n * 1e6) }
	want := []target.Event{
		{At: ms(5), Kind: target.Dispatched},
		{At: ms(5), Kind: target.Writing},
		{At: ms(5), Kind: target.Wrote},
		{At: ms(16), Kind: target.Header, Status: 200},
		{At: ms(16), Kind: target.FirstByte},
		{At: ms(16), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(26), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(36), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(36), Kind: target.Finished, Reason: "length"},
		{At: ms(36), Kind: target.UsageSeen, Usage: &target.Usage{Prompt: 40, Completion: 3, Cached: 0, Reasoning: target.Unknown}},
		{At: ms(36), Kind: target.Done},
		{At: ms(36), Kind: target.End, Result: &target.Result{
			Cause: target.CauseEOF, Status: 200, BytesIn: target.Unknown, BytesOut: target.Unknown, Replica: "1",
			Server: &target.Server{
				Source: target.SourceInProcess,
				Queue:  0, Prefill: 10e6, Decode: 20e6, TTFT: 11e6, E2E: 31e6,
				Spent: target.Spent{Known: true, FrontEnd: 1e6, Prefill: 10e6, Decode: 20e6},
			},
		}},
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Error(diff)
	}
	checkIdle(t, p)
}

func TestRoundRobinCounts(t *testing.T) {
	loop := clock.NewVirtual()
	p := build(t, config(t, loop, 4, "round-robin"))
	recs := make([]recorder, 42)
	for i := range recs {
		at(loop, time.Duration(i)*3*time.Millisecond, clock.RankArrival, uint64(i), func() {
			p.Start(request(uint64(i), 20, 1+i%5), &recs[i])
		})
	}
	loop.Run()
	for i := range recs {
		if got, want := recs[i].result(t).Replica, fmt.Sprint(i%4); got != want {
			t.Errorf("request %d went to replica %s, want %s", i, got, want)
		}
	}
	for i, want := range []int64{11, 11, 10, 10} {
		if got := p.Engine(i).Stats().Finished; got != want {
			t.Errorf("replica %d finished %d, want %d", i, got, want)
		}
	}
	checkIdle(t, p)
}

// TestClosedLoop starts the next request from within the End of the one before.
func TestClosedLoop(t *testing.T) {
	loop := clock.NewVirtual()
	p := build(t, config(t, loop, 2, "least-outstanding"))
	const clients, each = 5, 20
	ended := 0
	var next func(n int) func(target.Event)
	next = func(n int) func(target.Event) {
		return func(e target.Event) {
			if e.Kind != target.End {
				return
			}
			ended++
			if n > 1 {
				// The result stays what it was while the next request starts.
				before := *e.Result
				p.Start(request(0, 5000, 1), &recorder{}) // is refused
				p.Start(request(uint64(ended), 33, 1+n%3), &recorder{then: next(n - 1)})
				if diff := cmp.Diff(before, *e.Result); diff != "" {
					t.Error(diff)
				}
			}
		}
	}
	for i := range clients {
		p.Start(request(uint64(i), 33, 2), &recorder{then: next(each)})
	}
	loop.Run()
	if ended != clients*each {
		t.Errorf("%d ended, want %d", ended, clients*each)
	}
	checkIdle(t, p)
}

func TestRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		in, out int
		says    string
	}{
		"longer than the model's context": {4000, 97, "4097"},
		"no prompt":                       {0, 5, "prompt of 0 tokens"},
		"no output":                       {10, 0, "max_tokens is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			p := build(t, config(t, loop, 1, "random"))
			var r, after recorder
			at(loop, step, clock.RankArrival, 0, func() {
				req := request(0, c.in, c.out)
				p.Start(req, &r)
				if r.has(target.End) {
					t.Error("End came from within Start")
				}
				p.Cancel(req) // too late: it has been refused
			})
			at(loop, step, clock.RankStep, 0, func() {
				if !r.has(target.End) {
					t.Error("End did not come at once")
				}
			})
			at(loop, 3*step, clock.RankArrival, 1, func() { p.Start(request(1, 10, 1), &after) })
			loop.Run()

			res := r.result(t)
			if res.Cause != target.CauseEOF || res.Status != 400 || !strings.Contains(res.Err, c.says) {
				t.Errorf("got %+v, want status 400 and %q", res, c.says)
			}
			if res.Server != nil {
				t.Errorf("an account of what was not served: %+v", res.Server)
			}
			var kinds []target.Kind
			for _, e := range r.events {
				kinds = append(kinds, e.Kind)
				if e.At != clock.Time(step) {
					t.Errorf("event %d at %v, want %v", e.Kind, e.At, step)
				}
			}
			want := []target.Kind{target.Dispatched, target.Writing, target.Wrote, target.Header, target.FirstByte, target.End}
			if diff := cmp.Diff(want, kinds); diff != "" {
				t.Error(diff)
			}
			if res := after.result(t); res.Status != 200 || res.Err != "" {
				t.Errorf("the next request got %+v", res)
			}
			if s := p.Stats(); s.Refused != 1 || s.Completed != 1 {
				t.Errorf("%d refused and %d completed, want 1 and 1", s.Refused, s.Completed)
			}
			checkIdle(t, p)
		})
	}
}

// A rule that has no place for a request has it refused, as a router would.
func TestRouterRefuses(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "litellm-usage:tpm=100")
	p := build(t, c)
	var r, after recorder
	at(loop, step, clock.RankArrival, 0, func() { p.Start(request(0, 101, 1), &r) })
	at(loop, step, clock.RankArrival, 1, func() { p.Start(request(1, 99, 1), &after) })
	loop.Run()
	if res := r.result(t); res.Status != 503 || !strings.Contains(res.Err, "no replica") || res.Replica != "" {
		t.Errorf("got %+v, want status 503", res)
	}
	if res := after.result(t); res.Status != 200 {
		t.Errorf("the next request got %+v", res)
	}
	if s := p.Stats(); s.Broken != 1 || s.Completed != 1 {
		t.Errorf("%d broken and %d completed, want 1 and 1", s.Broken, s.Completed)
	}
	checkIdle(t, p)
}

func TestNewErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*pool.Config)
		says  string
	}{
		"no loop":     {func(c *pool.Config) { c.Loop = nil }, "loop"},
		"no policy":   {func(c *pool.Config) { c.Policy = nil }, "policy"},
		"no replicas": {func(c *pool.Config) { c.Replicas = 0 }, "at least 1"},
		"no model":    {func(c *pool.Config) { c.Step = nil }, "step-time model"},
		"bad engine":  {func(c *pool.Config) { c.Engine.MaxNumSeqs = 0 }, "MaxNumSeqs"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, clock.NewVirtual(), 2, "random")
			c.spoil(&cfg)
			if _, err := pool.New(cfg); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not say %q", err, c.says)
			}
		})
	}
}

// nosy is a policy that reads all signals and keeps what it saw.
type nosy struct {
	up     []router.Load
	prefix []uint64
}

func (*nosy) Reads() router.Signals { return router.EngineLoad | router.PrefixHashes }
func (*nosy) String() string        { return "nosy" }
func (n *nosy) Pick(r *router.Request, up []router.Load) int {
	n.up, n.prefix = slices.Clone(up), slices.Clone(r.Prefix)
	return len(up) - 1
}

// TestSignals: a policy that reads signals gets those of the instant, and prefix
// hashes even if no engine wants them.
func TestSignals(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "random")
	n := &nosy{}
	c.Policy, c.Engine.PrefixCaching, c.Engine.MaxNumSeqs = n, false, 2
	p := build(t, c)
	for i := range 3 { // one more than runs at once
		at(loop, 0, clock.RankArrival, uint64(i), func() { p.Start(request(uint64(i), 160, 10), &recorder{}) })
	}
	last := request(3, 100, 1)
	at(loop, 15*time.Millisecond, clock.RankArrival, 3, func() { p.Start(last, &recorder{}) })
	loop.Run()

	// Two prompts of 10 blocks with one token each behind them.
	want := []router.Load{
		{AsOf: clock.Time(15 * time.Millisecond)},
		{ID: 1, Answering: 2, Outstanding: 3, Tokens: 480, Waiting: 1, Running: 2, KVUsed: 22.0 / 1024, AsOf: clock.Time(15 * time.Millisecond)},
	}
	if diff := cmp.Diff(want, n.up, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(last.PrefixHashes(nil, 16), n.prefix); diff != "" || len(n.prefix) != 6 {
		t.Errorf("prefix of %d hashes: %s", len(n.prefix), diff)
	}
	checkIdle(t, p)
}
