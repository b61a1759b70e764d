// Package cli is the command line: flags, configuration, exit codes, and the
// composition of all other packages (wire.go).
//
// It holds no logic that another program would want: what is computed, is
// computed elsewhere.
package cli
