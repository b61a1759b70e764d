// Package profiles says what hardware and models cost, and what versions of
// serving engines do by default: YAML files of coefficients and switches, each
// with its source, embedded in the binary and checked when they are read.
//
// It holds data and the memory arithmetic that follows from it. It simulates
// nothing; step times are computed in fakeengine/steptime.
package profiles
