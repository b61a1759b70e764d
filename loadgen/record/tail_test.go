package record_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// TestTail reads a run while it is written, over the ends of segments, and again when it
// is complete: each row comes once, in order.
func TestTail(t *testing.T) {
	for _, virtual := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := record.Create(dir, record.Meta{RunID: "t", Virtual: virtual}, record.SegmentRows(700))
		if err != nil {
			t.Fatal(err)
		}
		tail := record.NewTail(dir)
		var got, want []int64
		look := func() record.State {
			state, err := tail.Next(func(r *record.Request) error {
				got = append(got, r.Seq)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return state
		}
		var r record.Request
		for i := range int64(3000) {
			r.Reset()
			r.Seq, r.Final, r.Intended = i, true, 0
			w.Write(&r)
			want = append(want, i)
			if i%250 == 0 && look() != record.Running {
				t.Fatal("it is not running")
			}
		}
		if err := w.Close(record.Final{Counts: &record.Counts{Scheduled: 3000, Completed: 3000}}); err != nil {
			t.Fatal(err)
		}
		if state := look(); state != record.Complete {
			t.Errorf("state %q", state)
		}
		look()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestTailSessions reads sessions while they are written, over the end of a segment, and
// again when all are there: each comes once, in the order in which they ended.
func TestTailSessions(t *testing.T) {
	dir := t.TempDir()
	tail := record.NewTail(dir)
	var got, want []string
	look := func() {
		if err := tail.Sessions(func(s *record.Session) error {
			got = append(got, s.SessionID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	look()
	log, err := record.NewSessionLog(dir, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		s := record.Session{SessionID: fmt.Sprint(i), Ended: clock.Time(i), SCT: record.Null, ModelTime: record.Null, WaitTime: record.Null, Lag: record.Null, Unloaded: record.Null}
		log.Write(&s)
		want = append(want, s.SessionID)
		if i%1500 == 0 {
			look()
		}
	}
	if _, err := log.Close(); err != nil {
		t.Fatal(err)
	}
	look()
	look()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTailSessionsCut: of a write-ahead file that is read when only a part of it is there,
// and again when there is more of it, each session comes once; of a damaged one those
// before the damage.
func TestTailSessionsCut(t *testing.T) {
	source := t.TempDir()
	log, err := record.NewSessionLog(source, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		log.Write(&record.Session{SessionID: fmt.Sprint(i), SCT: record.Null, ModelTime: record.Null, WaitTime: record.Null, Lag: record.Null, Unloaded: record.Null})
	}
	for n := 0; n < 3; { // another goroutine writes them
		n = 0
		if err := record.NewTail(source).Sessions(func(*record.Session) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	const file = "sessions-00001.wal"
	whole, err := os.ReadFile(filepath.Join(source, file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		cuts := []int{rapid.IntRange(0, len(whole)).Draw(t, "cut"), rapid.IntRange(0, len(whole)).Draw(t, "cut again"), len(whole)}
		slices.Sort(cuts)
		b := slices.Clone(whole)
		damaged := rapid.IntRange(30, 2*len(whole)).Draw(t, "damaged") // behind the head, or nowhere
		if damaged < len(b) {
			b[damaged] ^= 0x41
		}
		tail := record.NewTail(dir)
		var got []string
		look := func(tail *record.Tail, b []byte) (ids []string) {
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tail.Sessions(func(s *record.Session) error {
				ids = append(ids, s.SessionID)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		for _, n := range cuts {
			got = append(got, look(tail, b[:n])...)
		}
		if diff := cmp.Diff(look(record.NewTail(dir), b), got); diff != "" {
			t.Fatal(diff)
		}
		if (len(got) == 3) != (damaged >= len(b)) {
			t.Fatalf("damaged at %d of %d: %v", damaged, len(b), got)
		}
	})
}
