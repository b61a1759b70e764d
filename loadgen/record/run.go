package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Run is a run directory opened for reading. It holds no file open.
type Run struct {
	Dir      string
	Manifest Manifest
	parts    []part
	cols     []column
}

// part is one segment: its Parquet file if that is complete, otherwise its
// write-ahead file or its list of row groups.
type part struct {
	n    int
	form form
}

type form uint8

const (
	formDone form = iota
	formWAL
	formGroups
)

// ReadOption narrows what Requests reads.
type ReadOption func(*readConfig)

type readConfig struct {
	only []string
	skip []string
}

// Columns reads only these columns of FORMAT.md; the other fields of a Request
// stay unknown. Naming a derived column, such as ttft, reads what its method
// needs. Rows of a write-ahead file come whole.
func Columns(names ...string) ReadOption {
	return func(c *readConfig) { c.only = append(c.only, names...) }
}

// WithoutGaps leaves out the per-token lists, which are most of a file.
func WithoutGaps() ReadOption {
	return func(c *readConfig) { c.skip = append(c.skip, "token_gaps_us", "chunk_tokens") }
}

// Open opens a run that is complete, interrupted or still being written. Of the
// latter it sees the segments that there are now.
func Open(dir string) (*Run, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	parts, err := listParts(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		if n, _ := segmentNumber(f.Name, segmentSuffix); !slices.Contains(parts, part{n, formDone}) {
			return nil, fmt.Errorf("open run: %s lists %s, which is not in %s; copy the whole directory", ManifestName, f.Name, dir)
		}
	}
	return &Run{Dir: dir, Manifest: m, parts: parts, cols: columns()}, nil
}

func readManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Manifest{}, fmt.Errorf("no run in %s: expected %s; name the directory that goodput run wrote", dir, ManifestName)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("open run: %w", err)
	}
	m, err := ParseManifest(b)
	if err != nil {
		return Manifest{}, fmt.Errorf("open run %s: %w", path, err)
	}
	return m, nil
}

func listParts(dir string) ([]part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	var parts []part
	for _, kind := range []struct {
		form   form
		suffix string
	}{{formDone, segmentSuffix}, {formWAL, walSuffix}, {formGroups, groupsSuffix}} {
		for _, e := range entries {
			n, ok := segmentNumber(e.Name(), kind.suffix)
			if ok && !slices.Contains(parts, part{n, formDone}) {
				parts = append(parts, part{n, kind.form})
			}
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.n - b.n })
	return parts, nil
}

// Requests calls f for every row in the order of the files. The Request and its
// slices are valid until f returns; an error of f ends the reading and is
// returned as it is. Write-ahead files are read up to the first frame that is
// not whole, which is the normal end of one that is being written.
func (r *Run) Requests(f func(*Request) error, opts ...ReadOption) error {
	var cfg readConfig
	for _, o := range opts {
		o(&cfg)
	}
	cols, err := project(r.cols, cfg)
	if err != nil {
		return err
	}
	if f, err = r.joined(f, cols); err != nil {
		return err
	}
	for _, p := range r.parts {
		if err := r.readPart(p, cols, f); err != nil {
			return err
		}
	}
	return nil
}

// joined is f behind the search for accounts of servers in the run's spans, if the
// columns are asked for that this can fill in. It adds those that it needs.
func (r *Run) joined(f func(*Request) error, cols []bool) (func(*Request) error, error) {
	asked := false
	for i, c := range r.cols {
		asked = asked || cols[i] && slices.Contains(joinedColumns, c.name)
	}
	if !asked {
		return f, nil
	}
	j, err := newJoiner(r)
	if err != nil || j == nil {
		return f, err
	}
	for i, c := range r.cols {
		cols[i] = cols[i] || slices.Contains(joinNeeds, c.name)
	}
	return func(row *Request) error {
		j.join(row)
		return f(row)
	}, nil
}

func (r *Run) readPart(p part, cols []bool, f func(*Request) error) error {
	var err error
	switch p.form {
	case formWAL:
		err = r.readWAL(p.n, f)
	case formGroups:
		err = r.readGroups(p.n, cols, f)
	default:
		err = os.ErrNotExist
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// The segment is complete, perhaps since Open.
	name := segmentName(p.n, segmentSuffix)
	rows, err := readSegment(filepath.Join(r.Dir, name), r, cols, f)
	if err != nil {
		return err
	}
	for _, file := range r.Manifest.Files {
		if file.Name == name && file.Rows != rows {
			return fmt.Errorf("read %s: %d rows, but the manifest of %s says %d; one of them was replaced", name, rows, r.Dir, file.Rows)
		}
	}
	return nil
}

// readGroups reads the row groups of a segment that has no footer yet.
func (r *Run) readGroups(n int, cols []bool, f func(*Request) error) error {
	meta, end, _, err := openGroups(r.Dir, n, r.cols, &r.Manifest)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.Dir, err)
	}
	path := filepath.Join(r.Dir, segmentName(n, segmentSuffix+tmpSuffix))
	in, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.Dir, err)
	}
	defer in.Close()
	tail, err := footer(meta)
	if err != nil {
		return err
	}
	t := &tailed{in: in, end: end, tail: tail}
	_, err = readParquet(path, t, t.size(), r, cols, f)
	return err
}

func (r *Run) readWAL(n int, f func(*Request) error) error {
	name := segmentName(n, walSuffix)
	in, err := os.Open(filepath.Join(r.Dir, name))
	if err != nil {
		return err
	}
	defer in.Close()
	wal, err := newWALReader(in, r.cols)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(r.Dir, name), err)
	}
	var req Request
	for {
		switch err := wal.next(&req); {
		case errors.Is(err, io.EOF), errors.Is(err, errTorn):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", filepath.Join(r.Dir, name), err)
		}
		if err := f(&req); err != nil {
			return err
		}
	}
}

// project tells for each column whether it is to be read.
func project(cols []column, cfg readConfig) ([]bool, error) {
	use := make([]bool, len(cols))
	index := func(name string) int {
		return slices.IndexFunc(cols, func(c column) bool { return c.name == name })
	}
	for i, c := range cols {
		use[i] = cfg.only == nil && c.needs == nil
	}
	for _, name := range cfg.only {
		i := index(name)
		if i < 0 {
			return nil, fmt.Errorf("read requests: no column %q; FORMAT.md lists them", name)
		}
		if cols[i].needs == nil {
			use[i] = true
		}
		for _, need := range cols[i].needs {
			use[index(need)] = true
		}
	}
	for _, name := range cfg.skip {
		use[index(name)] = false
	}
	return use, nil
}
