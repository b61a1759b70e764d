// Package hush keeps a library from asking the terminal for its colours while the
// program starts.
//
// The library of the live view does so when it is initialised, in every command, with or
// without a view: the question is written to standard output, and a terminal that does
// not answer costs five seconds. It asks nobody in an environment that names itself CI.
//
// The language initialises first the package that comes first by its import path among
// those whose imports are ready. This one imports nothing but syscall, which all others
// that could write need as well, so that it precedes them; nothing else belongs here.
package hush

import "syscall"

const (
	name  = "CI"
	value = "goodput starts"
)

func init() {
	if _, set := syscall.Getenv(name); !set {
		_ = syscall.Setenv(name, value)
	}
}

// Over puts the environment back to what it was. It is called once all packages are
// initialised.
func Over() {
	if v, _ := syscall.Getenv(name); v == value {
		_ = syscall.Unsetenv(name)
	}
}
