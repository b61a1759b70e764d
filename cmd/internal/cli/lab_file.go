package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/compare"
	"goodput/report/tui"
)

// progressName is the file in the directory of a sweep or a comparison that tells others
// how far it is. It is gone when that has ended in order.
const progressName = "progress.json"

// progressEvery is how often it is written, and progressGone how old it is when nobody
// writes it any more.
const (
	progressEvery = 500 * time.Millisecond
	progressGone  = 20 * time.Second
)

// mostProgress is the most bytes of it that are read.
const mostProgress = 64 << 20

// keepProgress writes into dir how far l is, until done is called.
func (l *lab) keepProgress(dir string) (done func()) {
	name := filepath.Join(dir, progressName)
	l.writeProgress(name)
	stop := clock.Every(progressEvery, func() { l.writeProgress(name) })
	return sync.OnceFunc(func() {
		stop()
		_ = os.Remove(name) // whoever looks on sees the files of the end before
	})
}

// writeProgress does so. Who can't read it has the files of the end: what goes wrong here
// is not told.
func (l *lab) writeProgress(name string) {
	l.mu.Lock()
	p := tui.Told{Picture: l.whole(), Doing: l.doing}
	l.mu.Unlock()
	b, err := json.Marshal(&p)
	if err == nil {
		err = os.WriteFile(name+".tmp", b, 0o666)
	}
	if err == nil {
		_ = os.Rename(name+".tmp", name)
	}
}

// followed is an experiment that another process makes. It belongs to one goroutine, as
// tui.Source says.
type followed struct {
	dir   string
	polls int
	at    tui.Told
	over  source // nil: it goes on
}

// source is an experiment that screens can show.
type source interface {
	tui.Source
	tui.Experiment
}

var _ source = (*followed)(nil)

// follow looks for an experiment under way in dir; ok is false if there is none.
func follow(dir string) (f *followed, ok bool, err error) {
	f = &followed{dir: dir}
	switch err := f.read(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	return f, true, nil
}

// read takes what the file tells now.
func (f *followed) read() error {
	name := filepath.Join(f.dir, progressName)
	b, err := readLimited(name, mostProgress)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	p, err := tui.ParseTold(b)
	if err != nil {
		return fmt.Errorf("reading how far %s is: %w: remove %s if nobody writes it any more", f.dir, err, name)
	}
	if clock.Wall().Sub(info.ModTime()) > progressGone {
		p.Picture.State = "gone"
	}
	f.at = p
	return nil
}

// Picture implements tui.Source.
func (f *followed) Picture(q monitor.Query) (monitor.Picture, error) {
	if f.over != nil {
		return f.over.Picture(q)
	}
	if f.polls++; f.polls%tailEvery == 0 {
		err := f.read()
		if errors.Is(err, fs.ErrNotExist) {
			if f.over, err = openExperiment(f.dir); err == nil {
				return f.over.Picture(q)
			}
		}
		if err != nil {
			return monitor.Picture{}, err
		}
	}
	return f.at.Picture, nil
}

// Doing implements tui.Experiment.
func (f *followed) Doing() tui.Doing {
	if f.over != nil {
		return f.over.Doing()
	}
	return f.at.Doing
}

// openExperiment reads one that is over; nil: what is in dir is none.
func openExperiment(dir string) (source, error) {
	x, ok, err := compare.ReadIndex(dir)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return openComparison(dir, &x, filepath.Base(dir))
	}
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	if run.Manifest.Load[record.LoadKind] != record.Sweep {
		return nil, nil
	}
	return openSweep(run, filepath.Base(dir)+": "+run.Manifest.Target["text"])
}
