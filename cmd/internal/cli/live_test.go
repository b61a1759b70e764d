package cli

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
)

// TestShardInTitle: who watches one of several processes that share a load is told.
func TestShardInTitle(t *testing.T) {
	p := plan.Default()
	if got := aboutRun(&p, observe.SLO{}, "http://x").Title; got != "http://x" {
		t.Errorf("whole load: %q", got)
	}
	p.Shard = "1/3"
	if got := aboutRun(&p, observe.SLO{}, "http://x").Title; !strings.HasPrefix(got, "shard 1/3 of the load") || !strings.HasSuffix(got, "http://x") {
		t.Errorf("a shard: %q", got)
	}
}

// ages keeps how old the router's signals were at each look, by instant.
type ages struct {
	board *board
	loop  clock.Loop
	seen  map[time.Duration][]monitor.Nanos
}

func (*ages) Entity() uint64 { return 1 }

func (a *ages) Fire(now clock.Time) {
	if p, err := a.board.Picture(monitor.Query{Window: time.Minute}); err == nil {
		for _, r := range p.Replicas {
			a.seen[time.Duration(now)] = append(a.seen[time.Duration(now)], r.Stale)
		}
	}
	a.loop.At(now.Add(time.Second), clock.RankSample, a)
}

// TestStaleSignals: the age of what a router knows of replicas is the time since it read
// them, and unknown of a rule that reads nothing.
func TestStaleSignals(t *testing.T) {
	for _, c := range []struct {
		router string
		reads  bool
	}{{"least-reported", true}, {"kv-queue", true}, {"round-robin", false}} {
		t.Run(c.router, func(t *testing.T) {
			p := plan.Default()
			p.Replicas, p.RequestRate, p.NumPrompts, p.Router, p.Out = 2, 20, 300, c.router, filepath.Join(t.TempDir(), "run")
			if c.reads {
				p.Scrape = 4 * time.Second
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
			a := &ages{loop: s.loop, seen: map[time.Duration][]monitor.Nanos{}}
			s.sessions, s.live = sessions, liveFlags{tui: true, elsewhere: func(b *board) { a.board = b }}
			if err := s.open(&env); err != nil {
				t.Fatal(err)
			}
			s.loop.At(clock.Time(4500*time.Millisecond), clock.RankSample, a)
			if err := s.run(&env); err != nil {
				t.Fatal(err)
			}
			for at, want := range map[time.Duration]monitor.Nanos{
				4500 * time.Millisecond: 500e6, 5500 * time.Millisecond: 1500e6, 7500 * time.Millisecond: 3500e6, 8500 * time.Millisecond: 500e6,
			} {
				if !c.reads {
					want = monitor.Unknown
				}
				got := a.seen[at]
				if len(got) != 2 {
					t.Fatalf("at %v: %d replicas", at, len(got))
				}
				for i, v := range got {
					if v != want {
						t.Errorf("at %v: what is known of replica %d is %v old, want %v", at, i, time.Duration(v), time.Duration(want))
					}
				}
			}
		})
	}
}
