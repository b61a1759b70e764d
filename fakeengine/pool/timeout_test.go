package pool_test

import (
	"testing"
	"time"

	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// A request that takes 10 ms to its first token and 10 ms for each one after.
// Work that is finished exactly on time counts as finished.
func TestTimeouts(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		ttft, total time.Duration
		late        time.Duration // started this long after its intended time
		cause       target.Cause
		at          time.Duration
		tokens      int
	}{
		"patient":                    {0, 0, 0, target.CauseEOF, 30 * ms, 3},
		"first token just in time":   {10 * ms, 0, 0, target.CauseEOF, 30 * ms, 3},
		"first token late":           {10*ms - 1, 0, 0, target.CauseTTFTTimeout, 10*ms - 1, 0},
		"finished just in time":      {0, 30 * ms, 0, target.CauseEOF, 30 * ms, 3},
		"not finished":               {10 * ms, 25 * ms, 0, target.CauseTotalTimeout, 25 * ms, 2},
		"counted from intended":      {10 * ms, 0, 5 * ms, target.CauseTTFTTimeout, 10 * ms, 0},
		"over before it was started": {10 * ms, 0, 15 * ms, target.CauseTTFTTimeout, 15 * ms, 0},
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 1, "random")
			cfg.TTFTTimeout, cfg.RequestTimeout = c.ttft, c.total
			p := build(t, cfg)
			var r, after recorder
			at(loop, c.late, clock.RankArrival, 0, func() {
				p.Start(request(0, 100, 3), &r)
				if r.has(target.End) {
					t.Error("End came from within Start")
				}
			})
			at(loop, 100*ms, clock.RankArrival, 1, func() {
				req := request(1, 100, 1)
				req.Intended = clock.Time(time.Hour) // only a stale deadline could end it
				p.Start(req, &after)
			})
			loop.Run()
			checkTimeout(t, p, &r, c.cause, c.at, c.tokens)
			if res := after.result(t); res.Cause != target.CauseEOF {
				t.Errorf("the next request got %+v", res)
			}
		})
	}
}

func checkTimeout(t *testing.T, p *pool.Pool, r *recorder, cause target.Cause, at time.Duration, tokens int) {
	t.Helper()
	n := 0
	for _, e := range r.events {
		n += e.N
	}
	end := r.events[len(r.events)-1].At
	if res := r.result(t); res.Cause != cause || end != clock.Time(at) || n != tokens {
		t.Errorf("cause %v at %v after %d tokens, want %v at %v after %d", res.Cause, end, n, cause, at, tokens)
	}
	checkIdle(t, p)
}
