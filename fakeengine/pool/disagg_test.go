package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// slowLink takes 2 ms, and 1 ms for 8 tokens.
var slowLink = disagg.Link{BytesPerToken: 1000, Bandwidth: 8e6, Latency: 2 * time.Millisecond}

// split gives c prefill replicas over slowLink.
func split(tb testing.TB, c *pool.Config, replicas, mostLocal int) {
	tb.Helper()
	p, err := router.New("round-robin", 1)
	if err != nil {
		tb.Fatal(err)
	}
	c.Prefill = &disagg.Config{Replicas: replicas, Policy: p, MaxLocalPrefill: mostLocal, Link: slowLink}
}

// TestEventsOfAHandedOverRequest: the prompt is computed from 6 to 16 ms, the second
// front end takes 1 ms, the link 2 and 5 ms for 40 tokens, and the decode replica
// computes the last token of the prompt from 24 ms on.
func TestEventsOfAHandedOverRequest(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "round-robin:start=1")
	c.Engine.FrontEnd = time.Millisecond
	split(t, &c, 2, 0)
	p := build(t, c)
	var r recorder
	at(loop, 5*time.Millisecond, clock.RankArrival, 0, func() { p.Start(request(7, 40, 3), &r) })
	used := func(when time.Duration, want ...float64) {
		at(loop, when, clock.RankSample, 0, func() {
			var got []float64
			for i := range p.Replicas() {
				got = append(got, 1024*p.Engine(i).Stats().KVUsed)
			}
			if !cmp.Equal(got, want, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })) {
				t.Errorf("%v: %v blocks are in use, want %v", when, got, want)
			}
		})
	}
	used(15*time.Millisecond, 3, 0, 0, 0)
	used(16*time.Millisecond, 3, 0, 0, 0) // held
	used(23*time.Millisecond, 3, 0, 0, 3) // reserved, on the way
	used(24*time.Millisecond, 0, 0, 0, 3)
	loop.Run()

	ms := func(n int64) clock.Time { return clock.Time(n * 1e6) }
	want := []target.Event{
		{At: ms(5), Kind: target.Dispatched},
		{At: ms(5), Kind: target.Writing},
		{At: ms(5), Kind: target.Wrote},
		{At: ms(34), Kind: target.Header, Status: 200},
		{At: ms(34), Kind: target.FirstByte},
		{At: ms(34), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(44), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(54), Kind: target.Token, Content: target.Text, N: 1},
		{At: ms(54), Kind: target.Finished, Reason: "length"},
		{At: ms(54), Kind: target.UsageSeen, Usage: &target.Usage{Prompt: 40, Completion: 3, Cached: 0, Reasoning: target.Unknown}},
		{At: ms(54), Kind: target.Done},
		{At: ms(54), Kind: target.End, Result: &target.Result{
			Cause: target.CauseEOF, Status: 200, BytesIn: target.Unknown, BytesOut: target.Unknown, Replica: "3",
			Server: &target.Server{
				Source: target.SourceInProcess,
				Queue:  7e6, Prefill: 20e6, Decode: 20e6, TTFT: 29e6, E2E: 49e6,
				Spent: target.Spent{Known: true, FrontEnd: 2e6, Prefill: 20e6, Decode: 20e6, Transfer: 7e6},
			},
		}},
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Error(diff)
	}
	s := p.Stats()
	if s.Remote != 1 || s.Local != 0 || s.Moved != (disagg.Moved{Transfers: 1, Tokens: 40, Bytes: 40_000}) {
		t.Errorf("%+v", s)
	}
	checkIdle(t, p)
}

// TestLocalPrefill: the decode replica computes what its cache leaves of a prompt
// if that is short enough.
func TestLocalPrefill(t *testing.T) {
	for name, c := range map[string]struct {
		most, shared, own int
		remote            bool
	}{
		"never":             {0, 0, 1, true},
		"short prompt":      {100, 0, 100, false},
		"a token too long":  {100, 0, 101, true},
		"short with a hit":  {100, 160, 100, false},
		"long with a hit":   {100, 160, 101, true},
		"all of it a hit":   {16, 160, 0, false}, // but the last block
		"less than a block": {15, 160, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 1, "random")
			split(t, &cfg, 1, c.most)
			p := build(t, cfg)
			prompt := func(seq uint64, own int) *target.Request {
				spans := []target.Span{{Key: 1, Tokens: c.shared}, {Key: 100 + seq, Tokens: own, Private: true}}
				return &target.Request{Seq: seq, In: c.shared + own, Out: 2, Prompt: spans}
			}
			var first, second recorder
			p.Start(prompt(1, 5000/16), &first) // fills the decode replica's cache too
			loop.Run()
			before := p.Stats()
			p.Start(prompt(2, c.own), &second)
			loop.Run()
			s := p.Stats()
			if got := s.Remote-before.Remote == 1; got != c.remote || s.Remote+s.Local != 2 {
				t.Errorf("remote %v, want %v: %+v", got, c.remote, s)
			}
			server := second.result(t).Server
			if hit := max(0, min(c.shared, (c.shared+c.own-1)/16*16)); server.CachedTokens != hit {
				t.Errorf("%d tokens cached, want %d", server.CachedTokens, hit)
			}
			if moved := s.Moved.Tokens - before.Moved.Tokens; c.remote && moved != int64(c.shared+c.own-server.CachedTokens) || !c.remote && moved != 0 {
				t.Errorf("KV of %d tokens was moved", moved)
			}
			if (server.Spent.Transfer > 0) != c.remote {
				t.Errorf("%d ns of transfer", server.Spent.Transfer)
			}
			checkIdle(t, p)
		})
	}
}

