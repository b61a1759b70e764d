package cli

import (
	"testing"

	"github.com/spf13/cobra"
)

// A command line that names a command gets that one alone, and it is the one that the
// whole tree has under the name.
func TestNamedCommandIsMadeAlone(t *testing.T) {
	find := func(args ...string) (*cobra.Command, int) {
		root := newRoot(&Env{Args: args})
		c, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		return c, len(root.Commands())
	}
	for _, want := range newRoot(&Env{}).Commands() {
		c, n := find(want.Name())
		if c.Name() != want.Name() || c.Short != want.Short || n != 1 {
			t.Errorf("%s: got %s (%s) of %d commands, want it alone", want.Name(), c.Name(), c.Short, n)
		}
	}
	if _, n := find(); n < 10 {
		t.Errorf("without a name there are %d commands", n)
	}
}
