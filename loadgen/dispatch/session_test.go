package dispatch_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/agent"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// plans is a set of plans that are written out.
type plans []datasets.Session

func (p plans) Sessions() int                        { return len(p) }
func (p plans) Session(i int, dst *datasets.Session) { *dst = p[i] }

// steps is a thread of the main agent with steps of these waits.
func steps(waits ...time.Duration) datasets.Thread {
	t := datasets.Thread{Parent: -1, Spawn: -1, Join: -1}
	kept := 0
	for i, w := range waits {
		key := uint64(i + 1)
		t.Steps = append(t.Steps, datasets.Step{
			Keep: kept, Append: []datasets.Span{{Key: key, Tokens: 10}}, In: kept + 10, Out: 2, OutKey: 100 + key, Wait: w,
		})
		kept += 12
	}
	return t
}

// sessionRun is a run of sessions with what came out of it.
type sessionRun struct {
	*run
	sessions []record.Session
	prompts  map[string]string // by session, thread and turn
}

// playSessions runs the set with an arrival every gap on a virtual loop.
func playSessions(t testing.TB, set datasets.SessionSet, gap clock.Time, of func(uint64) script, edit func(*dispatch.Config)) *sessionRun {
	t.Helper()
	l := clock.NewVirtual()
	f := newFake(l, of)
	out := &sessionRun{prompts: map[string]string{}}
	n := uint64(set.Sessions())
	src := &steady{gap: gap, n: n}
	out.run = prepare(t, l, src, fakeCanceler{f}, func(c *dispatch.Config) {
		c.Set, c.Sessions, c.Drain = nil, set, time.Hour
		c.RecordSession = func(s *record.Session) { out.sessions = append(out.sessions, *s) }
		c.PlannedCached = func(it *datasets.Item, _ uint64) int32 {
			out.prompts[fmt.Sprint(it.Session, " ", it.Turn, " ", it.OutKey)] = fmt.Sprint(it.Prompt, it.In, it.Out)
			return 0
		}
		if edit != nil {
			edit(c)
		}
	})
	out.play()
	return out
}

// steady yields n arrivals, gap after gap.
type steady struct {
	gap     clock.Time
	next, n uint64
}

func (s *steady) Next() (schedule.Arrival, bool) {
	if s.next == s.n {
		return schedule.Arrival{}, false
	}
	a := schedule.Arrival{Seq: s.next, Item: s.next, At: clock.Time(s.next) * s.gap}
	s.next++
	return a, true
}

