package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

var quick = script{First: 5 * time.Millisecond, Gap: time.Millisecond, Tokens: 3}

func TestRowOfOneRequest(t *testing.T) {
	l := clock.NewVirtual()
	var asked target.Request
	f := newFake(l, always(quick))
	f.started = func(r *target.Request) { asked = *r }
	m := monitor.New(1)
	r := prepare(t, l, every(10*ms, 1), f, func(c *dispatch.Config) {
		c.Identity = dispatch.Identity{RunID: "run", Arm: "a", Trial: 2, Shard: 3, Salt: 4}
		c.IgnoreEOS = true
		c.SLO = observe.SLO{TTFT: 5 * time.Millisecond}
		c.PlannedCached = func(it *datasets.Item, _ uint64) int32 { return int32(it.Prompt[0].Tokens) }
		c.Monitor = m
	}).play()

	var want record.Request
	want.Reset()
	want.RunID, want.Arm, want.Trial, want.Shard, want.Final = "run", "a", 2, 3, true
	want.TraceID, want.SpanID = asked.TraceID, asked.SpanID
	want.RequestID = fmt.Sprintf("%x", asked.TraceID)
	want.Intended, want.Dispatched, want.Writing, want.Wrote = 10*ms, 10*ms, 10*ms, 10*ms
	want.FirstEvent, want.FirstContent, want.FirstToken = 15*ms, 15*ms, 15*ms
	want.LastToken, want.Done, want.Closed = 17*ms, 17*ms, 17*ms
	want.PlannedPromptTokens, want.PlannedOutputTokens, want.PlannedCachedTokens = 33, 3, 32
	want.OutputTokens, want.Chunks, want.CoalescedTokens = 3, 3, 0
	want.TokenGapsUS, want.ChunkTokens = []int32{1000, 1000}, []int32{1, 1, 1}
	want.HTTPStatus, want.FinishReason, want.BytesIn, want.BytesOut = 200, "length", 0, 0
	want.SLOMet = record.Yes
	if diff := cmp.Diff([]record.Request{want}, r.rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if want.TraceID == ([16]byte{}) || want.SpanID == ([8]byte{}) {
		t.Error("no trace context")
	}
	if !asked.IgnoreEOS || asked.In != 33 || asked.Out != 3 || asked.Intended != 10*ms {
		t.Errorf("request is %+v", asked)
	}
	if s := m.Snapshot(clock.Never); s.Sent != 1 || s.Completed() != 1 || s.InFlight != 0 || s.Elapsed != 17*ms {
		t.Errorf("monitor shows %+v", s)
	}
	if diff := cmp.Diff(dispatch.Counters{}, r.Counters()); diff != "" {
		t.Errorf("counters: %s", diff)
	}
	if r.Interrupted() || r.Err() != nil {
		t.Errorf("interrupted %v, error %v", r.Interrupted(), r.Err())
	}
	if diff := cmp.Diff([]clock.Time{17 * ms}, r.finished); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
}

// ask is what a target was asked, and when.
type ask struct {
	Seq            uint64
	At             clock.Time
	Intended       clock.Time
	Prompt         []datasets.Span
	In, Out        int
	OutKey, Prefix uint64
	Trace          [16]byte
	Span           [8]byte
	Session        uint64
	Turn, Class    int
}

func asked(t *testing.T, s script) []ask {
	l := clock.NewVirtual()
	var out []ask
	f := newFake(l, always(s))
	f.started = func(r *target.Request) {
		out = append(out, ask{
			Seq: r.Seq, At: l.Now(), Intended: r.Intended, Prompt: slices.Clone(r.Prompt), In: r.In, Out: r.Out,
			OutKey: r.OutKey, Prefix: r.Prefix, Trace: r.TraceID, Span: r.SpanID, Session: r.Session, Turn: int(r.Turn), Class: int(r.Class),
		})
	}
	r := prepare(t, l, every(7*ms, 200), fakeCanceler{f}, nil).play()
	if len(r.rows) != 200 {
		t.Fatalf("%d rows", len(r.rows))
	}
	return out
}

// TestSlowTargetMovesNothing is invariant 3: a target ten times as slow, or one that
// never answers, changes no instant of sending and no prompt.
func TestSlowTargetMovesNothing(t *testing.T) {
	want := asked(t, script{First: 30 * time.Millisecond, Gap: 2 * time.Millisecond, Tokens: 50})
	if len(want) != 200 || want[3].At != 28*ms {
		t.Fatalf("asked %d times, the fourth time at %v", len(want), want[3].At)
	}
	for name, s := range map[string]script{
		"ten times as slow": {First: 300 * time.Millisecond, Gap: 20 * time.Millisecond, Tokens: 50},
		"at once":           {},
		"never":             {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, asked(t, s)); diff != "" {
				t.Errorf("asked (-reference +got):\n%s", diff)
			}
		})
	}
}

