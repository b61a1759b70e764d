package pool_test

import (
	"strings"
	"testing"
	"time"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

func TestPriority(t *testing.T) {
	for name, c := range map[string]struct {
		policy engine.Policy
		want   [3]time.Duration // ends; 0: refused
	}{
		"by priority": {engine.Priority, [3]time.Duration{2 * step, 3 * step, step}},
		"by arrival":  {engine.FCFS, [3]time.Duration{step, 2 * step, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 1, "random")
			cfg.Engine.MaxNumSeqs, cfg.Engine.Policy = 1, c.policy
			p := build(t, cfg)
			var recs [3]recorder
			for i := range recs {
				r := request(uint64(i), 20, 1)
				if i == 2 {
					r.Priority = -1
				}
				p.Start(r, &recs[i])
			}
			loop.Run()
			for i := range recs {
				res := recs[i].result(t)
				end := time.Duration(recs[i].events[len(recs[i].events)-1].At)
				if end != c.want[i] {
					t.Errorf("request %d ended at %v, want %v", i, end, c.want[i])
				}
				if refused := c.want[i] == 0; refused != (res.Status == 400) || refused != strings.Contains(res.Err, "priority is -1") || res.Cause != target.CauseEOF {
					t.Errorf("request %d: %+v", i, res)
				}
			}
			checkIdle(t, p)
		})
	}
}
