package pool_test

import (
	"fmt"
	"testing"

	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// tally counts events and keeps none.
type tally struct{ tokens, ends int }

func (s *tally) Event(e target.Event) {
	s.tokens += e.N
	if e.Kind == target.End {
		s.ends++
	}
}

// Run counts the tokens of a run.
func (s *tally) Run(at []clock.Time, _ target.Content, n int) { s.tokens += n * len(at) }

// burst starts requests that share their first half, and runs until all ended.
type burst struct {
	loop *clock.Virtual
	pool *pool.Pool
	reqs []*target.Request
	sink tally
}

func newBurst(tb testing.TB, policy string, prefill, requests, in, out int) *burst {
	tb.Helper()
	b := &burst{loop: clock.NewVirtual()}
	c := config(tb, b.loop, 4, policy)
	if prefill > 0 {
		split(tb, &c, prefill, 0)
	}
	c.Engine.NumGPUBlocks, c.Engine.MaxNumSeqs = 1<<14, 64
	b.pool = build(tb, c)
	for i := range requests {
		b.reqs = append(b.reqs, &target.Request{
			Seq: uint64(i), In: in, Out: out,
			Prompt: []target.Span{{Key: uint64(i % 4), Tokens: in / 2}, {Key: uint64(100 + i), Tokens: in - in/2, Private: true}},
		})
	}
	return b
}

func (b *burst) run() {
	for _, r := range b.reqs {
		b.pool.Start(r, &b.sink)
	}
	b.loop.Run()
}

// TestAllocatesNothing: in the steady state neither a request nor a token costs
// an allocation.
func TestAllocatesNothing(t *testing.T) {
	for _, info := range router.Names() {
		t.Run(info.Name, func(t *testing.T) {
			b := newBurst(t, info.Name, 0, 40, 128, 20)
			for range 300 { // every list and table has grown to its largest
				b.run()
			}
			runs := 0
			b.sink = tally{}
			if n := testing.AllocsPerRun(20, func() { b.run(); runs++ }); n != 0 {
				t.Errorf("%v allocations per %d requests", n, len(b.reqs))
			}
			if b.sink.ends != 40*runs || b.sink.tokens != 20*b.sink.ends {
				t.Errorf("%d tokens and %d ends in %d runs", b.sink.tokens, b.sink.ends, runs)
			}
		})
	}
	t.Run("handed over", func(t *testing.T) {
		b := newBurst(t, "p2c", 2, 40, 128, 20)
		for range 300 {
			b.run()
		}
		if n := testing.AllocsPerRun(20, b.run); n != 0 {
			t.Errorf("%v allocations per %d requests", n, len(b.reqs))
		}
	})
	t.Run("refused and canceled", func(t *testing.T) {
		b := newBurst(t, "random", 0, 10, 128, 20)
		long := request(99, 5000, 1)
		run := func() {
			for _, r := range b.reqs {
				b.pool.Start(r, &b.sink)
			}
			for _, r := range b.reqs {
				b.pool.Cancel(r)
			}
			b.loop.Run()
		}
		run()
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%v allocations per %d cancellations", n, len(b.reqs))
		}
		// The text of a refusal is made for it; nothing else is.
		refuse := func() { b.pool.Start(long, &b.sink); b.loop.Run() }
		refuse()
		if n := testing.AllocsPerRun(20, refuse); n > 8 { // of fmt, whose pool of buffers is at times empty
			t.Errorf("%v allocations per refusal", n)
		}
	})
}

// BenchmarkPool runs bursts of 256 requests on four replicas; ns/request and
// ns/token are what the whole simulation costs.
func BenchmarkPool(b *testing.B) {
	for _, shape := range []struct{ in, out int }{{512, 1}, {512, 128}} {
		b.Run(fmt.Sprintf("in=%d,out=%d", shape.in, shape.out), func(b *testing.B) {
			w := newBurst(b, "least-outstanding", 0, 256, shape.in, shape.out)
			w.run()
			w.sink = tally{}
			b.ReportAllocs()
			for b.Loop() {
				w.run()
			}
			ns := float64(b.Elapsed().Nanoseconds())
			b.ReportMetric(ns/float64(w.sink.ends), "ns/request")
			b.ReportMetric(ns/float64(w.sink.tokens), "ns/token")
		})
	}
}
