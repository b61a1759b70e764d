package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// four are sessions of one step each.
func four() plans {
	var out plans
	for i := range 4 {
		out = append(out, datasets.Session{ID: uint64(i) + 1, Threads: []datasets.Thread{steps(0)}})
	}
	return out
}

var tenth = script{First: 100 * time.Millisecond, Tokens: 1}

// told writes sessions as number, outcome, wait for a place, and end, in ms.
func told(all []record.Session) []string {
	var out []string
	for _, s := range all {
		text := fmt.Sprintf("%s %s %d", s.SessionID, s.Outcome, s.Queued/1e6)
		if s.Ended.Known() {
			text += fmt.Sprintf(" %d", s.Ended/ms)
		}
		out = append(out, text)
	}
	return out
}

// Sessions beyond the bound of live ones wait, and that is neither lag nor forgotten; or
// they are dropped, and that has a row.
func TestBoundOfLiveSessions(t *testing.T) {
	for _, c := range []struct {
		name string
		drop bool
		want []string
	}{
		{"queue", false, []string{"1 completed 0 100", "2 completed 90 200", "3 completed 180 300", "4 completed 270 400"}},
		{"drop", true, []string{"2 dropped 0", "3 dropped 0", "4 dropped 0", "1 completed 0 100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := playSessions(t, four(), 10*ms, always(tenth), func(cfg *dispatch.Config) { cfg.MaxSessions, cfg.DropSessions = 1, c.drop })
			if diff := cmp.Diff(c.want, told(r.sessions)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, row := range r.rows {
				if row.Lag() != 0 || row.ClientQueue() < 0 || row.TTFT() != row.ClientQueue()+100e6 {
					t.Errorf("session %s: a lag of %d, queued for %d, ttft %d", row.SessionID, row.Lag(), row.ClientQueue(), row.TTFT())
				}
			}
			if n := r.SessionCounts(); n.Scheduled != 4 || n.Outcomes[record.SessionDropped] != int64(4-len(r.rows)) || n.StepsUnsent != int64(4-len(r.rows)) {
				t.Errorf("%+v with %d rows", n, len(r.rows))
			}
			for _, s := range r.sessions {
				if s.SCT != record.Null && s.SCT != s.ModelTime+s.Queued {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// Sessions that have not got a place when the drain ends are censored.
func TestWaitingSessionsAreCensored(t *testing.T) {
	r := playSessions(t, four(), 10*ms, always(script{Hang: true}), func(cfg *dispatch.Config) {
		cfg.MaxSessions, cfg.Drain = 3, 50*time.Millisecond
	})
	want := []string{"4 censored 50", "1 censored 0 80", "2 censored 0 80", "3 censored 0 80"}
	if diff := cmp.Diff(want, told(r.sessions)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// In a closed loop a session starts where one ends, until there are none or the time is
// up.
func TestClosedLoopOfSessions(t *testing.T) {
	for _, c := range []struct {
		until clock.Time
		want  []string
	}{
		{0, []string{"1 completed 0 100", "2 completed 0 100", "3 completed 0 200", "4 completed 0 200"}},
		{90 * ms, []string{"1 completed 0 100", "2 completed 0 100"}},
	} {
		r := playSessions(t, four(), 0, always(tenth), func(cfg *dispatch.Config) {
			cfg.Source, cfg.Concurrent, cfg.Until = nil, 2, c.until
		})
		if diff := cmp.Diff(c.want, told(r.sessions)); diff != "" {
			t.Errorf("until %v (-want +got):\n%s", c.until, diff)
		}
		if len(r.finished) != 1 {
			t.Errorf("finished %v", r.finished)
		}
	}
}

// Of a session that began before the run, the first step of each thread is warm-up, and
// its times are unknown.
func TestSessionsUnderway(t *testing.T) {
	main, child := steps(0, 0), steps(0)
	main.First, child.Parent, child.Join = 3, 0, 0
	set := plans{{ID: 1, Underway: true, Threads: []datasets.Thread{main, child}}}
	r := playSessions(t, set, 0, always(tenth), nil)
	var got []string
	for _, row := range r.rows {
		got = append(got, fmt.Sprintf("%s.%d %s at %d", row.Thread, row.Turn, row.Phase, row.Intended/ms))
	}
	if diff := cmp.Diff([]string{"1.0 warmup at 0", "main.3 warmup at 100", "main.4 measure at 200"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s := r.sessions[0]; !s.Underway || s.Outcome != record.SessionCompleted || s.SCT != record.Null || s.StepsPlanned != 3 {
		t.Errorf("%+v", s)
	}
	if sent, failed := r.Warmups(); sent != 2 || failed != 0 {
		t.Errorf("%d sent, %d failed", sent, failed)
	}
}

func TestClosedLoopRefuses(t *testing.T) {
	l := clock.NewVirtual()
	for name, edit := range map[string]func(*dispatch.Config){
		"a schedule": func(c *dispatch.Config) { c.Source = every(1, 1) },
		"a bound":    func(c *dispatch.Config) { c.MaxSessions = 1 },
		"requests":   func(c *dispatch.Config) { c.Sessions, c.Set = nil, items(1) },
		"negative":   func(c *dispatch.Config) { c.Until = -1 },
	} {
		c := dispatch.Config{Loop: l, Sessions: four(), Concurrent: 2, Target: target.Target(newFake(l, always(quick))), Record: func(*record.Request) {}, Finished: func() {}}
		if _, err := dispatch.New(c); err != nil {
			t.Fatal(err)
		}
		edit(&c)
		if _, err := dispatch.New(c); err == nil {
			t.Errorf("a closed loop with %s was accepted", name)
		}
	}
}
