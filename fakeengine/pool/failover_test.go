package pool_test

import (
	"testing"
	"time"

	"goodput/fakeengine/fault"
	"goodput/loadgen/clock"
)

// A provisioned replica that refuses makes the refused request itself spill over, and a
// weighted draw goes on to others; a pool whose breakers are all open says for how long.
func TestRefusedGoesElsewhere(t *testing.T) {
	refuses := func(replica int, wish time.Duration) fault.Script {
		return fault.Script{{For: time.Hour, Replica: replica, Kind: fault.HTTP, Status: 429, RetryAfter: wish}}
	}
	for _, c := range []struct {
		name, rule string
		faults     fault.Script
		status     []int    // of requests at 0, 1, 2 … s
		replica    []string // that answered
		wish       []time.Duration
	}{
		{"spillover", "ptu-spillover:hold=500ms", refuses(0, 0), []int{200, 200}, []string{"1", "1"}, nil},
		{"spillover refuses, too", "ptu-spillover:hold=500ms", refuses(fault.All, 0), []int{429, 429}, []string{"1", "1"}, nil},
		{"spillover without a hold", "ptu-spillover:hold=0s", refuses(0, 0), []int{200, 200}, []string{"1", "1"}, nil},
		{"failover", "litellm-simple-shuffle:weights=1000/0.001,failover=1", refuses(0, 0), []int{200, 200}, []string{"1", "1"}, nil},
		{"no failover", "litellm-simple-shuffle:weights=1000/0.001", refuses(0, 0), []int{429, 429}, []string{"0", "0"}, nil},
		{
			"breakers", "apim-priority:priorities=1/2,failures=1,trip=10s,retry-after=accept", refuses(fault.All, 30*time.Second),
			[]int{429, 429, 503},
			[]string{"0", "1", ""},
			[]time.Duration{30 * time.Second, 30 * time.Second, 28 * time.Second},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 2, c.rule)
			cfg.Faults = c.faults
			p := build(t, cfg)
			recs := make([]recorder, len(c.status))
			for i := range recs {
				at(loop, time.Duration(i)*time.Second, clock.RankArrival, uint64(i), func() { p.Start(request(uint64(i), 10, 3), &recs[i]) })
			}
			loop.Run()
			for i := range recs {
				r := ended(t, &recs[i])
				if r.Status != c.status[i] || r.Replica != c.replica[i] {
					t.Errorf("request %d got %d from %q, want %d from %q", i, r.Status, r.Replica, c.status[i], c.replica[i])
				}
				if c.wish != nil && time.Duration(r.RetryAfter) != c.wish[i] {
					t.Errorf("request %d is to wait %v, want %v", i, time.Duration(r.RetryAfter), c.wish[i])
				}
			}
			checkIdle(t, p)
		})
	}
}
