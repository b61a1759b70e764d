package record_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// runWith is a run directory of no requests.
func runWith(t *testing.T, sessions []record.Session) *record.Run {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Meta{RunID: "r", Virtual: true})
	if err != nil {
		t.Fatal(err)
	}
	if sessions != nil {
		l, err := record.NewSessionLog(dir, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sessions {
			l.Write(&sessions[i])
		}
		if _, err := os.Stat(filepath.Join(dir, "sessions-00001.parquet")); err == nil {
			t.Error("the file is there before it is complete")
		}
		if dropped, err := l.Close(); dropped != 0 || err != nil {
			t.Fatalf("%d dropped, %v", dropped, err)
		}
	}
	if err := w.Close(record.Final{EndedAt: clock.Never}); err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestSessionsComeBack(t *testing.T) {
	var want []record.Session
	for i := range 1000 {
		s := record.Session{
			SessionID: strconv.Itoa(i + 1), Arrival: clock.Time(i) * 1e9, Ended: clock.Time(i)*1e9 + 5, Threads: 2,
			StepsPlanned: 9, StepsOK: 8, StepsFailed: 1, PromptTokens: 1000, OutputTokens: 10,
			SCT: record.Null, ModelTime: record.Null, WaitTime: record.Null, Lag: record.Null, Unloaded: record.Null,
			Outcome: record.SessionOutcome(i % record.NumSessionOutcome), Underway: i%3 == 0, Queued: int64(i % 7),
		}
		if s.Outcome == record.SessionCompleted {
			s.Tenant, s.SCT, s.ModelTime, s.WaitTime, s.Lag = "3", 10, 5, 5, 0
			s.Unloaded, s.Turns, s.StepsMet, s.StepsMissed, s.SLOMet = 4, []int64{int64(i), 2, 3}, 7, 1, record.Tri(i%3)
		}
		want = append(want, s)
	}
	var got []record.Session
	found, err := runWith(t, want).Sessions(func(s *record.Session) error {
		got = append(got, *s)
		return nil
	})
	if err != nil || !found {
		t.Fatalf("found %v, %v", found, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func TestRunWithoutSessions(t *testing.T) {
	found, err := runWith(t, nil).Sessions(func(*record.Session) error { return nil })
	if found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}

func TestSessionsOfABrokenFile(t *testing.T) {
	run := runWith(t, []record.Session{{SessionID: "1"}})
	if err := os.WriteFile(filepath.Join(run.Dir, "sessions-00001.parquet"), []byte("PAR1 not really"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Sessions(func(*record.Session) error { return nil }); err == nil {
		t.Error("a broken file was read")
	}
}
