package cli

import (
	"io"
	"path/filepath"
	"testing"
	"time"

	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
)

// TestLagOfEnginesInProcess: rows of these engines are in the loop's own time, and say
// nothing of lateness. In real time the view shows that of the wall clock; in virtual
// time, and of the rows of a run that is over, a dash.
func TestLagOfEnginesInProcess(t *testing.T) {
	for _, c := range []struct {
		name string
		real bool
	}{{"real time", true}, {"virtual time", false}} {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Default()
			p.Replicas, p.RequestRate, p.NumPrompts, p.Out = 1, 200, 40, filepath.Join(t.TempDir(), "run")
			if c.real {
				p.Speed = 1
			}
			set, sessions, p, err := openLoad(p)
			if err != nil {
				t.Fatal(err)
			}
			env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
			s, err := newSession(&env, p, set, observe.SLO{})
			if err != nil {
				t.Fatal(err)
			}
			var b *board
			s.sessions, s.live = sessions, liveFlags{tui: true, elsewhere: func(x *board) { b = x }}
			if err := s.open(&env); err != nil {
				t.Fatal(err)
			}
			if err := s.run(&env); err != nil {
				t.Fatal(err)
			}
			live, err := b.Picture(monitor.Query{Window: monitor.MaxWindow})
			if err != nil {
				t.Fatal(err)
			}
			// An event fires after its instant, if only by nanoseconds.
			if got := live.Lag.N == 40 && live.Lag.P50 > 0; got != c.real {
				t.Errorf("lag is %+v", live.Lag)
			}
			over, err := openWatch(p.Out, plan.Speed(0))
			if err != nil {
				t.Fatal(err)
			}
			again, err := over.Picture(monitor.Query{Window: time.Minute})
			if err != nil || again.Lag.N != 0 || len(again.Slowest) == 0 || again.Slowest[0].Lag.Known() {
				t.Errorf("%v: replayed, lag is %+v, rows %d", err, again.Lag, len(again.Slowest))
			}
		})
	}
}
