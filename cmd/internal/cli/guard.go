package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"goodput/report/tui"
)

// guardName is the command that watches over the terminal of a view.
const guardName = "guard-terminal"

// inOrder is what a guard is told when the terminal has been put back.
const inOrder = 'd'

// guard starts a process that puts the terminal back to what it is now if this one dies
// without having done so: killed for the memory that it took, say, or by a defect in the
// load, after which no code of its own runs. Without one a view works as well.
func (e *Env) guard() (release func()) {
	none := func() {}
	if e.Again == nil || e.Screen == nil {
		return none
	}
	settings, err := terminalSettings(e.Screen)
	if err != nil {
		return none
	}
	in, out, err := os.Pipe()
	if err != nil {
		return none
	}
	defer in.Close()
	c, err := e.Again(guardName)
	if err == nil {
		c.Stdin, c.Stderr = in, e.Screen
		err = c.Start()
	}
	if err != nil {
		_ = out.Close()
		return none
	}
	_, _ = out.Write(append(settings, '\n')) // a guard that has died is as good as none
	return sync.OnceFunc(func() {
		_, _ = out.Write([]byte{inOrder})
		_ = out.Close()
		_ = c.Process.Release()
	})
}

// again makes the command that runs this program with other arguments.
func again(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	return &exec.Cmd{Path: self, Args: append([]string{os.Args[0]}, args...)}, err
}

func newGuard(*Env) *cobra.Command {
	return &cobra.Command{
		Use:    guardName,
		Short:  "put the terminal back when the view that began this is killed",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			// It is to outlive what ends the view.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
			ignoreBackground()
			return guardTerminal(os.Stdin, os.Stderr)
		},
	}
}

// guardTerminal reads settings, and then nothing, until the other end is closed: without
// the word that all is in order, it was killed.
func guardTerminal(in io.Reader, terminal *os.File) error {
	r := bufio.NewReader(in)
	settings, err := r.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("reading the settings of the terminal: %w: a view starts %s, nobody else needs to", err, guardName)
	}
	if word, _ := io.ReadAll(r); len(word) > 0 {
		return nil
	}
	if err := restoreTerminal(terminal, settings); err != nil {
		return err
	}
	text := newPatient(terminal)
	_, _ = text.Write([]byte(tui.Restore))
	text.close()
	return nil
}
