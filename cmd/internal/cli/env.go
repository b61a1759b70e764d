package cli

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"goodput/cmd/internal/hush"
	"goodput/report/tui"
)

// Env is the state of the process, handed down so that nothing below main
// reaches for it.
type Env struct {
	Args           []string
	Stdout, Stderr io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
	// Terminal reports whether Stderr is a terminal on which a line can be rewritten.
	Terminal bool
	// Keys and Screen are where views of the whole screen read and write; nil: there
	// is no terminal, or one that only writes line below line.
	Keys, Screen *os.File
	// Catch redirects Ctrl-C and SIGTERM into a channel until stop is called. What
	// does not catch them is ended by them. nil: none come.
	Catch func() (c <-chan os.Signal, stop func())
	// Again makes a command that runs this program with other arguments; nil: it can't.
	Again func(args ...string) (*exec.Cmd, error)

	// tokensTold: it was said that a server's tokens are not as planned.
	tokensTold bool
}

// interrupts is Catch, with a channel that never delivers if there is none.
func (e *Env) interrupts() (c <-chan os.Signal, stop func()) {
	if e.Catch == nil {
		return nil, func() {}
	}
	return e.Catch()
}

func catch() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// OS is the environment of the real process, whose heap it sets up.
func OS() Env {
	hush.Over()
	setUpHeap(os.Args[1:])
	info, err := os.Stderr.Stat()
	dumb := os.Getenv("TERM") == "dumb" // which only writes line below line
	env := Env{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0 && !dumb,
		Catch:    catch,
		Again:    again,
	}
	if tui.IsTerminal(os.Stdin) && tui.IsTerminal(os.Stderr) && !dumb {
		env.Keys, env.Screen = os.Stdin, os.Stderr
	}
	return env
}
