package pool_test

import (
	"testing"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// TestReplicasDiffer: each replica has its own cache and steps, and results name it.
func TestReplicasDiffer(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "round-robin")
	c.Engine.NumGPUBlocks = 40
	c.Vary = func(i int, c *engine.Config) { c.NumGPUBlocks, c.ID = 40-30*i, 77 }
	c.Name = func(i int) string { return []string{"big", "small"}[i] }
	c.Step = func(i int) steptime.Model { return flat(step * time.Duration(1+i)) }
	p := build(t, c)
	recs := make([]recorder, 4)
	for i := range recs {
		n := 100
		if i == 3 {
			n = 300 // more than the small one has blocks for
		}
		p.Start(request(uint64(i), n, 10), &recs[i])
	}
	loop.Run()
	checkIdle(t, p)
	for i, want := range []string{"big", "small", "big", "small"} {
		if r := recs[i].result(t); r.Replica != want || p.Name(i%2) != want {
			t.Errorf("request %d: replica %q, want %q", i, r.Replica, want)
		}
	}
	if got := recs[3].result(t); got.Status != 400 || got.Cause != target.CauseEOF {
		t.Errorf("a prompt that the small replica can't hold: status %d", got.Status)
	}
	fast, slow := recs[0].result(t).Server.E2E, recs[1].result(t).Server.E2E
	if fast <= 0 || slow != 2*fast {
		t.Errorf("ten tokens take %d and %d ns, want twice as long on the second replica", fast, slow)
	}
}
