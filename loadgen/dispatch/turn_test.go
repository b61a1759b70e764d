package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/target"
)

// TestTurns: a turn lasts from when the user's text is due, or the summary before it,
// to the end before the user is waited for again; tools' time is part of it, and a turn
// with a failure is none.
func TestTurns(t *testing.T) {
	const step = 110 * int64(time.Millisecond) // each request takes so long
	th := steps(0, 200*time.Millisecond, 9*time.Second, 9*time.Second, 0, 300*time.Millisecond)
	for i, by := range []datasets.Trigger{
		datasets.ByUser, datasets.ByTool, datasets.ByUser, datasets.ByCompaction, datasets.ByUser, datasets.ByTool,
	} {
		th.Steps[i].Trigger = by
	}
	set := plans{{ID: 1, Threads: []datasets.Thread{th}}}
	good := script{First: 100 * time.Millisecond, Gap: 10 * time.Millisecond, Tokens: 2}
	for _, c := range []struct {
		name string
		of   func(uint64) script
		want []int64
	}{
		{"all succeed", always(good), []int64{2*step + 200e6, step, 3*step + 300e6}},
		{"the summary fails", func(seq uint64) script {
			s := good
			if seq == 3 {
				s.Cause = target.CauseReset
			}
			return s
		}, []int64{2*step + 200e6, step}},
	} {
		r := playSessions(t, set, 0, c.of, func(cfg *dispatch.Config) { cfg.ContinueOnError = true })
		if diff := cmp.Diff(c.want, r.sessions[0].Turns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
