package pool_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// TestCancel gives a request up at each stage of its life. Another request runs
// in the only slot until 61 ms; the one under test starts at 5 ms and is seen by
// the scheduler at the end of a step, at 11 ms.
func TestCancel(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, c := range map[string]struct {
		at     time.Duration
		status int
		tokens int
		want   target.Server
	}{
		"in the front end": {5500 * time.Microsecond, 0, 0, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, CachedTokens: target.Unknown,
			Spent: target.Spent{FrontEnd: 500_000},
		}},
		"queued": {40 * time.Millisecond, 0, 0, target.Server{
			Queue: -1, Prefill: -1, TTFT: -1, CachedTokens: target.Unknown,
			Spent: target.Spent{FrontEnd: ms, Queue: 34 * ms},
		}},
		"in its first step": {65 * time.Millisecond, 0, 0, target.Server{
			Queue: 50 * ms, Prefill: -1, TTFT: -1, CachedTokens: 0,
			Spent: target.Spent{FrontEnd: ms, Queue: 55 * ms, Prefill: 4 * ms},
		}},
		"answering": {85 * time.Millisecond, 200, 2, target.Server{
			Queue: 50 * ms, Prefill: 10 * ms, TTFT: 66 * ms, CachedTokens: 0,
			Spent: target.Spent{FrontEnd: ms, Queue: 55 * ms, Prefill: 10 * ms, Decode: 14 * ms},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, first, r, after := playCancel(t, c.at)
			c.want.Spent.Known = true
			c.want.Source, c.want.Decode, c.want.E2E = target.SourceInProcess, -1, -1
			want := target.Result{
				Cause: target.CauseCanceled, Status: c.status, Replica: "0", Server: &c.want,
				BytesIn: target.Unknown, BytesOut: target.Unknown,
			}
			if diff := cmp.Diff(want, r.result(t)); diff != "" {
				t.Error(diff)
			}
			tokens := 0
			for _, e := range r.events {
				tokens += e.N
			}
			if tokens != c.tokens {
				t.Errorf("%d tokens, want %d", tokens, c.tokens)
			}
			if got := r.events[len(r.events)-1].At; got != clock.Time(c.at) {
				t.Errorf("End at %v, want %v", got, c.at)
			}
			for i, o := range []*recorder{first, after} {
				if res := o.result(t); res.Cause != target.CauseEOF {
					t.Errorf("bystander %d got %+v", i, res)
				}
			}
			if s := p.Stats(); s.Canceled != 1 || s.Completed != 2 || s.Engines.Aborted != 1 {
				t.Errorf("got %+v", s)
			}
			checkIdle(t, p)
		})
	}
}

// playCancel runs the story of TestCancel, and a third request after it.
func playCancel(t *testing.T, when time.Duration) (p *pool.Pool, first, r, after *recorder) {
	t.Helper()
	loop := clock.NewVirtual()
	cfg := config(t, loop, 1, "random")
	cfg.Engine.MaxNumSeqs, cfg.Engine.FrontEnd = 1, time.Millisecond
	p = build(t, cfg)
	first, r, after = new(recorder), new(recorder), new(recorder)
	req := request(1, 100, 50)
	at(loop, 0, clock.RankArrival, 0, func() { p.Start(request(0, 100, 6), first) })
	at(loop, 5*time.Millisecond, clock.RankArrival, 1, func() { p.Start(req, r) })
	at(loop, when, clock.RankDeadline, 1, func() {
		p.Cancel(req)
		if r.has(target.End) {
			t.Error("End came from within Cancel")
		}
		p.Cancel(req) // a second time changes nothing
	})
	at(loop, 200*time.Millisecond, clock.RankArrival, 2, func() {
		if s := p.Stats(); s.Live != 0 || s.Engines.KVUsed != 0 {
			t.Errorf("after the cancellation: %+v", s)
		}
		p.Cancel(req) // it is over
		p.Start(request(2, 100, 1), after)
	})
	loop.Run()
	return p, first, r, after
}

// TestCancelFromWithin gives a request up from within its own events, and its
// neighbour too.
func TestCancelFromWithin(t *testing.T) {
	for name, kind := range map[string]target.Kind{
		"at the header": target.Header, "at a token": target.Token,
		"at the finish reason": target.Finished, "at the end": target.End,
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			p := build(t, config(t, loop, 1, "random"))
			a, b := request(0, 10, 3), request(1, 10, 3)
			var ra, rb recorder
			ra.then = func(e target.Event) {
				if e.Kind == kind {
					p.Cancel(a)
					p.Cancel(b)
				}
			}
			p.Start(a, &ra)
			p.Start(b, &rb)
			loop.Run()
			wantA := target.CauseCanceled
			if kind == target.Finished || kind == target.End {
				wantA = target.CauseEOF // it had ended before
			}
			if got := ra.result(t).Cause; got != wantA {
				t.Errorf("cause %d, want %d", got, wantA)
			}
			if got := rb.result(t).Cause; got != target.CauseCanceled {
				t.Errorf("the neighbour's cause is %d, want %d", got, target.CauseCanceled)
			}
			for _, r := range []*recorder{&ra, &rb} {
				ends := 0
				for _, e := range r.events {
					if e.Kind == target.End {
						ends++
					}
				}
				if ends != 1 {
					t.Errorf("%d Ends", ends)
				}
			}
			checkIdle(t, p)
		})
	}
}