func TestLatenessIsRecorded(t *testing.T) {
	t.Run("told by the target", func(t *testing.T) {
		l := clock.NewVirtual()
		f := newFake(l, always(quick))
		f.lag = 3 * time.Millisecond
		r := prepare(t, l, every(10*ms, 1), f, nil).play()
		if got := r.rows[0].Lag(); got != int64(3*ms) {
			t.Errorf("lag is %d", got)
		}
	})
	t.Run("due in the past", func(t *testing.T) {
		l := clock.NewVirtual()
		r := prepare(t, l, &list{at: []clock.Time{20 * ms, 50 * ms}}, newFake(l, always(quick)), nil)
		l.At(100*ms, clock.RankControl, do(func(clock.Time) { r.Begin() }))
		l.Run()
		row := r.rows[1]
		got := []clock.Time{row.Intended, row.Dispatched, clock.Time(row.Lag()), clock.Time(row.TTFT())}
		if diff := cmp.Diff([]clock.Time{50 * ms, 100 * ms, 50 * ms, 55 * ms}, got); diff != "" {
			t.Errorf("intended, dispatched, lag, TTFT (-want +got):\n%s", diff)
		}
		if _, to := r.Window(); to != 50*ms {
			t.Errorf("window ends at %v: it is one of intended instants", to)
		}
	})
}

// pack ends all that is under way when one of it is cancelled.
type pack struct{ fakeCanceler }

func (p pack) Cancel(r *target.Request) {
	if p.live[r] == nil {
		panic("cancelled after its end")
	}
	var all []*job
	for _, j := range p.live {
		all = append(all, j)
	}
	for _, j := range all {
		j.end(p.loop.Now(), target.CauseCanceled)
	}
}