// TestCancelHandedOver gives a request up at each stage of its way through two
// replicas, by the sender or by his impatience. The stages are those of
// TestEventsOfAHandedOverRequest.
func TestCancelHandedOver(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, c := range map[string]struct {
		at   time.Duration
		want target.Server
	}{
		"in the first front end": {5500 * time.Microsecond, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, CachedTokens: target.Unknown,
			Spent: target.Spent{FrontEnd: ms / 2},
		}},
		"in its prefill": {10 * time.Millisecond, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, Spent: target.Spent{FrontEnd: ms, Prefill: 4 * ms},
		}},
		"in the second front end": {16500 * time.Microsecond, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, Spent: target.Spent{FrontEnd: ms + ms/2, Prefill: 10 * ms},
		}},
		"before the first byte moves": {18 * time.Millisecond, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, Spent: target.Spent{FrontEnd: 2 * ms, Prefill: 10 * ms, Transfer: ms},
		}},
		"amid the transfer": {22 * time.Millisecond, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, Spent: target.Spent{FrontEnd: 2 * ms, Prefill: 10 * ms, Transfer: 5 * ms},
		}},
		"in the last token of the prompt": {30 * time.Millisecond, target.Server{
			Queue: 7 * ms, Prefill: -1, TTFT: -1, Spent: target.Spent{FrontEnd: 2 * ms, Prefill: 16 * ms, Transfer: 7 * ms},
		}},
		"answering": {40 * time.Millisecond, target.Server{
			Queue: 7 * ms, Prefill: 20 * ms, TTFT: 29 * ms, Spent: target.Spent{FrontEnd: 2 * ms, Prefill: 20 * ms, Decode: 6 * ms, Transfer: 7 * ms},
		}},
	} {
		for _, impatient := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, impatient %v", name, impatient), func(t *testing.T) {
				loop := clock.NewVirtual()
				cfg := config(t, loop, 1, "random")
				cfg.Engine.FrontEnd = time.Millisecond
				split(t, &cfg, 1, 0)
				cause := target.CauseCanceled
				if impatient {
					cfg.RequestTimeout, cause = c.at, target.CauseTotalTimeout
				}
				p := build(t, cfg)
				req := request(1, 40, 9)
				var r, after recorder
				at(loop, 5*time.Millisecond, clock.RankArrival, 1, func() { p.Start(req, &r) })
				at(loop, c.at, clock.RankDeadline, 99, func() {
					if !impatient {
						p.Cancel(req)
						p.Cancel(req)
					}
				})
				at(loop, c.at, clock.RankSample, 0, func() {
					checkIdle(t, p)
					next := request(2, 40, 1)
					next.Intended = clock.Time(time.Hour)
					p.Start(next, &after)
				})
				loop.Run()
				c.want.Source, c.want.Decode, c.want.E2E, c.want.Spent.Known = target.SourceInProcess, -1, -1, true
				res := r.result(t)
				if diff := cmp.Diff(&c.want, res.Server); diff != "" || res.Cause != cause || res.Replica != "1" {
					t.Errorf("%+v: %s", res, diff)
				}
				if res := after.result(t); res.Cause != target.CauseEOF {
					t.Errorf("the next request got %+v", res)
				}
				if s := p.Stats(); s.Canceled != 1 || s.Completed != 1 || s.Remote != 2 {
					t.Errorf("%+v", s)
				}
				checkIdle(t, p)
			})
		}
	}
}

func TestRefusalBeforePrefill(t *testing.T) {
	loop := clock.NewVirtual()
	cfg := config(t, loop, 1, "random")
	split(t, &cfg, 1, 0)
	p := build(t, cfg)
	var r recorder
	p.Start(request(1, 4000, 97), &r) // the prefill replica alone would take it
	loop.Run()
	if res := r.result(t); res.Status != 400 || !strings.Contains(res.Err, "4097") {
		t.Errorf("%+v", res)
	}
	if s := p.Stats(); s.Refused != 1 || s.Engines.Steps != 0 {
		t.Errorf("%+v", s)
	}
	checkIdle(t, p)
}

func TestNewSplitErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*disagg.Config)
		says  string
	}{
		"no policy":   {func(c *disagg.Config) { c.Policy = nil }, "policy"},
		"no replicas": {func(c *disagg.Config) { c.Replicas = 0 }, "at least 1"},
		"threshold":   {func(c *disagg.Config) { c.MaxLocalPrefill = -1 }, "local prefill"},
		"bytes":       {func(c *disagg.Config) { c.Link.BytesPerToken = 0 }, "bytes a token"},
		"bandwidth":   {func(c *disagg.Config) { c.Link.Bandwidth = 0 }, "bytes a second"},
		"latency":     {func(c *disagg.Config) { c.Link.Latency = -1 }, "latency"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, clock.NewVirtual(), 2, "random")
			split(t, &cfg, 1, 0)
			c.spoil(cfg.Prefill)
			if _, err := pool.New(cfg); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v does not say %q", err, c.says)
			}
		})
	}
}

// tokenTimes keeps the instants of tokens.
type tokenTimes struct {
	start, first, last clock.Time
	ttft               *[]time.Duration
	gaps               *[]time.Duration
}

func (s *tokenTimes) Event(e target.Event) {
	switch {
	case e.Kind == target.Wrote:
		s.start = e.At
	case e.Kind == target.Token && s.first == 0:
		s.first = e.At
		*s.ttft = append(*s.ttft, e.At.Sub(s.start))
	case e.Kind == target.Token:
		*s.gaps = append(*s.gaps, e.At.Sub(s.last))
	}
	if e.Kind == target.Token {
		s.last = e.At
	}
}

// prefillHeavy is about a 7B model on one GPU: 8 ms for any step, 50 us for each
// token.
type prefillHeavy struct{}

func (prefillHeavy) Step(b *steptime.Batch) int64 { return 8_000_000_000 + 50_000_000*int64(b.Tokens) }

// load plays 400 prompts of 1,500 tokens on four replicas, of which some only compute prompts.
func load(t *testing.T, prefill int) (ttft, gaps []time.Duration) {
	t.Helper()
	loop := clock.NewVirtual()
	c := config(t, loop, 4-prefill, "least-outstanding")
	c.Step, c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks = steptime.Shared(prefillHeavy{}), 256, 1<<15
	if prefill > 0 {
		split(t, &c, prefill, 0)
		c.Prefill.Link = disagg.Link{BytesPerToken: 131_072, Bandwidth: 10e9, Latency: 2 * time.Millisecond} // 20 ms a prompt
	}
	p := build(t, c)
	gapsRand := rng.New(3, "arrivals", 0)
	var when time.Duration
	for i := range 400 {
		when += time.Duration(gapsRand.Exp() * float64(time.Second) / 12)
		r := request(uint64(i), 1500, 100)
		at(loop, when, clock.RankArrival, r.Seq, func() { p.Start(r, &tokenTimes{ttft: &ttft, gaps: &gaps}) })
	}
	loop.Run()
	checkIdle(t, p)
	slices.Sort(ttft)
	slices.Sort(gaps)
	return ttft, gaps
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

// TestDisaggregationTradesTTFTForTPOT: no prompt is computed beside an answer, so
// gaps between tokens have no tail; the first token pays for the link and the
// second step.
func TestDisaggregationTradesTTFTForTPOT(t *testing.T) {
	oneTTFT, oneGaps := load(t, 0)
	twoTTFT, twoGaps := load(t, 2)
	// A step beside a prompt takes 83 ms, one without 8 ms and a bit.
	if p99 := quantile(oneGaps, 0.99); p99 < 75*time.Millisecond {
		t.Errorf("together: the 99th percentile of gaps is %v, a prompt takes 83 ms", p99)
	}
	if p99 := quantile(twoGaps, 0.99); p99 > 13*time.Millisecond {
		t.Errorf("split: the 99th percentile of gaps is %v, want less than 13 ms", p99)
	}
	// Unloaded: 83 ms together, 83 + 22 + 8 ms split.
	if got, want := twoTTFT[0]-oneTTFT[0], 29*time.Millisecond; got < want || got > want+3*time.Millisecond {
		t.Errorf("the fastest first tokens came after %v and %v: want %v between them", oneTTFT[0], twoTTFT[0], want)
	}
	if one, two := quantile(oneTTFT, 0.5), quantile(twoTTFT, 0.5); two < one+20*time.Millisecond {
		t.Errorf("median TTFT %v together and %v split", one, two)
	}
	t.Logf("gaps p50 %v and %v, p99 %v and %v; TTFT p50 %v and %v", quantile(oneGaps, 0.5), quantile(twoGaps, 0.5),
		quantile(oneGaps, 0.99), quantile(twoGaps, 0.99), quantile(oneTTFT, 0.5), quantile(twoTTFT, 0.5))
}