func smokeSet(t testing.TB, n int, edit func(*agent.Config)) *agent.Set {
	t.Helper()
	c, err := agent.Preset("coding-128k")
	if err != nil {
		t.Fatal(err)
	}
	c.Shape.UserTurns.Max, c.Shape.StepsPerTurn.Max = 4, 10
	c.Fanout.Probability = 0.1
	if edit != nil {
		edit(&c)
	}
	set, err := agent.New(c, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A step is due when the one before has ended, plus the planned wait, and the session
// completes when the last one has.
func TestSessionSteps(t *testing.T) {
	set := plans{{ID: 1, Threads: []datasets.Thread{steps(0, 300*time.Millisecond, 0)}}}
	r := playSessions(t, set, 0, always(script{First: 100 * time.Millisecond, Gap: 10 * time.Millisecond, Tokens: 2}), nil)
	var due []clock.Time
	for _, row := range r.rows {
		due = append(due, row.Intended)
		if row.SessionID != "1" || row.Thread != "main" || row.ParentThread != "" || row.Trigger != "user" {
			t.Errorf("row says %q %q %q %q", row.SessionID, row.Thread, row.ParentThread, row.Trigger)
		}
	}
	if diff := cmp.Diff([]clock.Time{0, 410 * ms, 520 * ms}, due); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	want := []record.Session{{
		SessionID: "1", Ended: 630 * ms, Threads: 1, StepsPlanned: 3, StepsOK: 3, PromptTokens: 10 + 22 + 34, OutputTokens: 6,
		SCT: 630e6, ModelTime: 330e6, WaitTime: 300e6, Lag: 0, Unloaded: record.Null,
		Turns: []int64{110e6, 110e6, 110e6},
	}}
	if diff := cmp.Diff(want, r.sessions); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// fan is a session whose second step waits for three sub-agents of one, two and three
// steps, of which the session may run two at a time.
func fan() plans {
	main := steps(0, 0)
	main.Steps[1].Trigger = datasets.ByJoin
	s := datasets.Session{ID: 1, Threads: []datasets.Thread{main}}
	for i := range 3 {
		child := steps(make([]time.Duration, i+1)...)
		child.Parent, child.Spawn, child.Join = 0, 0, 1
		s.Threads = append(s.Threads, child)
	}
	return plans{s}
}

func TestFanOutAndJoin(t *testing.T) {
	for _, c := range []struct {
		most       int
		sct, queue clock.Time
		parts      int64 // model time of the slowest chain
	}{
		// 100 ms each: main, three levels of sub-agents, main.
		{0, 500 * ms, 0, 500e6},
		// Two at a time: a1 b1 | c1 b2 | c2 | c3, so the third waits for a place.
		{2, 600 * ms, 100 * ms, 500e6},
		// One at a time, first come, first served.
		{1, 800 * ms, 500 * ms, 500e6},
	} {
		t.Run(fmt.Sprint(c.most), func(t *testing.T) {
			inFlight, most := 0, 0
			r := playSessions(t, fan(), 0, always(script{First: 100 * time.Millisecond, Tokens: 1}), func(cfg *dispatch.Config) {
				cfg.MaxInFlight = c.most
				plan, write := cfg.PlannedCached, cfg.Record
				cfg.PlannedCached = func(it *datasets.Item, s uint64) int32 {
					inFlight++
					most = max(most, inFlight)
					return plan(it, s)
				}
				cfg.Record = func(row *record.Request) { inFlight--; write(row) }
			})
			if c.most > 0 && most != c.most || c.most == 0 && most != 3 {
				t.Errorf("%d in flight at most, the bound is %d", most, c.most)
			}
			s := r.sessions[0]
			if s.SCT != int64(c.sct) || s.SCT != s.ModelTime+s.WaitTime+s.Lag || s.WaitTime != 0 {
				t.Errorf("session %+v, want a completion time of %v", s, c.sct)
			}
			queued := clock.Time(0)
			for _, row := range r.rows {
				if q := row.ClientQueue(); q != record.Null {
					queued += clock.Time(q)
				}
				if row.Lag() != 0 {
					t.Errorf("waiting for a place counts as a lag of %d", row.Lag())
				}
			}
			if queued < c.queue {
				t.Errorf("queued for %v, want at least %v", queued, c.queue)
			}
		})
	}
}

// A sub-agent starts with what its parent has, or with nothing.
func TestContexts(t *testing.T) {
	set := smokeSet(t, 40, func(c *agent.Config) { c.Fanout.Context = agent.Fork })
	r := playSessions(t, set, 1000*ms, always(quick), func(c *dispatch.Config) { c.MaxInFlight = 2 })
	want := map[string]string{}
	var s datasets.Session
	for i := range set.Sessions() {
		set.Session(i, &s)
		contexts := make([][][]datasets.Span, len(s.Threads))
		for k, th := range s.Threads {
			var context []datasets.Span
			if k > 0 {
				context = contexts[th.Parent][th.Spawn]
			}
			for n := range th.Steps {
				st := &th.Steps[n]
				want[fmt.Sprint(s.ID, " ", n, " ", st.OutKey)] = fmt.Sprint(st.Prompt(nil, context), st.In, st.Out)
				context = st.Context(nil, context)
				contexts[k] = append(contexts[k], context)
			}
		}
	}
	if diff := cmp.Diff(want, r.prompts); diff != "" {
		t.Errorf("prompts (-planned +sent):\n%s", diff)
	}
}

// TestSlowServerChangesNoPlan is invariant 3: ten times slower, and all arrivals and
// prompts are the same.
func TestSlowServerChangesNoPlan(t *testing.T) {
	set := smokeSet(t, 30, nil)
	play := func(by time.Duration) (*sessionRun, map[string]clock.Time) {
		r := playSessions(t, set, 5000*ms, always(script{First: 50 * by, Gap: by, Tokens: 4}), func(c *dispatch.Config) { c.MaxInFlight = 2 })
		arrivals := map[string]clock.Time{}
		for _, s := range r.sessions {
			arrivals[s.SessionID] = s.Arrival
		}
		return r, arrivals
	}
	fast, at := play(time.Millisecond)
	slow, atSlow := play(10 * time.Millisecond)
	if diff := cmp.Diff(fast.prompts, slow.prompts); diff != "" {
		t.Errorf("prompts (-fast +slow):\n%s", diff)
	}
	if diff := cmp.Diff(at, atSlow); diff != "" {
		t.Errorf("arrivals (-fast +slow):\n%s", diff)
	}
	if len(fast.rows) < 100 || fast.SessionCounts().Outcomes[record.SessionCompleted] != 30 {
		t.Errorf("%d rows, %+v", len(fast.rows), fast.SessionCounts())
	}
}

// A failed step ends its session, or not; one that is too long has a count of its own.
func TestFailedSteps(t *testing.T) {
	set := plans{{ID: 1, Threads: []datasets.Thread{steps(0, 0, 0)}}}
	second := func(status int) func(uint64) script {
		return func(seq uint64) script {
			if seq == 1 {
				return script{Status: status}
			}
			return quick
		}
	}
	for _, c := range []struct {
		name   string
		on     bool
		status int
		want   record.Session
	}{
		{"abort", false, 500, record.Session{Outcome: record.SessionFailed, StepsOK: 1, StepsFailed: 1, StepsUnsent: 1}},
		{"continue", true, 500, record.Session{Outcome: record.SessionFailed, StepsOK: 2, StepsFailed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := playSessions(t, set, 0, second(c.status), func(cfg *dispatch.Config) { cfg.ContinueOnError = c.on })
			got := r.sessions[0]
			if got.Outcome != c.want.Outcome || got.StepsOK != c.want.StepsOK || got.StepsFailed != c.want.StepsFailed || got.StepsUnsent != c.want.StepsUnsent || got.SCT != record.Null {
				t.Errorf("session %+v, want %+v", got, c.want)
			}
			if n := r.SessionCounts().StepsUnsent; n != int64(c.want.StepsUnsent) {
				t.Errorf("%d steps unsent", n)
			}
		})
	}
}

// TestSessionConservation is invariant 1 for sessions, and 2 for their steps, with
// servers that fail, hang and answer late, and people who interrupt.
func TestSessionConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := clock.NewVirtual()
		plays := rapid.SliceOfN(scripts(), 1, 8).Draw(t, "scripts")
		f := newFake(l, func(seq uint64) script { return plays[seq%uint64(len(plays))] })
		var tg target.Target = f
		if rapid.Bool().Draw(t, "cancels") {
			tg = fakeCanceler{f}
		}
		n := rapid.IntRange(1, 12).Draw(t, "sessions")
		var d *dispatch.Dispatcher
		var cfg dispatch.Config
		ended, finished, rows := map[string]bool{}, 0, int64(0)
		audit := func() {
			c := d.SessionCounts()
			sum := c.Live + c.Waiting
			for _, k := range c.Outcomes {
				sum += k
			}
			if most := int64(max(cfg.MaxSessions, cfg.Concurrent)); most > 0 && c.Live > most {
				t.Fatalf("%d live sessions, the bound is %d", c.Live, most)
			}
			if sum != c.Scheduled || int64(len(ended)) != c.Scheduled-c.Live-c.Waiting {
				t.Fatalf("conservation: %+v, %d ended", c, len(ended))
			}
			live, before := int64(0), clock.Time(0)
			d.LiveSessions(l.Now(), func(s *dispatch.LiveSession) bool {
				live++
				if ended[s.ID] || s.Arrival < before || s.StepsOK+s.StepsFailed+int32(s.InFlight+s.Queued) > s.StepsPlanned ||
					s.Model < 0 || s.Wait < 0 || s.Model+s.Wait > int64(l.Now()-s.Arrival) {
					t.Fatalf("at %v live: %+v", l.Now(), *s)
				}
				before = s.Arrival
				return true
			})
			if live != c.Live {
				t.Fatalf("%d live sessions are told of, and %d counted", live, c.Live)
			}
		}
		set := randomPlans(t, n)
		cfg = dispatch.Config{
			Loop: l, Sessions: set, Target: tg, MaxSessions: rapid.IntRange(0, 3).Draw(t, "live"), DropSessions: rapid.Bool().Draw(t, "drop"),
			Drain:       time.Duration(rapid.IntRange(0, 3000).Draw(t, "drain")) * time.Millisecond,
			MaxInFlight: rapid.IntRange(0, 3).Draw(t, "most"), ContinueOnError: rapid.Bool().Draw(t, "continue"),
			Record:   func(r *record.Request) { rows++; checkCausality(t, r); audit() },
			Finished: func() { finished++ },
		}
		if rapid.Bool().Draw(t, "closed") {
			cfg.Concurrent, cfg.MaxSessions = max(cfg.MaxSessions, 1), 0
			cfg.Until = clock.Time(rapid.IntRange(1, 500).Draw(t, "until")) * ms
		} else {
			cfg.Source = &steady{gap: 20 * ms, n: uint64(n)}
		}
		cfg.RecordSession = func(s *record.Session) {
			if ended[s.SessionID] {
				t.Fatalf("session %s has two rows", s.SessionID)
			}
			ended[s.SessionID] = true
			i, _ := strconv.Atoi(s.SessionID)
			if (s.Outcome == record.SessionDropped) && (!cfg.DropSessions || s.StepsUnsent != s.StepsPlanned) || s.Queued < 0 || s.Queued > 0 && cfg.MaxSessions == 0 {
				t.Fatalf("dropped or queued: %+v", *s)
			}
			if int(s.StepsPlanned) != set[i-1].Steps() || s.StepsOK+s.StepsFailed+s.StepsUnsent > s.StepsPlanned || s.StepsUnsent < 0 {
				t.Fatalf("steps of %+v", *s)
			}
			if (s.SCT != record.Null) != (s.Outcome == record.SessionCompleted && !s.Underway) || s.SCT != record.Null && (s.StepsOK != s.StepsPlanned || s.SCT != s.ModelTime+s.WaitTime+s.Lag || s.Lag < 0) {
				t.Fatalf("times of %+v", *s)
			}
		}
		var err error
		if d, err = dispatch.New(cfg); err != nil {
			t.Fatal(err)
		}
		for _, at := range rapid.SliceOfN(rapid.IntRange(0, 1500), 0, 3).Draw(t, "interrupts") {
			l.At(clock.Time(at)*ms, clock.RankControl, do(func(clock.Time) { d.Interrupt() }))
		}
		for i := range 50 {
			l.At(clock.Time(29*i)*ms, clock.RankSample, do(func(clock.Time) { audit() }))
		}
		d.Begin()
		l.Run()
		audit()
		c, s := d.Counts(), d.SessionCounts()
		if finished != 1 || c.InFlight != 0 || s.Live != 0 || s.Waiting != 0 || rows != c.Scheduled {
			t.Fatalf("finished %d times, %+v, %+v, %d rows", finished, c, s, rows)
		}
	})
}

