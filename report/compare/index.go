package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// IndexName is the file that makes a directory a comparison.
const IndexName = "compare.json"

// indexSchema is the version of the file.
const indexSchema = 1

// maxIndex is the most bytes of it.
const maxIndex = 16 << 20

// Index is compare.json: which runs belong together.
type Index struct {
	Schema int      `json:"schema"`
	Arms   []Arm    `json:"arms"` // the first is what the others are compared with
	Seeds  []uint64 `json:"seeds"`
	Runs   []Entry  `json:"runs"` // in the order in which they were begun
	// Knees are the searches of the arms' knees.
	Knees []Search `json:"knees,omitempty"`
	// Split are the runs in which both arms had a part of the load: request or session.
	Split *SplitIndex `json:"split,omitempty"`
}

// SplitIndex names the runs that were split, one for each seed; their rows name the arms
// baseline and canary.
type SplitIndex struct {
	By   string   `json:"by"`
	Dirs []string `json:"dirs"` // in the order of the seeds
}

// Search is the sweep of an arm, in a directory below that of the comparison.
type Search struct {
	Arm string `json:"arm"`
	Dir string `json:"dir"`
}

// Arm is one of what is compared: a plan with some values of its own.
type Arm struct {
	Name string    `json:"name"`
	Set  []Setting `json:"set"`
}

// Setting is one value of an arm's plan.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Entry is one run, in a directory below that of the comparison.
type Entry struct {
	Arm  string `json:"arm"`
	Seed uint64 `json:"seed"`
	Dir  string `json:"dir"`
}

// ReadIndex reads the index of a comparison; ok is false if dir is none.
func ReadIndex(dir string) (x Index, ok bool, err error) {
	name := filepath.Join(dir, IndexName)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Index{}, false, nil
	case err != nil:
		return Index{}, false, fmt.Errorf("reading a comparison: %w", err)
	case info.Size() > maxIndex:
		return Index{}, false, fmt.Errorf("reading a comparison: %s has %d bytes, more than the limit of %d", name, info.Size(), maxIndex)
	}
	text, err := os.ReadFile(name)
	if err == nil {
		x, err = ParseIndex(text)
	}
	if err != nil {
		return Index{}, false, fmt.Errorf("reading %s: %w", name, err)
	}
	return x, true, nil
}

// ParseIndex reads compare.json strictly.
func ParseIndex(text []byte) (Index, error) {
	var x Index
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return x, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return x, errors.New("text after the closing brace")
	}
	return x, x.check()
}

func (x *Index) check() error {
	if x.Schema != indexSchema {
		return fmt.Errorf("schema %d, but this program reads schema %d: use the version of goodput that made it", x.Schema, indexSchema)
	}
	if len(x.Arms) == 0 {
		return errors.New("it names no arms")
	}
	for i, a := range x.Arms {
		if a.Name == "" || slices.ContainsFunc(x.Arms[:i], func(b Arm) bool { return b.Name == a.Name }) {
			return fmt.Errorf("arm %q is named twice or not at all", a.Name)
		}
	}
	type key struct {
		arm  string
		seed uint64
	}
	seen := map[key]bool{}
	for _, e := range x.Runs {
		k := key{e.Arm, e.Seed}
		switch {
		case !filepath.IsLocal(e.Dir):
			return fmt.Errorf("%q is no directory below the comparison", e.Dir)
		case !slices.ContainsFunc(x.Arms, func(a Arm) bool { return a.Name == e.Arm }) || !slices.Contains(x.Seeds, e.Seed):
			return fmt.Errorf("the run %s is of arm %q and seed %d, which are not listed", e.Dir, e.Arm, e.Seed)
		case seen[k]:
			return fmt.Errorf("arm %q has two runs of seed %d", e.Arm, e.Seed)
		}
		seen[k] = true
	}
	if x.Split != nil && slices.ContainsFunc(x.Split.Dirs, func(d string) bool { return !filepath.IsLocal(d) }) {
		return errors.New("a split run is in no directory below the comparison")
	}
	for i, e := range x.Knees {
		switch {
		case !filepath.IsLocal(e.Dir):
			return fmt.Errorf("%q is no directory below the comparison", e.Dir)
		case !slices.ContainsFunc(x.Arms, func(a Arm) bool { return a.Name == e.Arm }):
			return fmt.Errorf("the knee in %s is of arm %q, which is not listed", e.Dir, e.Arm)
		case slices.ContainsFunc(x.Knees[:i], func(b Search) bool { return b.Arm == e.Arm }):
			return fmt.Errorf("arm %q has two knees", e.Arm)
		}
	}
	return nil
}

// Write makes the index of dir.
func (x *Index) Write(dir string) error {
	x.Schema = indexSchema
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	name := filepath.Join(dir, IndexName)
	if err := os.WriteFile(name+".tmp", append(text, '\n'), 0o666); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return fmt.Errorf("writing a comparison: %w", err)
	}
	return nil
}
