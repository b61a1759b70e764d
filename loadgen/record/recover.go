package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Report says what Recover did.
type Report struct {
	// Done is false when there was nothing to recover.
	Done bool
	// Rows is the number of rows taken from write-ahead files, Files the segments
	// made of them.
	Rows  int64
	Files []File
	// Sessions is the number of sessions that were taken from theirs.
	Sessions int64
	// LostBytes is what could not be read at the end of write-ahead files: at most
	// the rows that were being written when the process died.
	LostBytes int64
}

// Recover finishes a run that was cut by a crash: it makes Parquet segments of
// the write-ahead files, rebuilds the latency log and marks the manifest
// interrupted. It loses no row that had reached a write-ahead file. Doing it
// twice, or after a crash within it, does no harm. It refuses a run that is
// still being written.
func Recover(dir string) (Report, error) {
	m, err := readManifest(dir)
	if err != nil {
		return Report{}, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return Report{}, fmt.Errorf("recover: %w", err)
	}
	r := recovery{dir: dir, disk: d, man: m, cols: columns()}
	err = r.run()
	if e := d.close(); err == nil {
		err = e
	}
	if err != nil {
		return r.report, fmt.Errorf("recover %s: %w", dir, err)
	}
	return r.report, nil
}

type recovery struct {
	dir    string
	disk   disk
	man    Manifest
	cols   []column
	report Report
}

func (r *recovery) run() error {
	open, err := r.tidy()
	if err != nil {
		return err
	}
	var torn int64
	if r.report.Sessions, torn, err = recoverSessions(r.disk, r.dir); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	r.report.LostBytes += torn
	if len(open) == 0 && r.man.State != Running && r.report.Sessions == 0 {
		return nil
	}
	r.report.Done = true
	for _, p := range open {
		finish := r.segment
		if p.form == formGroups {
			finish = r.groups
		}
		if err := finish(p.n); err != nil {
			return err
		}
	}
	if err := r.recount(); err != nil {
		return err
	}
	r.man.State = Interrupted
	if r.man.Problem == "" {
		r.man.Problem = "the process ended before the run did; recovered from the write-ahead files"
	}
	r.man.count(CounterTorn, r.man.Counters[CounterTorn]+r.report.LostBytes)
	b, err := r.man.encode()
	if err != nil {
		return err
	}
	return replaceFile(r.disk, ManifestName, b)
}

// tidy removes what a crash can leave unfinished, and the write-ahead files and
// lists of row groups whose segment is complete. It returns the other segments.
func (r *recovery) tidy() ([]part, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	parts, err := listParts(r.dir)
	if err != nil {
		return nil, err
	}
	var open []part
	for _, p := range parts {
		if p.form != formDone {
			open = append(open, p)
		}
	}
	for _, e := range entries {
		name := e.Name()
		stale := name == ManifestName+tmpSuffix
		if n, ok := segmentNumber(name, walSuffix); ok {
			stale = !slices.Contains(open, part{n, formWAL})
		}
		if n, ok := segmentNumber(name, groupsSuffix); ok {
			stale = !slices.Contains(open, part{n, formGroups})
		}
		if n, ok := segmentNumber(name, segmentSuffix+tmpSuffix); ok {
			stale = !slices.Contains(open, part{n, formGroups})
		}
		if stale {
			if err := r.disk.remove(name); err != nil {
				return nil, err
			}
		}
	}
	return open, nil
}

// groups completes segment n with the row groups that are listed, then removes
// the list.
func (r *recovery) groups(n int) error {
	meta, end, lost, err := openGroups(r.dir, n, r.cols, &r.man)
	if err != nil {
		return err
	}
	s := &segment{disk: r.disk, name: segmentName(n, segmentSuffix), meta: *meta, size: end}
	if s.out, err = r.disk.extend(s.name+tmpSuffix, end); err != nil {
		return err
	}
	b, err := footer(&s.meta)
	if err == nil {
		err = s.write(b)
	}
	if err := settle(r.disk, s.out, s.name, err); err != nil {
		return fmt.Errorf("write %s: %w", s.name, err)
	}
	f := File{Name: s.name, Rows: s.meta.NumRows}
	r.report.LostBytes += lost
	r.report.Rows += f.Rows
	r.report.Files = append(r.report.Files, f)
	return r.disk.remove(segmentName(n, groupsSuffix))
}

// segment makes the Parquet file of write-ahead file n, then removes the latter.
func (r *recovery) segment(n int) error {
	name := segmentName(n, walSuffix)
	in, err := os.Open(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	defer in.Close()
	wal, err := newWALReader(in, r.cols)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	made, err := newSegments(r.disk, r.cols, &r.man, 0)
	if err != nil {
		return err
	}
	s, err := made.create(n)
	if err != nil {
		return err
	}
	if err := r.copyRows(wal, s); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), s.abandon())
	}
	info, err := in.Stat()
	if err != nil {
		return errors.Join(err, s.abandon())
	}
	f, err := s.finish()
	if err != nil {
		return err
	}
	r.report.LostBytes += info.Size() - wal.good
	r.report.Rows += f.Rows
	r.report.Files = append(r.report.Files, f)
	return r.disk.remove(name)
}

func (r *recovery) copyRows(wal *walReader, s *segment) error {
	rows := make([]Request, batchRows)
	for n := 0; ; n++ {
		if n == len(rows) {
			if err := s.add(rows); err != nil {
				return err
			}
			n = 0
		}
		err := wal.next(&rows[n])
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return s.add(rows[:n])
		}
		if err != nil {
			return err
		}
	}
}

// recount goes through all rows for what the manifest and the latency log say of
// them.
func (r *recovery) recount() error {
	run, err := Open(r.dir)
	if err != nil {
		return err
	}
	run.Manifest.Files = nil
	log, err := newLatencyLog(r.disk, Meta{Virtual: r.man.Virtual, Epoch: r.man.epoch()})
	if err != nil {
		return err
	}
	all := make([]bool, len(r.cols))
	for i, c := range r.cols {
		all[i] = c.needs == nil
	}
	var ended [NumOutcomes]int64
	r.man.Files = nil
	for _, p := range run.parts {
		var rows int64
		err := run.readPart(p, all, func(q *Request) error {
			rows++
			if q.Final {
				ended[q.Outcome]++
			}
			return log.add(q, nil)
		})
		if err != nil {
			return errors.Join(err, log.close())
		}
		r.man.Files = append(r.man.Files, File{Name: segmentName(p.n, segmentSuffix), Rows: rows})
	}
	if r.man.Outcomes == nil {
		r.man.Outcomes = outcomeCounts(&ended)
	}
	err = log.close()
	r.man.count(CounterClamped, log.clamped)
	return err
}