// randomPlans draws sessions with a sub-agent or two.
func randomPlans(t *rapid.T, n int) plans {
	out := make(plans, n)
	for i := range out {
		waits := func() []time.Duration {
			ms := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 4).Draw(t, "waits")
			out := make([]time.Duration, len(ms))
			for k, v := range ms {
				out[k] = time.Duration(v) * time.Millisecond
			}
			return out
		}
		s := datasets.Session{ID: uint64(i) + 1, Threads: []datasets.Thread{steps(waits()...)}}
		s.Underway = rapid.Bool().Draw(t, "underway")
		for range rapid.IntRange(0, 3).Draw(t, "threads") {
			c := steps(waits()...)
			c.Parent = rapid.IntRange(0, len(s.Threads)-1).Draw(t, "parent")
			last := len(s.Threads[c.Parent].Steps) - 1
			c.Spawn = rapid.IntRange(-1, last).Draw(t, "spawn")
			c.Join = -1
			if c.Spawn < last && rapid.Bool().Draw(t, "joins") {
				c.Join = rapid.IntRange(c.Spawn+1, last).Draw(t, "join")
			}
			s.Threads = append(s.Threads, c)
		}
		out[i] = s
	}
	return out
}

// Sessions in one memory after the other cost nothing but their rows' texts.
func TestSessionsAllocateLittle(t *testing.T) {
	play := func(n int) func() {
		set := make(plans, n)
		for i := range set {
			set[i] = datasets.Session{ID: uint64(i) + 1, Threads: []datasets.Thread{steps(0, 0, 0, 0, 0)}}
		}
		return func() {
			l := clock.NewVirtual()
			d, err := dispatch.New(dispatch.Config{
				Loop: l, Source: &steady{gap: 10 * ms, n: uint64(n)}, Sessions: set, Target: onLoop(l), Drain: time.Hour,
				Record: func(*record.Request) {}, Finished: l.Stop,
			})
			if err != nil {
				t.Fatal(err)
			}
			d.Begin()
			l.Run()
			if d.SessionCounts().Outcomes[record.SessionCompleted] != int64(n) {
				t.Fatalf("%+v", d.SessionCounts())
			}
		}
	}
	short, long := testing.AllocsPerRun(1, play(2000)), testing.AllocsPerRun(1, play(4000))
	if per := (long - short) / 2000; per > 0.1 {
		t.Errorf("%.3f allocations a session", per)
	}
}

