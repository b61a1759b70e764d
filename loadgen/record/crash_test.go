package record

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	childDir     = "RECORD_TEST_CHILD_DIR"
	childVirtual = "RECORD_TEST_CHILD_VIRTUAL"
)

// TestMain runs the child of TestKilledRunLosesNoRowThatWasSafe when asked to.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if os.Getenv(childSessions) != "" {
			writeSessionsUntilKilled(dir)
		}
		writeUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes rows for ever, and to standard output from time to
// time how many of them are safe.
func writeUntilKilled(dir string) {
	m, segment := Meta{RunID: "run"}, 1500
	if os.Getenv(childVirtual) != "" {
		m, segment = virtual, 3*rowGroupRows/2
	}
	w, err := Create(dir, m, SegmentRows(segment), Blocking())
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		row := plain(i, 20)
		w.Write(&row)
		if i%100 == 0 {
			w.mu.Lock()
			n := w.counts.logged
			w.mu.Unlock()
			fmt.Println(n)
		}
	}
}

// killedRun returns the directory of a run whose process was killed without
// warning, and how many rows it had reported safe.
func killedRun(t *testing.T, atLeast int64, env string) (dir string, safe int64) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, env)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); safe < atLeast; {
		if !lines.Scan() {
			t.Fatal("the child ended by itself")
		}
		if safe, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			t.Fatal(lines.Text())
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Fatalf("the child was not killed: %v", err)
	}
	return dir, safe
}

func checkPlain(t *testing.T, rows []Request, atLeast int64) {
	t.Helper()
	if int64(len(rows)) < atLeast {
		t.Errorf("%d rows, but %d were safe", len(rows), atLeast)
	}
	for i := range rows {
		// DeepEqual first: it is much the faster of the two.
		if want := plain(i, 20); !reflect.DeepEqual(want, rows[i]) {
			t.Fatalf("row %d (-want +got):\n%s", i, cmp.Diff(want, rows[i]))
		}
	}
}

func TestKilledRunLosesNoRowThatWasSafe(t *testing.T) {
	for name, c := range map[string]struct {
		atLeast int64
		env     string
	}{
		"real": {4000, ""},
		// One segment is complete, a row group of the next is listed.
		"virtual": {5 * rowGroupRows / 2, childVirtual + "=1"},
	} {
		t.Run(name, func(t *testing.T) {
			// The writer may be killed between two segments, or before the first row group
			// of one: then there is no row to take from it.
			for range 10 {
				if checkKilledRun(t, c.atLeast, c.env) > 0 || t.Failed() {
					return
				}
			}
			t.Error("ten runs had no row in the segment that was being written")
		})
	}
}

// checkKilledRun returns how many rows were recovered from the segment that was being
// written.
func checkKilledRun(t *testing.T, atLeast int64, env string) (recovered int64) {
	t.Helper()
	dir, safe := killedRun(t, atLeast, env)
	before := read(t, dir)
	checkPlain(t, before, safe)
	rep, err := Recover(dir)
	if err != nil {
		t.Fatal(err)
	}
	made := int64(0)
	for _, f := range rep.Files {
		made += f.Rows
	}
	if !rep.Done || made != rep.Rows {
		t.Errorf("report %+v", rep)
	}
	after := read(t, dir)
	checkPlain(t, after, safe)
	if len(after) != len(before) {
		t.Errorf("%d rows before recovery, %d after", len(before), len(after))
	}
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var listed int64
	for _, f := range run.Manifest.Files {
		listed += f.Rows
	}
	if m := run.Manifest; m.State != Interrupted || listed != int64(len(after)) || m.Outcomes["ok"] != listed || m.Counts != nil {
		t.Errorf("manifest %+v for %d rows", m, len(after))
	}
	if names := listDir(t, dir); strings.Contains(names, walSuffix) || strings.Contains(names, groupsSuffix) || strings.Contains(names, tmpSuffix) {
		t.Errorf("left behind: %s", names)
	}
	if rep, err := Recover(dir); err != nil || rep.Done {
		t.Errorf("second recovery: %+v, %v", rep, err)
	}
	return rep.Rows
}

func TestRecoverStopsAtDamage(t *testing.T) {
	rows := plainRows(20, 20)
	cols := columns()
	var whole memFile
	w := newWALWriter(cols)
	if err := errors.Join(w.open(&whole), w.append(rows)); err != nil {
		t.Fatal(err)
	}
	frame := (whole.Len() - len(walHeader(cols))) / len(rows)
	for _, c := range []struct {
		name   string
		damage func([]byte) []byte
		rows   int
	}{
		{"whole", func(b []byte) []byte { return b }, 20},
		{"cut in a frame", func(b []byte) []byte { return b[:len(b)-3] }, 19},
		{"cut in a frame's head", func(b []byte) []byte { return append(b, 1, 2, 3) }, 20},
		{"zeros behind", func(b []byte) []byte { return append(b, make([]byte, 4096)...) }, 20},
		{"a bit flipped half-way", func(b []byte) []byte {
			b[len(b)-frame*10] ^= 4
			return b
		}, 9},
		{"cut in the header", func(b []byte) []byte { return b[:5] }, 0},
		{"empty", func([]byte) []byte { return nil }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			m := newManifest(Meta{RunID: "run"})
			b, err := m.encode()
			if err != nil {
				t.Fatal(err)
			}
			wal := c.damage(append([]byte{}, whole.Bytes()...))
			writeFiles(t, dir, map[string][]byte{ManifestName: b, segmentName(1, walSuffix): wal})
			rep, err := Recover(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, dir)
			// Frames differ a little in length, so half-way is one of two rows.
			if len(got) != c.rows && !(c.name == "a bit flipped half-way" && len(got) == c.rows+1) {
				t.Errorf("%d rows, want %d", len(got), c.rows)
			}
			if (rep.LostBytes == 0) != (len(wal) == 0 || c.name == "whole" || c.name == "cut in the header") {
				t.Errorf("%d bytes lost", rep.LostBytes)
			}
			run, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			if n := run.Manifest.Counters[CounterTorn]; n != rep.LostBytes {
				t.Errorf("the manifest counts %d lost bytes, the report %d", n, rep.LostBytes)
			}
		})
	}
}

