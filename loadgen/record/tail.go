package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Tail reads a run that is being written, row by row as they come. It belongs to one
// goroutine, and holds no file open.
type Tail struct {
	dir  string
	part int   // the segment that was read last
	rows int64 // of it
	at   int64 // where the next frame of its write-ahead file begins; 0: not known

	sessions struct{ part, rows, at int64 } // the same of those
}

// NewTail returns a tail of the run in dir, from its first row.
func NewTail(dir string) *Tail { return &Tail{dir: dir} }

// Next calls f for each row that has come since the last call, in the order of the
// files, and tells the run's state before them: once that is not Running there are no
// more. The Request is valid until f returns; after an error of f the reading can't be
// resumed.
func (t *Tail) Next(f func(*Request) error) (State, error) {
	run, err := Open(t.dir)
	if err != nil {
		return "", err
	}
	for _, p := range run.parts {
		if p.n < t.part {
			continue
		}
		if p.n > t.part {
			t.part, t.rows, t.at = p.n, 0, 0
		}
		if err := t.read(run, p, f); err != nil {
			return "", err
		}
	}
	return run.Manifest.State, nil
}

// read reads what is new in segment p.
func (t *Tail) read(run *Run, p part, f func(*Request) error) error {
	if p.form == formWAL {
		err := t.frames(run, p, f)
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		// It is complete, since the files were listed.
	}
	cols, err := project(run.cols, readConfig{})
	if err != nil {
		return err
	}
	var n int64
	return run.readPart(p, cols, func(r *Request) error {
		if n++; n <= t.rows {
			return nil
		}
		t.rows = n
		return f(r)
	})
}

// frames reads the frames from t.at on.
func (t *Tail) frames(run *Run, p part, f func(*Request) error) error {
	name := filepath.Join(run.Dir, segmentName(p.n, walSuffix))
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	wal, err := newWALReader(in, run.cols)
	if err == nil && t.at > wal.good {
		if _, err = in.Seek(t.at, io.SeekStart); err == nil {
			wal.in.Reset(in)
			wal.good = t.at
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	var r Request
	for {
		switch err := wal.next(&r); {
		case errors.Is(err, io.EOF), errors.Is(err, errTorn):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		}
		t.at = wal.good
		t.rows++
		if err := f(&r); err != nil {
			return err
		}
	}
}

// Sessions calls f for each session that has come since the last call, in the order in
// which they ended. A run of single requests has none.
func (t *Tail) Sessions(f func(*Session) error) error {
	parts, err := listSessions(t.dir)
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	for _, p := range parts {
		x := &t.sessions
		if int64(p.n) < x.part {
			continue
		}
		if int64(p.n) > x.part {
			x.part, x.rows, x.at = int64(p.n), 0, 0
		}
		if err := t.readSessions(p, f); err != nil {
			return err
		}
	}
	return nil
}

// readSessions reads what is new in segment p.
func (t *Tail) readSessions(p part, f func(*Session) error) error {
	x := &t.sessions
	if p.form == formWAL {
		rows, at, _, err := sessionFramesFrom(filepath.Join(t.dir, sessionFile(p.n, walSuffix)), x.at)
		if err == nil {
			x.at, x.rows = at, x.rows+int64(len(rows))
			return eachSession(rows, f)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		// It is complete, since the files were listed.
	}
	var n int64
	return (&Run{Dir: t.dir}).readSessions(p.n, func(s *Session) error {
		if n++; n <= x.rows {
			return nil
		}
		x.rows = n
		return f(s)
	})
}