// Sessions that wait when the drain ends are censored, and so are those in flight.
func TestSessionsAreCensored(t *testing.T) {
	set := plans{
		{ID: 1, Threads: []datasets.Thread{steps(0, time.Hour)}},
		{ID: 2, Threads: []datasets.Thread{steps(0, 0)}},
		{ID: 3, Threads: []datasets.Thread{steps(0)}},
	}
	r := playSessions(t, set, 10*ms, func(seq uint64) script {
		if seq == 1 {
			return script{Hang: true}
		}
		return quick
	}, func(c *dispatch.Config) { c.Drain = time.Second })
	got := map[string]string{}
	for _, s := range r.sessions {
		got[s.SessionID] = fmt.Sprint(s.Outcome, " ", s.StepsUnsent)
	}
	if diff := cmp.Diff(map[string]string{"1": "censored 1", "2": "censored 1", "3": "completed 0"}, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	if len(r.finished) != 1 || !slices.ContainsFunc(r.rows, func(r record.Request) bool { return r.Outcome == record.Censored }) {
		t.Errorf("finished %v, %v", r.finished, r.outcomes())
	}
}

// A late generator shows as lag of the steps and of the session, with a bound of steps
// in flight too; the wait for a place does not.
func TestLagOfSessions(t *testing.T) {
	for _, most := range []int{0, 2} {
		l := clock.NewVirtual()
		f := newFake(l, always(script{First: 100 * time.Millisecond, Tokens: 1}))
		f.lag = 10 * time.Millisecond
		var s record.Session
		r := prepare(t, l, &steady{n: 1}, f, func(c *dispatch.Config) {
			c.Set, c.Sessions, c.MaxInFlight, c.Drain = nil, fan(), most, time.Hour
			c.RecordSession = func(row *record.Session) { s = *row }
		}).play()
		queued := int64(0)
		for _, row := range r.rows {
			if row.Lag() != 10e6 {
				t.Errorf("bound %d: a lag of %d ns, want 10 ms", most, row.Lag())
			}
			if q := row.ClientQueue(); q != record.Null {
				queued += q
			}
		}
		if want := int64(most / 2 * 100e6); queued != want {
			t.Errorf("bound %d: queued for %d ns, want %d", most, queued, want)
		}
		if s.ModelTime != 5*90e6 || s.Lag != s.SCT-s.ModelTime || s.Lag < 5*10e6 {
			t.Errorf("bound %d: session %+v", most, s)
		}
	}
}
