package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardTerminal: a guard that is told that all is in order, or nothing, leaves what it
// guards alone.
func TestGuardTerminal(t *testing.T) {
	for _, c := range []struct{ name, told, want string }{
		{"in order", "{}\nd", ""},
		{"by hand", "", "guard-terminal"},
		{"killed, but what it guards is no terminal", "{}\n", "asking how the terminal is set"},
		{"killed within a word", "{\n", "reading the settings of the terminal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := os.Create(filepath.Join(t.TempDir(), "no terminal"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			err = guardTerminal(strings.NewReader(c.told), f)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if info, err := f.Stat(); err != nil || info.Size() != 0 {
				t.Errorf("%d bytes were written, %v", info.Size(), err)
			}
		})
	}
}
