package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// listSessions finds the segments of sessions in dir: a Parquet file, or else the
// write-ahead file.
func listSessions(dir string) ([]part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, form := range []form{formDone, formWAL} {
		suffix := segmentSuffix
		if form == formWAL {
			suffix = walSuffix
		}
		for _, e := range entries {
			if n, ok := sessionNumber(e.Name(), suffix); ok && !slices.Contains(parts, part{n, formDone}) {
				parts = append(parts, part{n, form})
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.n - b.n })
	return parts, nil
}

// Sessions calls f for every session of the run, in the order in which they ended; of
// a run that is being written, or was cut off, for those that are safe so far. found is
// false for a run that has no sessions.
func (r *Run) Sessions(f func(*Session) error) (found bool, err error) {
	parts, err := listSessions(r.Dir)
	if err != nil {
		return false, fmt.Errorf("read sessions: %w", err)
	}
	for _, p := range parts {
		if err := r.readSessionPart(p, f); err != nil {
			return true, err
		}
	}
	return len(parts) > 0, nil
}

func (r *Run) readSessionPart(p part, f func(*Session) error) error {
	if p.form == formWAL {
		rows, _, err := sessionFrames(filepath.Join(r.Dir, sessionFile(p.n, walSuffix)))
		if err == nil {
			return eachSession(rows, f)
		}
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		// It is complete, since the files were listed.
	}
	return r.readSessions(p.n, f)
}

// sessionFrames reads a write-ahead file up to the first frame that is not whole;
// lost is the number of bytes from there on.
func sessionFrames(name string) (rows []sessionRow, lost int64, err error) {
	rows, good, size, err := sessionFramesFrom(name, 0)
	return rows, size - good, err
}

// sessionFramesFrom begins at a frame, or at the first one; good is where the first one
// begins that is not whole, of size bytes.
func sessionFramesFrom(name string, at int64) (rows []sessionRow, good, size int64, err error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, 0, 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, 0, 0, err
	}
	w, err := newFrameReader(in, sessionWALHead)
	if err == nil && at > w.good {
		if _, err = in.Seek(at, io.SeekStart); err == nil {
			w.in.Reset(in)
			w.good = at
		}
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read %s: %w", name, err)
	}
	for {
		payload, err := w.frame()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return rows, w.good, info.Size(), nil
		}
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read %s: %w", name, err)
		}
		var r sessionRow
		if json.Unmarshal(payload, &r) != nil {
			return rows, w.good, info.Size(), nil
		}
		rows = append(rows, r)
		w.accept(payload)
	}
}

func eachSession(rows []sessionRow, f func(*Session) error) error {
	for i := range rows {
		s, err := rows[i].session()
		if err == nil {
			err = f(&s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) readSessions(n int, f func(*Session) error) error {
	name := filepath.Join(r.Dir, sessionFile(n, segmentSuffix))
	return readRowFile(name, "sessions", func(row *sessionRow) error {
		s, err := row.session()
		if err != nil {
			return err
		}
		return f(&s)
	})
}

// recoverSessions makes Parquet files of the write-ahead files of sessions.
func recoverSessions(d disk, dir string) (sessions, lost int64, err error) {
	parts, err := listSessions(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, p := range parts {
		wal := sessionFile(p.n, walSuffix)
		if p.form == formDone {
			if err := d.remove(wal); err != nil && !errors.Is(err, os.ErrNotExist) {
				return sessions, lost, err
			}
			continue
		}
		rows, torn, err := sessionFrames(filepath.Join(dir, wal))
		if err == nil {
			err = writeSessions(d, p.n, rows)
		}
		if err == nil {
			err = d.remove(wal)
		}
		if err != nil {
			return sessions, lost, err
		}
		sessions, lost = sessions+int64(len(rows)), lost+torn
	}
	return sessions, lost, nil
}