func writeFiles(t testing.TB, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARunningRunIsReadableAndNotRecovered(t *testing.T) {
	t.Run("real", func(t *testing.T) { checkRunningRun(t, Meta{RunID: "run"}, 1000, 2500, 2500) })
	t.Run("virtual", func(t *testing.T) {
		checkRunningRun(t, virtual, 3*rowGroupRows/2, 5*rowGroupRows/2+500, 5*rowGroupRows/2)
	})
}

// checkRunningRun writes n rows, of which safe can be read before the run ends.
func checkRunningRun(t *testing.T, m Meta, segment, n, safe int) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, m, SegmentRows(segment), Blocking())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		row := plain(i, 20)
		w.Write(&row)
	}
	for logged := int64(0); logged < int64(safe); {
		w.mu.Lock()
		logged = w.counts.logged
		w.mu.Unlock()
	}
	checkPlain(t, read(t, dir), int64(safe))
	if _, err := Recover(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("recovery of a live run: %v", err)
	}
	if _, err := Create(dir, m); err == nil {
		t.Error("a second writer was let in")
	}
	if err := w.Close(Final{State: Interrupted}); err != nil {
		t.Fatal(err)
	}
	checkPlain(t, read(t, dir), int64(n))
}

// TestRecoverOfRowGroupsStopsAtDamage cuts and damages what a virtual run that was
// killed leaves.
func TestRecoverOfRowGroupsStopsAtDamage(t *testing.T) {
	m := newManifest(virtual)
	cols := columns()
	src := t.TempDir()
	d, err := openDisk(src)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSegment(d, cols, &m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		rows := make([]Request, 10)
		for j := range rows {
			rows[j] = plain(10*i+j, 20)
		}
		if err := errors.Join(s.add(rows), s.flush(), s.log.append(&s.meta.RowGroups[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.abandon(), d.close()); err != nil {
		t.Fatal(err)
	}
	man, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	const tmp, list = "requests-00001.parquet.tmp", "requests-00001.groups"
	keep := func(b []byte) []byte { return b }
	for _, c := range []struct {
		name       string
		data, list func([]byte) []byte
		rows       int
		lost       bool
	}{
		{"whole", keep, keep, 30, false},
		{"row group not listed", func(b []byte) []byte { return append(b, "half a row group"...) }, keep, 30, true},
		{"list cut", keep, func(b []byte) []byte { return b[:len(b)-3] }, 20, true},
		{"list damaged", keep, func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, 10, true},
		{"data shorter than listed", func(b []byte) []byte { return b[:len(b)-3] }, keep, 20, true},
		{"list empty", keep, func([]byte) []byte { return nil }, 0, true},
		{"footer half written by a recovery", func(b []byte) []byte { return append(b, "PAR"...) }, keep, 30, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string][]byte{
				ManifestName: man, tmp: c.data(readFile(t, src, tmp)), list: c.list(readFile(t, src, list)),
			})
			checkPlain(t, read(t, dir), int64(c.rows))
			rep, err := Recover(dir)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, dir)
			checkPlain(t, got, int64(c.rows))
			if len(got) != c.rows || rep.Rows != int64(c.rows) || (rep.LostBytes > 0) != c.lost {
				t.Errorf("%d rows, want %d; report %+v", len(got), c.rows, rep)
			}
		})
	}
}

func FuzzWAL(f *testing.F) {
	cols := columns()
	var b memFile
	w := newWALWriter(cols)
	if err := errors.Join(w.open(&b), w.append(plainRows(2, 3))); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:len(b.Bytes())-1])
	f.Add([]byte(walHeader(cols) + "\xff\xff\xff\x03\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := newWALReader(strings.NewReader(string(in)), cols)
		if err != nil {
			return
		}
		var req Request
		for {
			err := r.next(&req)
			if err != nil {
				if r.good > int64(len(in)) {
					t.Fatalf("%d good bytes of %d", r.good, len(in))
				}
				return
			}
		}
	})
}

// FuzzWALRow feeds payloads past the checksum.
func FuzzWALRow(f *testing.F) {
	cols := columns()
	w := newWALWriter(cols)
	row := plain(1, 3)
	f.Add(w.frame(nil, &row)[walFrameHead:])
	f.Fuzz(func(t *testing.T, in []byte) {
		var r Request
		r.Reset()
		d := decoder{b: in}
		for i := range cols {
			if cols[i].get != nil {
				cols[i].get(&d, &r)
			}
		}
		if d.bad {
			return
		}
		again := w.frame(nil, &r)
		var back Request
		back.Reset()
		d = decoder{b: again[walFrameHead:]}
		for i := range cols {
			if cols[i].get != nil {
				cols[i].get(&d, &back)
			}
		}
		if diff := cmp.Diff(clone(&r), clone(&back)); diff != "" || d.bad {
			t.Fatal(diff)
		}
	})
}
