package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// file is what is written to.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// disk is the run directory as the writer sees it. Names are plain file names
// within it.
type disk interface {
	create(name string) (file, error)             // an existing file is emptied
	extend(name string, size int64) (file, error) // an existing file is cut to size, and written behind that
	rename(from, to string) error
	remove(name string) error
	sync() error  // makes created, renamed and removed names durable
	close() error // gives up the directory
}

// osDisk is a directory of the operating system, held by a lock for as long as
// it is written to: a second writer, or a recovery of a run that is not dead,
// would destroy rows.
type osDisk struct {
	dir   string
	lock  *os.File
	spare reserve
}

func openDisk(dir string) (*osDisk, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is being written by another process; wait for it to end, or stop it: %w", dir, err), f.Close())
	}
	return newOSDisk(dir, f), nil
}

// newOSDisk is the directory that lock holds, with files in reserve.
func newOSDisk(dir string, lock *os.File) *osDisk {
	d := &osDisk{dir: dir, lock: lock}
	d.spare.fill()
	return d
}

func (d *osDisk) create(name string) (file, error) {
	return d.spare.open(filepath.Join(d.dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
}

func (d *osDisk) extend(name string, size int64) (file, error) {
	f, err := d.spare.open(filepath.Join(d.dir, name), os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(size)
	if err == nil {
		_, err = f.Seek(size, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *osDisk) rename(from, to string) error {
	return os.Rename(filepath.Join(d.dir, from), filepath.Join(d.dir, to))
}

func (d *osDisk) remove(name string) error { return os.Remove(filepath.Join(d.dir, name)) }

func (d *osDisk) sync() error { return d.lock.Sync() }

func (d *osDisk) close() error {
	d.spare.end()
	return d.lock.Close()
}

// replaceFile writes name as a whole or not at all.
func replaceFile(d disk, name string, b []byte) error {
	f, err := d.create(name + tmpSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return commit(d, f, name, err)
}

// commit closes f, which was created as name.tmp, and gives it its name; or
// removes it, if it was not written well.
func commit(d disk, f file, name string, err error) error {
	if err = settle(d, f, name, err); err == nil {
		return nil
	}
	if e := d.remove(name + tmpSuffix); e != nil && !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e)
	}
	return err
}

// settle is commit, but for a file that was not written well, which stays.
func settle(d disk, f file, name string, err error) error {
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = d.rename(name+tmpSuffix, name)
	}
	if err == nil {
		err = d.sync()
	}
	return err
}