func TestCancellingOneEndsAll(t *testing.T) {
	l := clock.NewVirtual()
	r := prepare(t, l, every(10*ms, 5), pack{fakeCanceler{newFake(l, always(script{Hang: true}))}}, nil).play()
	if diff := cmp.Diff(map[string]int{"censored": 5}, r.outcomes()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(r.finished) != 1 || r.Counters() != (dispatch.Counters{}) {
		t.Errorf("finished %v, counters %+v", r.finished, r.Counters())
	}
}

func TestDrain(t *testing.T) {
	slow := script{First: 400 * time.Millisecond, Gap: 100 * time.Millisecond, Tokens: 3} // ends 600 ms after its start
	deadline := slow
	deadline.Rank = clock.RankDeadline
	cases := []struct {
		name     string
		script   script
		cancels  bool
		drain    time.Duration
		want     map[string]int
		finished clock.Time
		closed   clock.Time // of the last row
		counters dispatch.Counters
	}{
		{"long enough", slow, true, 600 * time.Millisecond, map[string]int{"ok": 3}, 630 * ms, 630 * ms, dispatch.Counters{}},
		{"long enough to the instant, for the target's own deadline", deadline, true, 600 * time.Millisecond, map[string]int{"ok": 3}, 630 * ms, 630 * ms, dispatch.Counters{}},
		{"too short for the last", slow, true, 595 * time.Millisecond, map[string]int{"ok": 2, "censored": 1}, 625 * ms, 625 * ms, dispatch.Counters{}},
		{"none", slow, true, 0, map[string]int{"censored": 3}, 30 * ms, 30 * ms, dispatch.Counters{}},
		{"hanging, cancelled", script{Hang: true}, true, time.Second, map[string]int{"censored": 3}, 1030 * ms, 1030 * ms, dispatch.Counters{}},
		{"hanging, ends later", script{Hang: true, OnCancel: "later"}, true, time.Second, map[string]int{"censored": 3}, 1050 * ms, 1050 * ms, dispatch.Counters{}},
		{"hanging for good", script{Hang: true, OnCancel: "never"}, true, time.Second, map[string]int{"censored": 3}, 3030 * ms, clock.Never, dispatch.Counters{Abandoned: 3}},
		{"ends when nobody waits any more", script{Hang: true, OnCancel: "much later"}, true, time.Second, map[string]int{"censored": 3}, 3030 * ms, clock.Never, dispatch.Counters{Abandoned: 3, LateEnds: 3}},
		{"cannot be cancelled", slow, false, 0, map[string]int{"censored": 3}, 30 * ms, clock.Never, dispatch.Counters{Abandoned: 3, LateEnds: 3}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := clock.NewVirtual()
			f := newFake(l, always(c.script))
			var tg target.Target = f
			if c.cancels {
				tg = fakeCanceler{f}
			}
			r := prepare(t, l, every(10*ms, 3), tg, func(cfg *dispatch.Config) {
				cfg.Drain = c.drain
				cfg.SLO = observe.SLO{TTFT: time.Second}
			}).play()
			if diff := cmp.Diff(c.want, r.outcomes()); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]clock.Time{c.finished}, r.finished); diff != "" {
				t.Errorf("finished (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.counters, r.Counters()); diff != "" {
				t.Errorf("counters (-want +got):\n%s", diff)
			}
			for _, row := range r.rows {
				if row.Outcome == record.Censored && (row.SLOMet != record.Unknown || row.Error == "" || !row.Final || row.RequestID == "" || row.E2E() != record.Null) {
					t.Errorf("censored row: %+v", row)
				}
			}
			if last := r.rows[2]; last.Seq != 2 || last.Closed != c.closed {
				t.Errorf("last row is %d, closed at %v, want 2 at %v", last.Seq, last.Closed, c.closed)
			}
		})
	}
	t.Run("what was seen of a cancelled request stays", func(t *testing.T) {
		l := clock.NewVirtual()
		r := prepare(t, l, every(10*ms, 1), fakeCanceler{newFake(l, always(slow))}, func(c *dispatch.Config) { c.Drain = 550 * time.Millisecond }).play()
		row := r.rows[0]
		if row.Outcome != record.Censored || row.FirstToken != 410*ms || row.Chunks != 2 || row.OutputTokens != 2 {
			t.Errorf("row is %+v", row)
		}
	})
}

func TestInterrupt(t *testing.T) {
	slow := script{First: 200 * time.Millisecond, Gap: 100 * time.Millisecond, Tokens: 3} // ends 400 ms after its start
	hang := script{Hang: true, OnCancel: "never"}
	cases := []struct {
		name        string
		script      script
		at          []clock.Time
		want        map[string]int
		finished    clock.Time
		interrupted bool
		abandoned   int64
	}{
		{"never", slow, nil, map[string]int{"ok": 10}, 500 * ms, false, 0},
		{"once: no more arrivals, all answers", slow, []clock.Time{35 * ms}, map[string]int{"ok": 3}, 430 * ms, true, 0},
		{"twice: at once", slow, []clock.Time{35 * ms, 425 * ms}, map[string]int{"ok": 2, "censored": 1}, 425 * ms, true, 0},
		{"twice in a row", slow, []clock.Time{35 * ms, 35 * ms}, map[string]int{"censored": 3}, 35 * ms, true, 0},
		{"once, into the drain", slow, []clock.Time{150 * ms}, map[string]int{"ok": 10}, 500 * ms, true, 0},
		{"once, then the drain's deadline", hang, []clock.Time{35 * ms}, map[string]int{"censored": 3}, 3035 * ms, true, 3},
		{"twice, and no end comes", hang, []clock.Time{35 * ms, 45 * ms}, map[string]int{"censored": 3}, 2045 * ms, true, 3},
		{"three times", hang, []clock.Time{35 * ms, 45 * ms, 55 * ms}, map[string]int{"censored": 3}, 55 * ms, true, 3},
		{"before the first arrival", slow, []clock.Time{1 * ms}, map[string]int{}, 1 * ms, true, 0},
		{"after the end", slow, []clock.Time{900 * ms}, map[string]int{"ok": 10}, 500 * ms, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := clock.NewVirtual()
			r := prepare(t, l, every(10*ms, 10), fakeCanceler{newFake(l, always(c.script))}, nil)
			for _, at := range c.at {
				l.At(at, clock.RankControl, do(func(clock.Time) { r.Interrupt() }))
			}
			r.play()
			if diff := cmp.Diff(c.want, r.outcomes()); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]clock.Time{c.finished}, r.finished); diff != "" {
				t.Errorf("finished (-want +got):\n%s", diff)
			}
			if got := r.Counters().Abandoned; r.Interrupted() != c.interrupted || got != c.abandoned {
				t.Errorf("interrupted %v, abandoned %d", r.Interrupted(), got)
			}
		})
	}
}

