package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Env is the state of the process, handed down so that nothing below main
// reaches for it.
type Env struct {
	Args           []string
	Stdout, Stderr io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
	// Terminal reports whether Stderr is a terminal.
	Terminal bool
	// Interrupts delivers Ctrl-C and SIGTERM; nil: none come.
	Interrupts <-chan os.Signal
}

// OS is the environment of the real process.
func OS() Env {
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	info, err := os.Stderr.Stat()
	return Env{
		Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Terminal:   err == nil && info.Mode()&os.ModeCharDevice != 0,
		Interrupts: c,
	}
}
