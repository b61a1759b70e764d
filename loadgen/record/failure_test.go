package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// fullDisk is a directory on a disk that has room for some bytes more.
type fullDisk struct {
	lazyDisk
	left *atomic.Int64
	only string // suffix of the files that count; empty: all
}

var errFull = errors.New("no space left on the test's device")

func (d fullDisk) create(name string) (file, error) {
	f, err := d.lazyDisk.create(name)
	if err != nil || !strings.HasSuffix(strings.TrimSuffix(name, tmpSuffix), d.only) {
		return f, err
	}
	return fullFile{f, d.left}, nil
}

type fullFile struct {
	file
	left *atomic.Int64
}

func (f fullFile) Write(b []byte) (int, error) {
	if left := f.left.Add(-int64(len(b))); left < 0 {
		n := max(0, int64(len(b))+left)
		n2, err := f.file.Write(b[:n])
		return n2, errors.Join(errFull, err)
	}
	return f.file.Write(b)
}

func onFullDisk(room int64, only string) Option {
	return func(c *config) {
		c.disk = func(dir string) (disk, error) {
			d, err := openDisk(dir)
			left := &atomic.Int64{}
			left.Store(room)
			return fullDisk{lazyDisk{d}, left, only}, err
		}
	}
}

// Invariant 12: a full disk stops the recording, loudly, and nothing else; what
// was safe stays readable.
func TestInvariant12FullDiskStopsTheRecordingOnly(t *testing.T) {
	for _, c := range []struct {
		name string
		room int64
		only string
		meta Meta
	}{
		{"write-ahead file", 400_000, walSuffix, Meta{RunID: "run"}},
		{"segment", 20_000, segmentSuffix, Meta{RunID: "run"}},
		{"segment of a virtual run", 300_000, segmentSuffix, virtual},
		{"list of row groups", 1000, groupsSuffix, virtual},
		{"first byte of the segment", 0, segmentSuffix, virtual},
		{"latency log", 500, LatencyName, virtual},
		{"everything", 400_000, "", virtual},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			var calls atomic.Int32
			segment := 4000
			if c.meta.Virtual {
				segment = rowGroupRows + 1000
			}
			w, err := Create(dir, c.meta, Blocking(), SegmentRows(segment), onFullDisk(c.room, c.only),
				OnError(func(error) { calls.Add(1) }))
			if err != nil {
				t.Fatal(err)
			}
			const n = 12_000 // more than a row group
			for i := range n {
				row := plain(i, 20)
				w.Write(&row) // must return, although it may wait for the disk
			}
			err = w.Close(Final{Counts: &Counts{Scheduled: n, Completed: n}})
			if !errors.Is(err, errFull) || !errors.Is(w.Err(), errFull) || calls.Load() != 1 {
				t.Errorf("Close: %v, Err: %v, OnError called %d times", err, w.Err(), calls.Load())
			}
			run, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			rows := read(t, dir)
			checkPlain(t, rows, 0)
			if c.only == "" {
				return // not even the manifest could be written again
			}
			m := run.Manifest
			if m.State != Interrupted || !strings.Contains(m.Problem, errFull.Error()) {
				t.Errorf("state %s, problem %q", m.State, m.Problem)
			}
			if got := int64(len(rows)) + m.Counters[CounterLost] + m.Counters[CounterDropped]; got < n || got > n+batchRows {
				t.Errorf("%d rows kept, %d lost: together %d of %d", len(rows), m.Counters[CounterLost], got, n)
			}
			if m.Outcomes["ok"] != n {
				t.Errorf("%d outcomes counted of %d", m.Outcomes["ok"], n)
			}
			if _, err := Recover(dir); err != nil {
				t.Fatal(err)
			}
			if again := read(t, dir); len(again) != len(rows) {
				t.Errorf("%d rows after recovery, %d before", len(again), len(rows))
			}
		})
	}
}

// stuckDisk is a disk that does not answer until it is let go.
type stuckDisk struct {
	*osDisk
	free chan struct{}
}

func (d stuckDisk) create(name string) (file, error) {
	f, err := d.osDisk.create(name)
	if strings.HasSuffix(name, walSuffix) {
		return stuckFile{f, d.free}, err
	}
	return f, err
}

type stuckFile struct {
	file
	free chan struct{}
}

func (f stuckFile) Write(b []byte) (int, error) {
	<-f.free
	return f.file.Write(b)
}

// Invariants 11 and 12: a stuck disk costs rows, which are counted, and no time.
func TestInvariant12StuckDiskCostsCountedRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	free := make(chan struct{})
	w, err := Create(dir, Meta{RunID: "run"}, func(c *config) {
		c.queueBatches = 4
		c.disk = func(dir string) (disk, error) {
			d, err := openDisk(dir)
			return stuckDisk{d, free}, err
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	for i := range n {
		row := plain(i, 20)
		w.Write(&row) // would hang here if it waited
	}
	close(free)
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := read(t, dir)
	checkPlain(t, rows, 4*batchRows)
	if d := run.Manifest.Counters[CounterDropped]; d == 0 || int64(len(rows))+d != n {
		t.Errorf("%d rows kept, %d counted as dropped, of %d", len(rows), d, n)
	}
}

func TestRowsWrittenAfterCloseAreRefused(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), virtual)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
	row := plain(0, 0)
	w.Write(&row)
	if w.counts.rejected != 1 {
		t.Errorf("%d rows refused", w.counts.rejected)
	}
	if err := w.Close(Final{}); err == nil {
		t.Error("closed twice")
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		meta Meta
		opts []Option
		want string
	}{
		{"a run", func(t *testing.T, dir string) {
			writeFiles(t, dir, map[string][]byte{ManifestName: []byte("{}")})
		}, virtual, nil, "already holds a run (manifest.json)"},
		{"a segment", func(t *testing.T, dir string) {
			writeFiles(t, dir, map[string][]byte{"requests-00001.parquet": nil})
		}, virtual, nil, "already holds a run"},
		{"no id", nil, Meta{}, nil, "no id"},
		{"no rows", nil, virtual, []Option{SegmentRows(0)}, "0 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(dir, c.name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.make != nil {
				c.make(t, dir)
			}
			if _, err := Create(dir, c.meta, c.opts...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWriteFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, virtual)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteFile("plan.yaml", []byte("seed: 1\n")); err != nil {
		t.Fatal(err)
	}
	if got := string(readFile(t, dir, "plan.yaml")); got != "seed: 1\n" {
		t.Errorf("plan.yaml holds %q", got)
	}
	for _, name := range []string{"../plan.yaml", "a/b", "", ".", ManifestName, LatencyName, "requests-00009.parquet"} {
		if err := w.WriteFile(name, nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
}