func TestWindowAndRate(t *testing.T) {
	cases := []struct {
		name string
		at   []clock.Time
		to   clock.Time
		rate float64 // 0: not defined
	}{
		{"no arrival", nil, clock.Never, 0},
		{"all at once", []clock.Time{0, 0, 0}, 0, 0},
		{"four in two seconds", []clock.Time{500 * ms, 500 * ms, 1500 * ms, 2000 * ms}, 2000 * ms, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := clock.NewVirtual()
			r := prepare(t, l, &list{at: c.at}, newFake(l, always(quick)), nil).play()
			from, to := r.Window()
			if to != c.to || to.Known() != (from == 0) {
				t.Errorf("window is %v to %v", from, to)
			}
			if rate, ok := r.Offered(); rate != c.rate || ok != (c.rate > 0) {
				t.Errorf("rate is %v, %v", rate, ok)
			}
			if len(r.finished) != 1 || len(r.rows) != len(c.at) {
				t.Errorf("finished %d times with %d rows", len(r.finished), len(r.rows))
			}
		})
	}
}

func TestScheduleBeyondTheDataset(t *testing.T) {
	l := clock.NewVirtual()
	r := prepare(t, l, every(10*ms, 5), newFake(l, always(quick)), func(c *dispatch.Config) { c.Set = items(2) }).play()
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "item 2 of the 2 in items(2)") {
		t.Errorf("error is %v", err)
	}
	if c := r.Counts(); len(r.rows) != 2 || c.Scheduled != 2 || c.Completed() != 2 || len(r.finished) != 1 {
		t.Errorf("%d rows, counts %+v, finished %v", len(r.rows), c, r.finished)
	}
}

func TestNewRefuses(t *testing.T) {
	l := clock.NewVirtual()
	good := dispatch.Config{
		Loop: l, Source: every(1, 1), Set: items(1), Target: newFake(l, always(quick)),
		Record: func(*record.Request) {}, Finished: func() {},
	}
	if _, err := dispatch.New(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*dispatch.Config){
		"no loop":        func(c *dispatch.Config) { c.Loop = nil },
		"no schedule":    func(c *dispatch.Config) { c.Source = nil },
		"no dataset":     func(c *dispatch.Config) { c.Set = nil },
		"empty dataset":  func(c *dispatch.Config) { c.Set = items(0) },
		"no target":      func(c *dispatch.Config) { c.Target = nil },
		"no Record":      func(c *dispatch.Config) { c.Record = nil },
		"no Finished":    func(c *dispatch.Config) { c.Finished = nil },
		"negative drain": func(c *dispatch.Config) { c.Drain = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			edit(&c)
			if _, err := dispatch.New(c); err == nil {
				t.Error("no error")
			}
		})
	}
}

func ExampleDispatcher() {
	loop := clock.NewVirtual()
	d, err := dispatch.New(dispatch.Config{
		Loop: loop, Source: every(10*ms, 3), Set: items(3), Drain: time.Second,
		Target: newFake(loop, always(script{First: 25 * time.Millisecond, Tokens: 1})),
		Record: func(r *record.Request) {
			fmt.Println(r.Seq, r.Outcome, r.Intended, time.Duration(r.TTFT()))
		},
		Finished: loop.Stop,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	d.Begin()
	loop.Run()
	c := d.Counts()
	fmt.Println(c.Scheduled, "scheduled,", c.Completed(), "completed,", c.InFlight, "in flight")
	// Output:
	// 0 ok 10ms 25ms
	// 1 ok 20ms 25ms
	// 2 ok 30ms 25ms
	// 3 scheduled, 3 completed, 0 in flight
}
