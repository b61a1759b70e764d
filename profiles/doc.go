// Package profiles says what hardware and models cost, and what versions of
// serving engines do by default: YAML files of coefficients and switches, each
// with its source, embedded in the binary and checked when they are read; and
// scenarios, comparisons that teach something.
//
// Package evidence holds published measurements, and package fit makes a profile of
// such. CALIBRATION.md tells how the embedded ones were made.
//
// It holds data and the memory arithmetic that follows from it. It simulates
// nothing; step times are computed in fakeengine/steptime.
package profiles
