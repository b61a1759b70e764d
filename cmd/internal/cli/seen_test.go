package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

// TestReplayHasSessions: at each moment of a replayed run, live are the sessions of which
// a step has ended and that have not ended themselves, with the steps that they have made,
// and the ended ones are counted by how they ended.
func TestReplayHasSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	quiet(t, "run", "--dataset-name", "agent", "--agent-preset", "smoke", "--sessions-rate", "2", "--num-sessions", "40", "--replicas", "2", "--out", dir)
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var rows []record.Request
	if err := run.Requests(func(r *record.Request) error { rows = append(rows, *r); return nil }, record.WithoutGaps()); err != nil {
		t.Fatal(err)
	}
	var sessions []record.Session
	if _, err := run.Sessions(func(s *record.Session) error { sessions = append(sessions, *s); return nil }); err != nil || len(sessions) != 40 {
		t.Fatal(err, len(sessions))
	}
	most := int64(0)
	for _, at := range []time.Duration{time.Second, 5 * time.Second, 12 * time.Second, 20 * time.Second, time.Hour} {
		source, err := openWatch(dir, plan.Speed(0))
		if err != nil {
			t.Fatal(err)
		}
		r := source.(*replay)
		r.end = min(r.end, clock.Time(at))
		got, err := r.Picture(monitor.Query{Window: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		want := seenAt(rows, sessions, r.end)
		if diff := cmp.Diff(want.Sessions, got.Sessions.Counts); diff != "" {
			t.Errorf("at %v: %s", at, diff)
		}
		if diff := cmp.Diff(want.Live, got.Sessions.Live, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("at %v: %s", at, diff)
		}
		most = max(most, want.Sessions.Live)
	}
	if most < 5 {
		t.Errorf("never more than %d live: this tests nothing", most)
	}
}

// seenAt is what rows tell of sessions at an instant.
func seenAt(rows []record.Request, sessions []record.Session, at clock.Time) monitor.Gauges {
	var out monitor.Gauges
	for _, s := range sessions {
		if s.Ended <= at {
			out.Sessions.Completed++ // as all of them do
			continue
		}
		x := monitor.LiveSession{
			ID: s.SessionID, Tenant: s.Tenant, Arrival: monitor.Nanos(s.Arrival), Age: monitor.Nanos(at - s.Arrival),
			ModelTime: monitor.Unknown, WaitTime: monitor.Unknown, InFlight: monitor.Whole(monitor.Unknown), Queued: monitor.Whole(monitor.Unknown),
		}
		for i := range rows {
			if r := &rows[i]; r.SessionID == s.SessionID && monitor.Ended(r) <= at {
				x.StepsOK++
			}
		}
		if x.StepsOK > 0 {
			out.Sessions.Live++
			out.Live = append(out.Live, x)
		}
	}
	slices.SortFunc(out.Live, func(a, b monitor.LiveSession) int { return int(a.Arrival - b.Arrival) })
	return out
}

// TestWatchHasSessions: of a directory that another process is writing, sessions are shown
// as their files grow, whichever of a session's row and its last step's is there first.
func TestWatchHasSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	p := plan.Default()
	w, err := record.Create(dir, record.Meta{RunID: "t", Virtual: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, planName), text, 0o666); err != nil {
		t.Fatal(err)
	}
	log, err := record.NewSessionLog(dir, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	source, err := openWatch(dir, plan.Speed(1))
	if err != nil {
		t.Fatal(err)
	}
	step := func(session, turn int, o record.Outcome) {
		var r record.Request
		r.Reset()
		r.Final, r.SessionID, r.Tenant, r.Turn, r.Outcome = true, fmt.Sprint("s", session), "acme", int32(turn), o
		r.Intended = clock.Time(session+turn) * clock.Time(time.Second)
		r.Dispatched, r.LastToken = r.Intended, r.Intended+5
		w.Write(&r)
	}
	ends := func(session int, o record.SessionOutcome) {
		log.Write(&record.Session{SessionID: fmt.Sprint("s", session), Outcome: o, SCT: int64(time.Second), ModelTime: record.Null, WaitTime: record.Null, Lag: record.Null, Unloaded: record.Null})
	}
	for i := range 4 {
		step(i, 0, record.OK)
	}
	step(1, 1, record.OK)
	step(2, 1, record.HTTP5xx)
	ends(0, record.SessionCompleted)
	ends(2, record.SessionFailed)
	if _, err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got := looked(t, source)
	if s := got.Sessions; got.State != "running" || len(s.Ended) != 2 || s.Counts.Completed != 1 || s.Counts.Failed != 1 {
		t.Fatalf("under way: %s %+v", got.State, s)
	}
	if err := w.Close(record.Final{Counts: &record.Counts{Scheduled: 6, Completed: 5, Failed: 1}}); err != nil {
		t.Fatal(err)
	}
	got = looked(t, source)
	s := got.Sessions
	if want := (monitor.SessionGauge{Live: 2, Completed: 1, Failed: 1}); !s.Known || !s.Levels || !s.Seen || s.Counts != want || len(s.Ended) != 2 {
		t.Fatalf("%+v", s)
	}
	if a, b := s.Live[0], s.Live[1]; a.ID != "s1" || a.StepsOK != 2 || a.Age != monitor.Nanos(got.Elapsed-a.Arrival) || b.ID != "s3" || b.Tenant != "acme" || b.InFlight.Known() {
		t.Errorf("live: %+v", s.Live)
	}
}

// looked is the picture of a source after its next look at the files.
func looked(t *testing.T, source tui.Source) (p monitor.Picture) {
	t.Helper()
	for range tailEvery {
		var err error
		if p, err = source.Picture(monitor.Query{Window: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestSeenLate: rows of a session's steps that are read after its own bring it back to
// life neither at once nor after many others, and what is remembered is bounded.
func TestSeenLate(t *testing.T) {
	var s seenSessions
	id := func(i int) string { return fmt.Sprint(i) }
	for i := range 3 * mostOver {
		s.end(&record.Session{SessionID: id(i), Outcome: record.SessionCompleted})
		for _, late := range []int{i, max(0, i-mostOver/2)} {
			s.step(&record.Request{SessionID: id(late)})
		}
	}
	if n := len(s.over) + len(s.older); len(s.live) > 0 || n > 2*mostOver {
		t.Errorf("%d live, %d remembered", len(s.live), n)
	}
	if g := s.gauges(0); g.Sessions.Completed != 3*mostOver {
		t.Errorf("%+v", g.Sessions)
	}
}
