package record

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"goodput/loadgen/clock"
)

const childSessions = "RECORD_TEST_CHILD_SESSIONS"

func plainSession(i int) Session {
	s := Session{
		SessionID: strconv.Itoa(i + 1), Tenant: strconv.Itoa(i % 4), Arrival: clock.Time(i), Ended: clock.Time(i) + 10, Threads: 1,
		StepsPlanned: 2, StepsOK: 2, SCT: 10, ModelTime: 8, WaitTime: 2, Lag: 0, Unloaded: Null, SLOMet: Yes,
	}
	for k := range i % 3 {
		s.Turns = append(s.Turns, int64(k))
	}
	return s
}

// killedSessions are a segment, and some in the next one.
const killedSessions = sessionSegment + 1000

// writeSessionsUntilKilled writes sessions, then to standard output how many can be
// read, and waits.
func writeSessionsUntilKilled(dir string) {
	w, err := Create(dir, Meta{RunID: "run"})
	var l *SessionLog
	if err == nil {
		l, err = NewSessionLog(dir, true, nil)
	}
	if err != nil {
		fmt.Println(err, w)
		os.Exit(1)
	}
	for i := range killedSessions {
		s := plainSession(i)
		l.Write(&s)
	}
	for n := 0; n < killedSessions; {
		run, err := Open(dir)
		if err == nil {
			n = 0
			_, err = run.Sessions(func(*Session) error { n++; return nil })
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println(killedSessions)
	never := make(chan os.Signal, 1)
	signal.Notify(never, os.Interrupt)
	<-never
}

// TestKilledRunLosesNoSessionThatWasSafe kills a run amid its second segment.
func TestKilledRunLosesNoSessionThatWasSafe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, childSessions+"=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != strconv.Itoa(killedSessions) {
		t.Fatalf("the child says %q", lines.Text())
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
	checkSessions(t, dir)
	rep, err := Recover(dir)
	if err != nil || !rep.Done || rep.Sessions != killedSessions-sessionSegment {
		t.Fatalf("%+v, %v", rep, err)
	}
	checkSessions(t, dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "sessions-*.wal")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if rep, err = Recover(dir); err != nil || rep.Done {
		t.Errorf("once more: %+v, %v", rep, err)
	}
}

func checkSessions(t *testing.T, dir string) {
	t.Helper()
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	_, err = run.Sessions(func(s *Session) error {
		if want := plainSession(n); !reflect.DeepEqual(want, *s) {
			return fmt.Errorf("session %d is %+v", n, s)
		}
		n++
		return nil
	})
	if err != nil || n != killedSessions {
		t.Fatalf("%d sessions, %d were safe: %v", n, killedSessions, err)
	}
}

// A write-ahead file that was cut anywhere gives the sessions before the cut.
func TestCutSessionsFile(t *testing.T) {
	dir := t.TempDir()
	d := &osDisk{dir: dir}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.lock = f
	defer d.close()
	w := sessionWriter{disk: d}
	if err := w.open(1); err != nil {
		t.Fatal(err)
	}
	var ends []int
	for i := range 5 {
		s := plainSession(i)
		if err := w.add(&s); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(sessionWALHead)+len(w.buf))
	}
	whole := append([]byte(sessionWALHead), w.buf...)
	if err := w.wal.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, sessionFile(1, walSuffix))
	for cut := range len(whole) + 1 {
		if err := os.WriteFile(name, whole[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		want, good := 0, min(cut, len(sessionWALHead))
		for i, end := range ends {
			if end <= cut {
				want, good = i+1, end
			}
		}
		rows, lost, err := sessionFrames(name)
		if err != nil || len(rows) != want || lost != int64(cut-good) {
			t.Fatalf("cut at %d: %d rows, %d bytes lost, %v; want %d and %d", cut, len(rows), lost, err, want, cut-good)
		}
	}
}
