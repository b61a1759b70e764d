//go:build unix

package record

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReserve: files of a run are made when the process may open no more, as often as
// there is something in reserve, which fills up again.
func TestReserve(t *testing.T) {
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Skip("the limit of files is not known: ", err)
	}
	dir := t.TempDir()
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Skip("the limit of files can't be set: ", err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	}()
	var taken []*os.File
	release := func() {
		for _, f := range taken {
			f.Close()
		}
		taken = nil
	}
	defer release()
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, f)
	}
	for i := range reserved {
		f, err := d.create("a")
		if err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
		taken = append(taken, f.(*os.File))
	}
	release()
	f, err := d.extend("a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Close(); len(d.spare.held) != reserved {
		t.Errorf("%d files in reserve, want %d", len(d.spare.held), reserved)
	}
	if err := d.close(); err != nil || len(d.spare.held) != 0 {
		t.Errorf("%v, %d files in reserve at the end", err, len(d.spare.held))
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
}
