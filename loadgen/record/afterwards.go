package record

import (
	"errors"
	"fmt"
)

// Afterwards adds counters to the manifest of a run that has been closed, of what was
// done with it since.
func Afterwards(dir string, counters map[string]int64) (err error) {
	d, err := openDisk(dir)
	if err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	defer func() { err = errors.Join(err, d.close()) }()
	m, err := readManifest(dir)
	if err != nil {
		return err
	}
	for name, n := range counters {
		m.count(name, n)
	}
	text, err := m.encode()
	if err != nil {
		return err
	}
	if err := replaceFile(d, ManifestName, text); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}
