package cli

import (
	"errors"
	"fmt"
)

// The exit codes, as documented for users.
const (
	exitOK          = 0
	exitGate        = 1   // an SLO, threshold or regression bound is missed
	exitUsage       = 2   // bad usage, plan or input file
	exitUnsure      = 3   // inconclusive, under --strict
	exitInvalid     = 4   // the measurement is invalid
	exitTarget      = 5   // target unreachable, or too many errors
	exitInternal    = 70  // a defect of goodput
	exitInterrupted = 130 // stopped by the user; what was recorded is readable
)

// exitError is an error that decides the exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// exitCode maps an error to the code; errors without one are usage errors,
// because everything before a run starts is about the user's input.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return exitUsage
}
